// A measure of every head: layers down, heads across.

import { FONT, type Pen } from "../../../draw/canvas";
import { css, inkOn, type Theme } from "../../../scene/color";
import { fixed, weight } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { draw, layout, spaced } from "../../cells";
import { type Cell, type Figures, type Measure, same } from "../../figures";
import type { Host, Now } from "../../host";
import { ofMeasure } from "../../reasons";
import { figureTip, pointing } from "../../tip";

const LABEL = { left: 30, top: 18 };

/** Size and gap of the large heat map's cells, in so much room. */
export const gridLayout = ({ rows, columns }: Figures, width: number) =>
  layout(rows, columns, width - LABEL.left, 560, 48);

/** Paint every cell of a measure; what has no value stays empty. */
export function paintCells(
  pen: Pen,
  figures: Figures,
  measure: Measure,
  theme: Theme,
  size: number,
  step: number,
  [left, top] = [0, 0],
): void {
  for (const cell of figures.cells) {
    const value = measure.value(cell);
    if (!Number.isFinite(value)) continue;
    pen.fillStyle = css(measure.pixel(value, theme));
    pen.fillRect(left! + cell.head * step, top! + cell.layer * step, size, size);
  }
}

export class Grid {
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly ring = h("div.ring");
  private readonly hover = h("div.ring.hov", { hidden: true });
  private readonly root: HTMLElement;
  private size = 0;
  private step = 0;
  private now: Now | null = null;

  constructor(
    element: HTMLElement,
    private readonly host: Host,
  ) {
    const tip = (cell: Cell): Node => figureTip(host.figures, host.now.measure, cell);
    const listeners = pointing(
      host,
      (event) => this.at(event),
      tip,
      (cell) => host.open(cell, ofMeasure(host.now.measure, cell)),
      (cell) => this.over(cell),
    );
    this.root = h("div.grid", { tabindex: 0, role: "application", ...listeners }, this.canvas, this.hover, this.ring);
    element.append(this.root);
  }

  update(now: Now): void {
    const before = this.now;
    this.now = now;
    if (now.measure !== before?.measure || now.theme !== before.theme || now.width !== before.width) this.draw(now);
    this.put(this.ring, now.cell);
  }

  private draw(now: Now): void {
    const { figures } = this.host;
    const { size, gap } = gridLayout(figures, now.width);
    [this.size, this.step] = [size, size + gap];
    const [width, height] = [LABEL.left + figures.columns * this.step, LABEL.top + figures.rows * this.step];
    this.root.style.width = `${width}px`;
    this.root.style.height = `${height}px`;
    draw(this.canvas, width, height, (pen) => {
      paintCells(pen, figures, now.measure, now.theme, size, this.step, [LABEL.left, LABEL.top]);
      this.labels(pen);
      if (size >= 30) this.numbers(pen, now);
    });
    this.root.setAttribute(
      "aria-label",
      `Heat map of ${now.measure.info.title}, layers by heads. Arrow keys move between heads.`,
    );
  }

  private labels(pen: Pen): void {
    const { layers, heads } = this.host.figures.payload;
    const { size, step } = this;
    pen.font = `500 11px ${FONT}`;
    pen.fillStyle = getComputedStyle(this.root).getPropertyValue("--ink3");
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    for (const [column, head] of spaced(heads, step, 20))
      pen.fillText(String(head), LABEL.left + column * step + size / 2, 7);
    pen.textAlign = "right";
    for (const [row, layer] of spaced(layers, step, 13))
      pen.fillText(String(layer), LABEL.left - 9, LABEL.top + row * step + size / 2 + 0.5);
  }

  private numbers(pen: Pen, { measure, theme }: Now): void {
    pen.font = `500 11px ${FONT}`;
    pen.textAlign = "center";
    for (const cell of this.host.figures.cells) {
      const value = measure.value(cell);
      if (!Number.isFinite(value)) continue;
      pen.fillStyle = inkOn(measure.pixel(value, theme));
      const [x, y] = this.corner(cell);
      const text = measure.isShare ? weight(value) : fixed(value, value >= 10 ? 0 : 1);
      pen.fillText(text, x + this.size / 2, y + this.size / 2 + 0.5);
    }
  }

  private corner(cell: Cell): [number, number] {
    return [LABEL.left + cell.head * this.step, LABEL.top + cell.layer * this.step];
  }

  private put(ring: HTMLElement, cell: Cell | null): void {
    ring.hidden = !cell;
    if (!cell) return;
    const [x, y] = this.corner(cell);
    ring.style.cssText = `transform:translate(${x}px,${y}px);width:${this.size}px;height:${this.size}px`;
  }

  private at(event: MouseEvent): Cell | null {
    const bounds = this.root.getBoundingClientRect();
    const index = (x: number): number => Math.floor(x / this.step);
    const cell = {
      layer: index(event.clientY - bounds.top - LABEL.top),
      head: index(event.clientX - bounds.left - LABEL.left),
    };
    return this.host.figures.exists(cell) ? cell : null;
  }

  private over(cell: Cell | null): void {
    this.put(this.hover, cell && !same(cell, this.host.now.cell) ? cell : null);
  }
}
