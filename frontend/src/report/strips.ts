// One strip a measure: every head a tick, the open one a dot, and its rank among all.

import { figure, whole } from "../scene/format";
import { h } from "../ui/dom";
import { fit } from "./cells";
import type { Cell, Measure } from "./figures";
import type { Host, Now } from "./host";
import { ofMeasure } from "./reasons";
import { figureTip, pointing } from "./tip";

const PAD = 6;
const HEIGHT = 18;
/** The most that a strip's line is worth. */
const WIDEST = 560;
const INKS = ["--line", "--tick", "--ink2", "--bg", "--accent"];

export class Strips {
  readonly root = h("div");
  private readonly strips: readonly {
    measure: Measure;
    canvas: HTMLCanvasElement;
    value: HTMLElement;
    rank: HTMLElement;
    name: HTMLElement;
  }[];
  /** From one end of a strip to the other. */
  private width = 0;

  constructor(private readonly host: Host) {
    this.strips = host.figures.told.map((measure) => {
      const pick = (): void => host.set({ measure: measure.name });
      const name = h("button.link", { onclick: pick, title: "Show in the heat map" }, measure.info.title);
      const listeners = pointing(
        host,
        (event) => this.near(event, measure),
        (cell) => figureTip(host.figures, measure, cell),
        (cell) => host.open(cell, ofMeasure(measure, cell)),
      );
      const canvas = h("canvas", { "aria-hidden": "true", ...listeners });
      return { measure, canvas, name, value: h("span.val"), rank: h("span.dim") };
    });
    this.root.append(
      h("div.strips", ...this.strips.map(({ name, canvas, value, rank }) => h("div.strip", name, canvas, value, rank))),
    );
  }

  update({ cell, measure: open, width }: Now): void {
    this.width = Math.max(60, Math.min(WIDEST, width) - 264);
    // Read once, before anything is written: each reading after a change styles the page anew.
    const style = getComputedStyle(this.root);
    const inks = INKS.map((name) => style.getPropertyValue(name));
    for (const { measure, canvas, value, rank, name } of this.strips) {
      this.draw(canvas, measure, cell, inks);
      value.textContent = figure(measure.value(cell), 2);
      const { place, of } = this.host.figures.rank(measure, cell);
      rank.textContent = place ? `${whole(place)} of ${whole(of)}` : "";
      name.classList.toggle("on", measure === open);
    }
  }

  private draw(canvas: HTMLCanvasElement, measure: Measure, open: Cell, inks: readonly string[]): void {
    const { cells } = this.host.figures;
    const [line, tick, ink, paper, accent] = inks;
    const pen = fit(canvas, this.width, HEIGHT);
    const at = (x: number): number => PAD + measure.scale.position(x) * (this.width - 2 * PAD);
    pen.fillStyle = line!;
    pen.fillRect(0, HEIGHT / 2, this.width, 1);
    pen.fillStyle = tick!;
    pen.globalAlpha = cells.length > 300 ? 0.5 : 1;
    for (const cell of cells) pen.fillRect(at(measure.value(cell)) - 0.5, 5, 1, 9);
    pen.globalAlpha = 1;
    pen.fillStyle = ink!;
    for (const y of [1, HEIGHT - 3]) pen.fillRect(at(measure.chance(open.layer)) - 0.5, y, 1, 3);
    const value = measure.value(open);
    if (!Number.isFinite(value)) return;
    for (const [radius, color] of [
      [6, paper],
      [4.2, accent],
    ] as const) {
      pen.fillStyle = color!;
      pen.beginPath();
      pen.arc(at(value), HEIGHT / 2 + 0.5, radius, 0, 7);
      pen.fill();
    }
  }

  private near(event: MouseEvent, measure: Measure): Cell | null {
    const bounds = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const x = (event.clientX - bounds.left - PAD) / (this.width - 2 * PAD);
    let [nearest, least]: [Cell | null, number] = [null, Infinity];
    for (const cell of this.host.figures.cells) {
      const distance = Math.abs(measure.scale.position(measure.value(cell)) - x);
      if (distance < least) [nearest, least] = [cell, distance];
    }
    return nearest;
  }
}
