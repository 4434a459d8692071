// Points that stand for heads in a drawing: pointed at they say what they are, a click opens their head.

import { h, s } from "../ui/dom";
import { type Cell, same } from "./figures";
import type { Host } from "./host";
import { pointing } from "./tip";

export interface Point {
  readonly cell: Cell;
  readonly x: number;
  readonly y: number;
  /** Which of several: of a chart's series, or of a section's heads. */
  readonly index: number;
}

/** The point that is nearest to the pointer, of those within reach; null for none. */
export function nearest<At extends { readonly x: number; readonly y: number }>(
  { clientX, clientY }: MouseEvent,
  box: HTMLElement,
  points: readonly At[],
  reach = 16,
): At | null {
  const bounds = box.getBoundingClientRect();
  let [found, least]: [At | null, number] = [null, reach];
  for (const point of points) {
    const distance = Math.hypot(point.x - (clientX - bounds.left), point.y - (clientY - bounds.top));
    if (distance < least) [found, least] = [point, distance];
  }
  return found;
}

export class Points {
  readonly box: HTMLElement;
  private readonly rings = s("g");
  private readonly hover = s("circle", { class: "hov", r: 5, visibility: "hidden" });
  private points: readonly Point[] = [];

  constructor(
    host: Pick<Host, "tip">,
    tip: (point: Point) => Node,
    open: (point: Point) => void,
    /** Whether the open head keeps its colour within a ring. */
    private readonly hollow = false,
  ) {
    this.box = h(
      "div.plot",
      pointing(
        host,
        (event) => nearest(event, this.box, this.points),
        tip,
        open,
        (point) => this.over(point),
      ),
    );
  }

  /** Take over the points of a drawing, and put it in place of the last one. */
  show(drawing: SVGSVGElement, points: readonly Point[], open: Cell): void {
    this.points = points;
    drawing.dataset.export = "yes";
    drawing.append(this.hover, this.rings);
    this.box.replaceChildren(drawing);
    this.select(open);
  }

  /** Mark the open head. */
  select(open: Cell): void {
    const marked = this.points.filter((point) => same(point.cell, open));
    this.rings.replaceChildren(
      ...marked.map(({ x, y }) => s("circle", { class: this.hollow ? "ring hollow" : "ring", cx: x, cy: y, r: 6 })),
    );
  }

  private over(point: Point | null): void {
    this.hover.setAttribute("visibility", point ? "visible" : "hidden");
    if (!point) return;
    this.hover.setAttribute("cx", String(point.x));
    this.hover.setAttribute("cy", String(point.y));
  }
}
