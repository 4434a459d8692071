// Heads against their layers: what the charts of the report have in common.

import * as Plot from "@observablehq/plot";
import { Of } from "../scene/made";
import { type Child, h } from "../ui/dom";
import type { Cell, Figures } from "./figures";
import type { Now } from "./host";
import type { Point, Points } from "./points";

/** A head in a chart: at its layer and its value. */
export type Mark = Point;

/** The heads that have a value; those of a layer stand beside one another, `spread` of a layer in all. */
export function marksOf(
  figures: Figures,
  cells: readonly (Cell | null)[],
  value: (cell: Cell, index: number) => number,
  { shift = 0, spread = 0.56 } = {},
): Mark[] {
  const step = figures.columns > 1 ? spread / (figures.columns - 1) : 0;
  return cells.flatMap((cell, index) => {
    const y = cell ? value(cell, index) : NaN;
    return cell && Number.isFinite(y)
      ? [{ cell, index, x: cell.layer + shift + (cell.head - (figures.columns - 1) / 2) * step, y }]
      : [];
  });
}

/** A line through the means of the layers' heads. */
export const means = (marks: readonly Mark[], options: Plot.LineYOptions): Plot.Markish =>
  Plot.lineY(marks, Plot.groupX({ y: "mean" }, { x: (mark: Mark) => mark.cell.layer, y: "y", ...options }));

/** A dot a head, in the page's own colour. */
export const dotsOf = (marks: readonly Mark[], options: Plot.DotOptions): Plot.Markish =>
  Plot.dot(marks, {
    x: "x",
    y: "y",
    fill: "var(--accent)",
    stroke: "var(--bg)",
    strokeWidth: 0.4,
    clip: false,
    ...options,
  });

/** A drawing with its title, which follows the page's state in a width of its own. */
export interface Chart {
  readonly root: HTMLElement;
  readonly update: (now: Now, width: number) => void;
}

/** Draws again when the width or the theme is another, and else marks the open head. */
export function redrawn(draw: (now: Now, width: number) => void, ...points: readonly Points[]): Chart["update"] {
  const drawn = new Of();
  return (now, width) => {
    if (drawn.renewed(width, now.theme)) draw(now, width);
    else for (const each of points) each.select(now.cell);
  };
}

interface ChartOptions {
  readonly width: number;
  readonly height: number;
  readonly left?: number;
  readonly label: string;
  readonly low: number;
  readonly high: number;
  /** Whether the values are shares: then the axis goes by halves. */
  readonly shares?: boolean;
  readonly tick?: (y: number) => string;
}

const HALVES: Record<number, string> = { 0: "0", 0.5: ".5", 1: "1" };

/** Give a drawing its name: one for all of it, and none for the groups in it. */
export function named<Drawing extends Element>(drawing: Drawing, label: string): Drawing {
  for (const mark of drawing.querySelectorAll<SVGGElement>("g[aria-label]")) {
    mark.dataset.mark = mark.getAttribute("aria-label")!;
    mark.removeAttribute("aria-label");
  }
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", label);
  return drawing;
}

/** Draw marks over the layers of a report; the points are where the heads stand in the drawing. */
export function chart(
  figures: Figures,
  heads: readonly Mark[],
  options: ChartOptions,
  marks: Plot.Markish[],
): [SVGSVGElement, Point[]] {
  const { width, height, left = 28, label, low, high, shares = false, tick = String } = options;
  const { layers } = figures.payload;
  const every = Math.ceil(layers.length / Math.max(2, Math.floor((width - left - 12) / 22)));
  const axis = { tickSize: 0, label: null };
  const drawing = Plot.plot({
    width,
    height,
    marginLeft: left,
    marginRight: 8,
    marginTop: 10,
    marginBottom: 24,
    style: { background: "none", color: "var(--ink3)", fontFamily: "inherit", fontSize: "11px", overflow: "visible" },
    x: {
      ...axis,
      domain: [-0.5, layers.length - 0.5],
      ticks: layers.map((_, i) => i).filter((i) => i % every === 0),
      tickFormat: (i: number) => String(layers[i]),
      tickPadding: 6,
    },
    y: {
      ...axis,
      domain: [low, high],
      ticks: shares ? [0, 0.25, 0.5, 0.75, 1] : 5,
      tickFormat: shares ? (y: number) => HALVES[y] ?? "" : tick,
      tickPadding: 4,
    },
    color: { type: "identity" },
    marks: [Plot.gridY({ stroke: "var(--line)", strokeOpacity: 1, ticks: shares ? [0, 0.5, 1] : 5 }), ...marks],
  }) as SVGSVGElement & Plot.Plot;
  named(drawing, label);
  const [x, y] = [drawing.scale("x")!, drawing.scale("y")!];
  return [drawing, heads.map((mark) => ({ ...mark, x: x.apply(mark.x) as number, y: y.apply(mark.y) as number }))];
}

/** A picture below its title and a note. */
export const captioned = (title: Child, note: Child, ...content: Child[]): HTMLElement =>
  h("figure.chart", {}, h("figcaption", {}, h("h3", {}, title), note), ...content);

/** Set charts beside one another in a grid, and return the width of each. */
export function beside(grid: HTMLElement, room: number, columns: number, gap: number, most = Infinity): number {
  const width = Math.min(most, Math.floor((room - gap * (columns - 1)) / columns));
  grid.style.gap = `14px ${gap}px`;
  grid.style.gridTemplateColumns = `repeat(${columns}, ${width}px)`;
  return width;
}
