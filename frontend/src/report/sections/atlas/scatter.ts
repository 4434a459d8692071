// Heads by two figures: pointed at they say what they are, a click opens them, a drag marks those within.

import * as Plot from "@observablehq/plot";
import { clamp } from "../../../scene/format";
import { s } from "../../../ui/dom";
import type { Cell } from "../../figures";
import type { Host, Now } from "../../host";
import { names } from "../../names";
import { type Point, Points } from "../../points";

/** What an axis shows of the heads. */
export interface Axis {
  readonly title: string;
  readonly values: readonly number[];
  /** Whether it has no figures, but places whose distances count. */
  readonly place?: boolean;
  /** Whether its values are whole numbers that name something. */
  readonly whole?: boolean;
}

/** From the left to the right, and from the bottom to the top. */
export type Window = readonly [x0: number, x1: number, y0: number, y1: number];

export interface Scene {
  readonly x: Axis;
  readonly y: Axis;
  /** The colour of each head; null: a ring. */
  readonly fills: readonly (string | null)[];
  readonly names: readonly string[];
  readonly roles: readonly (readonly string[])[];
  /** The heads that are marked, or all. */
  readonly shown: ReadonlySet<number>;
  readonly window: Window | null;
}

const MARGIN = { right: 14, top: 12 };
/** Room for the ticks and the title of an axis, or for the title alone. */
const left = (y: Axis): number => (y.place ? 18 : 44);
const bottom = (x: Axis): number => (x.place ? 19 : 34);
const NAMED = 24;
/** A press that moves less is a click. */
const DRAG = 5;

export class Scatter {
  readonly points: Points;
  private readonly brush = s("rect", { class: "brush", visibility: "hidden" });
  private cells: readonly (Cell | null)[] = [];
  private at: readonly { x: number; y: number; index: number }[] = [];
  private unscaled: (x: number, y: number) => [number, number] = (x, y) => [x, y];
  private from: { x: number; y: number } | null = null;

  constructor(
    private readonly host: Host,
    tip: (point: Point) => Node,
    open: (point: Point) => void,
    /** Called with the heads within a drag, and the window that it spans. */
    private readonly marked: (heads: ReadonlySet<number>, window: Window) => void,
  ) {
    this.points = new Points(host, tip, open, true);
    const { box } = this.points;
    box.classList.add("map", "scatter");
    box.addEventListener("pointerdown", (event) => this.press(event));
    box.addEventListener("pointermove", (event) => this.move(event), true);
    box.addEventListener("pointerup", (event) => this.release(event));
    box.addEventListener("pointercancel", () => this.end());
  }

  draw(scene: Scene, cells: readonly (Cell | null)[], now: Now, width: number, height: number): void {
    const { x, y, shown, fills } = scene;
    this.cells = cells;
    const indices = cells.flatMap((cell, i) =>
      cell && Number.isFinite(x.values[i]!) && Number.isFinite(y.values[i]!) ? [i] : [],
    );
    const window =
      scene.window ?? whole(indices, x, y, (width - left(y) - MARGIN.right) / (height - MARGIN.top - bottom(x)));
    const drawing = axes(x, y, window, width, height);
    const [sx, sy] = [drawing.scale("x")!, drawing.scale("y")!];
    this.unscaled = (px, py) => [sx.invert!(px) as number, sy.invert!(py) as number];
    const inside = (i: number): boolean =>
      x.values[i]! >= window[0] && x.values[i]! <= window[1] && y.values[i]! >= window[2] && y.values[i]! <= window[3];
    this.at = indices
      .filter(inside)
      .map((index) => ({ x: sx.apply(x.values[index]) as number, y: sy.apply(y.values[index]) as number, index }));
    const radius = this.at.length > 400 ? 2.8 : this.at.length > 160 ? 3.6 : 4.6;
    const order = [...this.at].sort(
      (a, b) =>
        Number(shown.has(a.index)) - Number(shown.has(b.index)) ||
        Number(fills[a.index] !== null) - Number(fills[b.index] !== null),
    );
    const circles = order.map(({ x: cx, y: cy, index }) => {
      const fill = fills[index];
      const kind = `head${fill ? "" : " none"}${shown.has(index) ? "" : " off"}`;
      return s("circle", { class: kind, cx, cy, r: fill ? radius : radius - 0.5, fill: fill ?? null });
    });
    drawing.append(...circles);
    this.points.show(
      drawing,
      this.at.map((place): Point => ({ ...place, cell: cells[place.index]! })),
      now.cell,
    );
    // The marked heads are named, or else those that have a role.
    const few = shown.size < cells.length;
    const label = order.filter(({ index }) => shown.has(index) && (few || scene.roles[index]!.length > 0)).reverse();
    drawing.append(
      ...names(
        label.map((place) => ({ ...place, text: scene.names[place.index]! })),
        width,
        NAMED,
        this.at,
      ),
      this.brush,
    );
    this.points.box.style.width = `${width}px`;
  }

