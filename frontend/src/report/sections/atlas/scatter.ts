// Heads by two figures: pointed at they say what they are, a click opens them, a drag marks those within.

import type { Chart, ChartAxis, ChartColour, ChartRows } from "../../../protocol";
import { clamp } from "../../../scene/format";
import { s } from "../../../ui/dom";
import { Charted } from "../../chart";
import type { Cell } from "../../figures";
import type { Host, Now } from "../../host";

/** What an axis shows of the heads. */
export interface Axis {
  readonly title: string;
  readonly values: readonly number[];
  /** Whether it has no figures, but places whose distances count. */
  readonly place?: boolean;
}

/** From the left to the right, and from the bottom to the top. */
export type Window = readonly [x0: number, x1: number, y0: number, y1: number];

export interface Scene {
  readonly x: Axis;
  readonly y: Axis;
  readonly rows: Omit<ChartRows, "x" | "y">;
  readonly colour: ChartColour;
  /** The heads that are not marked, where some are. */
  readonly faint: ReadonlySet<number>;
  readonly window: Window | null;
}

/** A press that moves less is a click. */
const DRAG = 5;

export class Scatter {
  readonly charted: Charted;
  private readonly brush = s("rect", { class: "brush", visibility: "hidden" });
  private from: { x: number; y: number } | null = null;

  constructor(
    private readonly host: Host,
    cells: readonly (Cell | null)[],
    tip: (row: number) => Node,
    open: (row: number) => void,
    /** Called with the heads within a drag, and the window that it spans. */
    private readonly marked: (heads: ReadonlySet<number>, window: Window) => void,
  ) {
    this.charted = new Charted(host, (row) => cells[row] ?? null, tip, open);
    const { root } = this.charted;
    root.classList.add("scatter");
    root.addEventListener("pointerdown", (event) => this.press(event));
    root.addEventListener("pointermove", (event) => this.move(event), true);
    root.addEventListener("pointerup", (event) => this.release(event));
    root.addEventListener("pointercancel", () => this.end());
  }

  draw({ x, y, rows, colour, faint, window }: Scene, { theme, cell }: Now, width: number, height: number): void {
    const axis = ({ title, place = false }: Axis, low?: number, high?: number): ChartAxis => ({
      title,
      ticks: !place,
      ...(low !== undefined && high !== undefined && { low, high }),
    });
    const [x0, x1, y0, y1] = window ?? [];
    const equal = Boolean(x.place && y.place);
    const all = { ...rows, x: [...x.values], y: [...y.values] };
    const info: Chart = {
      kind: "scatter",
      title: "",
      x: axis(x, x0, x1),
      y: axis(y, y0, y1),
      rows: all,
      colour,
      equal,
    };
    this.charted.show(info, { width, height, theme, faint }, `Heads by ${x.title} and ${y.title}`, cell);
    this.charted.root.firstElementChild!.append(this.brush);
  }

  private place(event: PointerEvent): { x: number; y: number } {
    const bounds = this.charted.root.getBoundingClientRect();
    return {
      x: clamp(event.clientX - bounds.left, 0, bounds.width),
      y: clamp(event.clientY - bounds.top, 0, bounds.height),
    };
  }

  // A finger scrolls the page.
  private press(event: PointerEvent): void {
    if (event.button === 0 && event.pointerType !== "touch") this.from = this.place(event);
  }

  private move(event: PointerEvent): void {
    if (!this.from) return;
    const { x, y } = this.place(event);
    const [w, v] = [Math.abs(x - this.from.x), Math.abs(y - this.from.y)];
    const dragged = this.brush.getAttribute("visibility") === "visible";
    if (!dragged && Math.max(w, v) < DRAG) return;
    event.stopPropagation();
    event.preventDefault();
    if (!dragged) this.charted.root.setPointerCapture(event.pointerId);
    this.host.tip(null);
    for (const [name, value] of Object.entries({
      x: Math.min(x, this.from.x),
      y: Math.min(y, this.from.y),
      width: w,
      height: v,
      visibility: "visible",
    }))
      this.brush.setAttribute(name, String(value));
  }

  private release(event: PointerEvent): void {
    const { from } = this;
    const dragged = this.brush.getAttribute("visibility") === "visible";
    this.end();
    if (!from || !dragged) return;
    // The click that follows a drag opens nothing.
    const swallow = (click: Event): void => click.stopImmediatePropagation();
    this.charted.root.addEventListener("click", swallow, { capture: true, once: true });
    window.setTimeout(() => this.charted.root.removeEventListener("click", swallow, { capture: true }), 0);
    const to = this.place(event);
    const ends = (axis: "x" | "y"): [number, number] => [
      Math.min(from[axis], to[axis]),
      Math.max(from[axis], to[axis]),
    ];
    const [[west, east], [north, south]] = [ends("x"), ends("y")];
    const { spots, unscaled } = this.charted.drawing!;
    const within = spots.filter(({ x, y }) => x >= west && x <= east && y >= north && y <= south);
    const [[x0, y1], [x1, y0]] = [unscaled(west, north), unscaled(east, south)];
    this.marked(new Set(within.map(({ row }) => row)), [x0, x1, y0, y1]);
  }

  private end(): void {
    this.from = null;
    this.brush.setAttribute("visibility", "hidden");
  }
}
