// A map of heads and, beside it, the layers: how far they moved between two models.

import * as Plot from "@observablehq/plot";
import type { CompareSection } from "../../../protocol";
import { css, inkOn } from "../../../scene/color";
import { bare, brief, code, errorFigure, figure, fixed, paper } from "../../../scene/format";
import { h, s } from "../../../ui/dom";
import { headGrid } from "../../cells";
import { captioned, chart, dotsOf, marksOf } from "../../chart";
import { type Cell, pixel, same } from "../../figures";
import type { Host, Now } from "../../host";
import { Legend } from "../../legend";
import { names } from "../../names";
import { Points } from "../../points";
import { headTip, pointing, tipTable } from "../../tip";
import { means, type Quantity } from "./data";

const NAMED = 6;

interface Box {
  /** Which of the section's heads. */
  readonly index: number;
  readonly cell: Cell;
  readonly rect: SVGElement;
}

/** The next head that an arrow key leads to: of its layer, or the same one of another; undefined at the edge. */
export function beside<At extends { readonly cell: Cell }>(
  all: readonly At[],
  from: Cell,
  key: string,
): At | undefined {
  const [along, across] =
    key === "ArrowLeft" || key === "ArrowRight" ? (["head", "layer"] as const) : (["layer", "head"] as const);
  const sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  const far = (at: At): number => sign * (at.cell[along] - from[along]);
  return all.filter((at) => at.cell[across] === from[across] && far(at) > 0).sort((a, b) => far(a) - far(b))[0];
}

export class CompareMap {
  readonly root: HTMLElement;
  private readonly legend = new Legend();
  private readonly map: HTMLElement;
  private readonly left: HTMLElement;
  private readonly points: Points;
  private boxes: Box[] = [];

  constructor(
    private readonly info: CompareSection,
    private readonly cells: readonly (Cell | null)[],
    private quantity: Quantity,
    private readonly host: Host,
    private readonly open: (index: number) => void,
  ) {
    this.map = h("div.headmap", {
      ...pointing(
        host,
        (event) => this.under(event),
        ({ index }) => this.tip(index),
        ({ index }) => open(index),
      ),
      onkeydown: (event: KeyboardEvent) => this.key(event),
      onfocusin: (event: FocusEvent) => this.focused(event),
      onfocusout: () => host.tip(null),
    });
    this.points = new Points(
      host,
      ({ index }) => this.tip(index),
      ({ index }) => open(index),
    );
    const note = (text: string): HTMLElement => h("span.dim", {}, text);
    this.left = captioned("Heads", note("layers down, heads across"), this.map, h("div.scale", {}, this.legend.root));
    this.root = h(
      "div.compared",
      {},
      this.left,
      captioned("Layers", note("points are heads, the line their mean"), this.points.box),
    );
  }

  /** Draw a quantity for the page's size and theme. */
  draw(quantity: Quantity, now: Now): void {
    this.quantity = quantity;
    const beside = now.width >= 560;
    this.root.classList.toggle("beside", beside);
    const width = this.drawMap(now, beside ? Math.floor(now.width * 0.54) : now.width);
    this.left.style.width = `${width}px`;
    this.drawLayers(now, beside ? now.width - width - 28 : now.width);
    this.legend.show(quantity.scale, now.theme, quantity.units);
    this.select(now.cell);
  }

  select(open: Cell): void {
    for (const { rect, cell } of this.boxes) rect.classList.toggle("on", same(cell, open));
    if (!this.map.contains(document.activeElement))
      this.stop(this.boxes.find(({ cell }) => same(cell, open)) ?? this.boxes[0]);
    this.points.select(open);
  }

  // The map is one stop of the Tab key: this cell.
  private stop(at: Box | undefined): void {
    for (const box of this.boxes) box.rect.setAttribute("tabindex", box === at ? "0" : "-1");
  }

