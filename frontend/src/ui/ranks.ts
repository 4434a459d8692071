// Where the open head stands among all heads: a strip a measure, every head a tick, the open one a dot; or, where two
// tokens are chosen, the ranking by the weight between them.

import { area, ratio, surface } from "../draw/canvas";
import type { MeasureColumn } from "../protocol";
import { figure, whole } from "../scene/format";
import { NAME_AND_FIGURE } from "../scene/gridlayout";
import { Of } from "../scene/made";
import { nameOf, shares } from "../scene/quantities";
import type { Scene } from "../scene/scene";
import type { Heeds } from "../scene/state";
import { Between } from "./between";
import { h, listen, touched } from "./dom";

interface Row {
  readonly measure: MeasureColumn;
  readonly canvas: HTMLCanvasElement;
  readonly value: HTMLElement;
  readonly name: HTMLElement;
}

const whose = (text: string): string => text && `, ${text}`;

/** Units as they stand beside a name. */
const SHORT: Record<string, string> = { pixels: "px", seconds: "s" };

export class Ranks {
  static readonly heeds = { update: ["measure", "between", "ascending"] } as const satisfies Heeds;
  private readonly title = h("h3", { "aria-level": 2 });
  private readonly body = h("div");
  private readonly between: Between;
  readonly root: HTMLElement;
  private rows: Row[] = [];
  private readonly listed = new Of();
  private width = 100;
  private readonly drawn = new Of();

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    this.between = new Between(scene);
    this.root = h("div.measures", this.title, this.body, this.between.root);
    element.append(this.root);
  }

  update(width: number): void {
    const { scene } = this;
    const ranked = scene.pair !== null;
    this.title.hidden = this.body.hidden = ranked;
    this.between.root.hidden = !ranked;
    if (ranked) return this.between.update();
    const { part, state } = scene;
    const { measure, quantity, layer } = state;
    const own = scene.quantity.measures;
    if (this.listed.renewed(part, measure, own)) {
      const corpus = part.measures.find((measure) => measure.of === "corpus" && measure.name === state.measure);
      const measures = [...(own ?? part.measures.filter(({ of }) => of === "input")), ...(corpus ? [corpus] : [])];
      this.rows = measures.map((measure) => this.row(measure));
      const rows = this.rows.map(({ name, canvas, value }) => h("div.mrow", name, canvas, value));
      if (corpus) rows.splice(-1, 0, h("h3", { "aria-level": 2 }, `Over the corpus${whose(scene.whose("corpus"))}`));
      this.body.replaceChildren(...rows);
    }
    if (!this.drawn.renewed(part, measure, quantity, layer, scene.head, width, scene.owner.theme, ratio())) return;
    const total = part.heads.reduce((sum, heads) => sum + heads.length, 0);
    // Measures are those of the weights where what is drawn has none.
    const of = shares(part) ? "|M| of " : quantity === "weights" ? "" : own ? `${nameOf(quantity)} of ` : "weights of ";
    this.title.textContent = `${of && of[0]!.toUpperCase() + of.slice(1)}L${state.layer}H${scene.head} among all ${whole(total)} heads, ${scene.whose() || "on this input"}`;
    this.width = Math.max(40, width - NAME_AND_FIGURE);
    for (const row of this.rows) this.draw(row);
  }

  private values(measure: MeasureColumn): { layer: number; head: number; value: number }[] {
    const { part, data } = this.scene;
    return part.index
      .flatMap((layer, at) =>
        part.heads[at]!.map((head) => ({ layer, head, value: data.figure(part, measure, layer, head) })),
      )
      .filter((each) => Number.isFinite(each.value));
  }

  private top(measure: MeasureColumn): number {
    return measure.units === "share" ? 1 : Math.max(1e-9, ...this.values(measure).map((each) => each.value)) * 1.02;
  }

  private row(measure: MeasureColumn): Row {
    const { scene } = this;
    const canvas = h("canvas", { "aria-hidden": "true" });
    const value = h("span.val");
    const title = ["share", ""].includes(measure.units)
      ? measure.title
      : `${measure.title} (${SHORT[measure.units] ?? measure.units})`;
    const inGrid = scene.part.measures.includes(measure);
    const label = !inGrid
      ? h("span.own", title)
      : h(
          "button.link",
          {
            title: "Show this measure in the grid",
            onclick: () =>
              scene.owner.set(
                scene.state.measure === measure.name
                  ? { measure: "none", sort: false, ascending: false, least: 0 }
                  : { measure: measure.name },
              ),
          },
          title,
        );
    listen(canvas, {
      pointermove: (event) => {
        const near = this.near(measure, event, canvas);
        if (near)
          scene.owner.tip(
            h(
              "div",
              h("b", `L${near.layer}H${near.head}`),
              ` ${figure(near.value)} `,
              h(
                "span.dim",
                [
                  measure.of === "corpus" ? "over the corpus" : "",
                  scene.whose(measure.of) || (measure.of === "input" ? "on this input" : ""),
                ]
                  .filter(Boolean)
                  .join(" "),
              ),
              !touched() && h("div.dim", "click to open"),
            ),
            event,
          );
      },
      pointerleave: () => scene.owner.tip(null),
      click: (event) => {
        const near = this.near(measure, event, canvas);
        if (near) scene.owner.open(near.layer, near.head, false);
      },
    });
    return { measure, canvas, value, name: label };
  }

  private draw({ measure, canvas, value, name }: Row): void {
    const { scene, width } = this;
    const { ink } = scene.owner;
    const context = surface(canvas, width, 18);
    const [top, room] = [this.top(measure), width - 10];
    area(context, ink("--line"), 0, 9, width, 1);
    context.fillStyle = ink("--tick");
    for (const each of this.values(measure)) context.fillRect(5 + (each.value / top) * room - 0.5, 5, 1, 9);
    const found = scene.data.figure(scene.part, measure, scene.state.layer, scene.head);
    if (Number.isFinite(found)) {
      const x = 5 + (found / top) * room;
      for (const [color, radius] of [
        [ink("--bg"), 6],
        [scene.accent, 4.2],
      ] as const) {
        context.fillStyle = color;
        context.beginPath();
        context.arc(x, 9.5, radius, 0, 7);
        context.fill();
      }
    }
    value.textContent = figure(found, Math.abs(found) >= 10 ? 2 : 3);
    name.classList.toggle("on", scene.state.measure === measure.name);
  }

  private near(measure: MeasureColumn, event: MouseEvent, canvas: HTMLCanvasElement) {
    const x = ((event.clientX - canvas.getBoundingClientRect().left - 5) / (this.width - 10)) * this.top(measure);
    return this.values(measure).sort((a, b) => Math.abs(a.value - x) - Math.abs(b.value - x))[0];
  }
}
