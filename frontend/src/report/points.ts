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

const REACH = 16;

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
        (event) => this.near(event),
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

  private near(event: MouseEvent): Point | null {
    const bounds = this.box.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    let [nearest, least]: [Point | null, number] = [null, REACH];
    for (const point of this.points) {
      const distance = Math.hypot(point.x - x, point.y - y);
      if (distance < least) [nearest, least] = [point, distance];
    }
    return nearest;
  }

  private over(point: Point | null): void {
    this.hover.setAttribute("visibility", point ? "visible" : "hidden");
    if (!point) return;
    this.hover.setAttribute("cx", String(point.x));
    this.hover.setAttribute("cy", String(point.y));
  }
}