  private key(event: KeyboardEvent): void {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const at = this.under(event);
    if (!at) return;
    if (event.key === "Enter" || event.key === " ") this.open(at.index);
    else if (event.key.startsWith("Arrow")) {
      const next = beside(this.boxes, at.cell, event.key);
      if (next) this.stop(next);
      next?.rect.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation(); // the page's own arrows are those of the heat map
  }

  // A cell that is reached by a key shows its tip; under a pointer the pointer brings it.
  private focused(event: FocusEvent): void {
    const at = this.under(event);
    if (!at?.rect.matches(":focus-visible")) return;
    const { right, bottom } = at.rect.getBoundingClientRect();
    this.host.tip(this.tip(at.index), right, bottom);
  }

  private drawMap({ theme }: Now, room: number): number {
    const { figures } = this.host;
    const { values, scale, title } = this.quantity;
    const grid = headGrid(figures, room, 40);
    const focused = this.map.contains(document.activeElement)
      ? document.activeElement?.getAttribute("data-place")
      : null;
    const texts: SVGElement[] = [];
    this.boxes = this.cells.flatMap((cell, index) => {
      const value = values[index]!;
      if (!cell || !Number.isFinite(value)) return [];
      const fill = pixel(scale, value, theme);
      const rect = grid.cell(cell, {
        fill: css(fill),
        class: "cell",
        "data-place": index,
        tabindex: -1,
        role: "button",
        "aria-label": this.say(index),
      });
      if (grid.size >= 24) texts.push(grid.letter(cell, { fill: inkOn(fill) }, short(value)));
      return [{ index, cell, rect }];
    });
    const name = `${title} of ${values.length} heads, layers down, heads across. Arrow keys move between heads, Enter opens one.`;
    this.map.replaceChildren(
      grid.drawing({ role: "group", "aria-label": name }, s("g", {}, ...this.boxes.map(({ rect }) => rect)), ...texts),
    );
    const again = this.boxes.find(({ index }) => String(index) === focused);
    if (again) this.stop(again);
    again?.rect.focus({ preventScroll: true });
    return grid.width;
  }

  private drawLayers(now: Now, width: number): void {
    const { figures } = this.host;
    const { values, title, units, scale } = this.quantity;
    const marks = marksOf(figures, this.cells, (_, index) => values[index]!);
    const lines = means(this.info, this.quantity).map(({ layer, ...line }) => ({
      x: figures.payload.layers.indexOf(layer),
      ...line,
    }));
    const reach = lines.filter(({ low }) => Number.isFinite(low));
    const ys = marks.map(({ y }) => y);
    const [low, high] = [1.04 * Math.min(0, ...ys), 1.04 * Math.max(1e-9, ...ys)];
    const [drawing, points] = chart(
      figures,
      marks,
      { width, height: 250, left: 38, label: `${title} by layer, ${units}`, low, high, tick },
      [
        scale.diverging ? Plot.ruleY([0], { stroke: "var(--tick)" }) : null,
        dotsOf(marks, { r: marks.length > 500 ? 1.8 : 3, fillOpacity: 0.5 }),
        Plot.lineY(lines, { x: "x", y: "mean", stroke: "var(--ink2)", strokeWidth: 1.25 }),
        Plot.ruleX(reach, { x: "x", y1: "low", y2: "high", stroke: "var(--ink)", strokeWidth: 1.5 }),
        Plot.dot(lines, { x: "x", y: "mean", r: 2.6, fill: "var(--ink)", stroke: "var(--bg)", strokeWidth: 1 }),
      ],
    );
    this.points.show(drawing, points, now.cell);
    const largest = [...points].sort((a, b) => Math.abs(values[b.index]!) - Math.abs(values[a.index]!)).slice(0, NAMED);
    drawing.append(
      ...names(
        largest.map(({ cell, x, y }) => ({ x, y, text: figures.name(cell) })),
        width,
        NAMED,
        points,
      ),
    );
  }

  private under(event: Event): Box | undefined {
    const rect = event.target instanceof Element ? event.target.closest("rect.cell") : null;
    return this.boxes.find((box) => box.rect === rect);
  }

  private name(index: number): string {
    return code(this.info.layer[index]!, this.info.head[index]!);
  }

  /** `0.261 nats` */
  private value(index: number): string {
    const { values, units } = this.quantity;
    return `${figure(values[index]!)}${units === "share" ? "" : ` ${units}`}`;
  }

  private say(index: number): string {
    return `${this.name(index)}, ${this.quantity.title} ${this.value(index)}`;
  }

  private tip(index: number): HTMLElement {
    const { info, quantity } = this;
    const measure = info.measures.find(({ name }) => name === quantity.name);
    const a = measure?.a[index] ?? NaN;
    const error = quantity.errors[index] ?? NaN;
    const rows = tipTable(
      measure && ["A", figure(a)],
      measure && ["B", figure(a - quantity.values[index]!)],
      [measure ? "A − B" : "drift", this.value(index)],
      Number.isFinite(error) && ["standard error", `± ${errorFigure(error)}`],
      measure ? ["drift", `${figure(info.js[index]!)} nats`] : ["cosine of the rows", figure(info.cosine[index]!)],
    );
    return headTip(this.name(index), paper(info.layer[index]!, info.head[index]!), rows);
  }
}

/** `.66`, `−.12`, `3.1`: in a cell. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size < 0.005) return "·";
  return bare(fixed(value, size >= 9.95 ? 0 : size >= 0.995 ? 1 : 2));
}

const tick = (y: number): string => bare(brief(y));