  private place(event: PointerEvent): { x: number; y: number } {
    const bounds = this.points.box.getBoundingClientRect();
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
    if (!dragged) this.points.box.setPointerCapture(event.pointerId);
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
    this.points.box.addEventListener("click", swallow, { capture: true, once: true });
    window.setTimeout(() => this.points.box.removeEventListener("click", swallow, { capture: true }), 0);
    const to = this.place(event);
    const ends = (axis: "x" | "y"): [number, number] => [
      Math.min(from[axis], to[axis]),
      Math.max(from[axis], to[axis]),
    ];
    const [[west, east], [north, south]] = [ends("x"), ends("y")];
    const within = this.at.filter(
      ({ x, y, index }) => this.cells[index] && x >= west && x <= east && y >= north && y <= south,
    );
    const [[x0, y1], [x1, y0]] = [this.unscaled(west, north), this.unscaled(east, south)];
    this.marked(new Set(within.map(({ index }) => index)), [x0, x1, y0, y1]);
  }

  private end(): void {
    this.from = null;
    this.brush.setAttribute("visibility", "hidden");
  }
}

/** The window that holds all heads; where both axes are places a step is as long on either. */
export function whole(indices: readonly number[], x: Axis, y: Axis, ratio: number): Window {
  const ends = ({ values }: Axis): [number, number] => {
    const own = indices.map((i) => values[i]!);
    const [low, high] = [Math.min(...own), Math.max(...own)];
    const pad = 0.04 * (high - low) || 0.5;
    return indices.length > 0 ? [low - pad, high + pad] : [0, 1];
  };
  let [[x0, x1], [y0, y1]] = [ends(x), ends(y)];
  if (x.place && y.place) {
    const grow = Math.max(x1 - x0, (y1 - y0) * ratio);
    const [dx, dy] = [(grow - (x1 - x0)) / 2, (grow / ratio - (y1 - y0)) / 2];
    [x0, x1, y0, y1] = [x0 - dx, x1 + dx, y0 - dy, y1 + dy];
  }
  return [x0, x1, y0, y1];
}

function axes(x: Axis, y: Axis, [x0, x1, y0, y1]: Window, width: number, height: number): SVGSVGElement & Plot.Plot {
  const scale = ({ place, whole }: Axis, count: number) => ({
    label: null,
    tickSize: 0,
    tickPadding: 5,
    ticks: place ? [] : count,
    ...(whole && { tickFormat: (v: number) => (Number.isInteger(v) ? String(v) : "") }),
  });
  const drawing = Plot.plot({
    width,
    height,
    marginLeft: left(y),
    marginRight: MARGIN.right,
    marginTop: MARGIN.top,
    marginBottom: bottom(x),
    style: { background: "none", color: "var(--ink3)", fontFamily: "inherit", fontSize: "11px", overflow: "visible" },
    x: { ...scale(x, Math.max(2, Math.floor(width / 90))), domain: [x0, x1] },
    y: { ...scale(y, 6), domain: [y0, y1] },
    marks: [
      ...(x.place ? [] : [Plot.gridX({ stroke: "var(--line)", strokeOpacity: 1 })]),
      ...(y.place ? [] : [Plot.gridY({ stroke: "var(--line)", strokeOpacity: 1 })]),
    ],
  }) as SVGSVGElement & Plot.Plot;
  for (const mark of drawing.querySelectorAll("g[aria-label]")) mark.removeAttribute("aria-label"); // a group has no name of its own
  const [first, last, low] = [left(y), width - MARGIN.right, height - bottom(x)];
  const [middle, centre] = [(first + last) / 2, (MARGIN.top + low) / 2];
  drawing.prepend(
    s("rect", { class: "frame", x: first, y: MARGIN.top, width: last - first, height: low - MARGIN.top, rx: 3 }),
  );
  drawing.append(
    s("text", { class: "axis", x: middle, y: height - 4, "text-anchor": "middle" }, x.title),
    s(
      "text",
      { class: "axis", x: 0, y: 0, "text-anchor": "middle", transform: `translate(11 ${centre}) rotate(-90)` },
      y.title,
    ),
  );
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", `Heads by ${x.title} and ${y.title}`);
  return drawing;
}
