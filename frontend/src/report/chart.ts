// A chart on the page: what is pointed at says what it is, a click opens its head, and the open head is marked.

import { type Block, stack } from "../draw/block";
import { chart } from "../draw/chart";
import type { Drawing, How, Spot } from "../draw/frame";
import { key } from "../draw/key";
import { SvgPen } from "../draw/svg";
import type { Chart, ChartColour, ChartLine } from "../protocol";
import { Of } from "../scene/made";
import { type Child, h, s } from "../ui/dom";
import { type Cell, type Figures, orNull, type Scale, same } from "./figures";
import type { Host, Now } from "./host";
import { pointing } from "./tip";

/** What is nearest to the pointer, of what is within reach; null for none. */
function nearest<At extends { readonly x: number; readonly y: number }>(
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

/** A block as an element of the page. */
export function pictured(block: Block, width: number): Element {
  const pen = new SvgPen(width, Math.ceil(block.height));
  block.draw(pen);
  return document.importNode(new DOMParser().parseFromString(pen.document(), "image/svg+xml").documentElement, true);
}

export class Charted {
  readonly root: HTMLElement;
  drawing: Drawing | null = null;
  private readonly rings = s("g");
  private readonly hover = s("g");
  private hollow = false;
  private cell: Cell | null = null;

  constructor(
    host: Pick<Host, "tip">,
    private readonly cellOf: (row: number) => Cell | null = () => null,
    tip: (row: number) => Node | null = () => null,
    open: (row: number) => void = () => undefined,
    /** Whether arrow keys move between heads here, and Enter opens one. */
    private readonly walked = false,
    /** What is drawn beside the row that is pointed at. */
    beside: (row: number, spots: readonly Spot[]) => readonly SVGElement[] = () => [],
  ) {
    this.root = h("div.plot", {
      ...pointing(
        host,
        (event) => this.under(event),
        ({ row }) => tip(row),
        ({ row }) => open(row),
        (spot) => {
          const more = spot ? [ring("hov", spot), ...beside(spot.row, this.drawing!.spots)] : [];
          this.hover.replaceChildren(...more);
        },
      ),
      ...(walked && {
        tabindex: 0,
        role: "application",
        onkeydown: (event: KeyboardEvent) => {
          const at = event.key === "Enter" ? this.marked()[0] : undefined;
          if (at) open(at.row);
        },
      }),
    });
    this.root.classList.toggle("grid", walked);
  }

  /** Draw a chart in place of the last one. */
  show(info: Chart, how: How, label: string, open: Cell): void {
    const drawing = chart(info, how);
    const all = stack([drawing, ...(info.colour ? [key(info.colour, how.width, how.theme)] : [])]);
    const picture = pictured(all, how.width);
    const named = this.walked ? this.root : picture;
    if (!this.walked) picture.setAttribute("role", "img");
    named.setAttribute("aria-label", label);
    picture.append(this.hover, this.rings);
    this.drawing = drawing;
    this.hollow = info.kind !== "layers" || info.colour !== undefined;
    this.hover.replaceChildren();
    this.root.style.width = `${how.width}px`;
    this.root.replaceChildren(picture);
    this.select(open);
  }

  /** Mark the open head. */
  select(open: Cell): void {
    this.cell = open;
    this.rings.replaceChildren(...this.marked().map((spot) => ring(this.hollow ? "ring hollow" : "ring", spot)));
  }

  private marked(): Spot[] {
    const { cell } = this;
    return (this.drawing?.spots ?? []).filter(({ row }) => {
      const own = this.cellOf(row);
      return own && cell && same(own, cell);
    });
  }

  private under(event: MouseEvent): Spot | null {
    const spots = (this.drawing?.spots ?? []).filter(({ row }) => this.cellOf(row));
    if (!spots[0]?.wide) return nearest(event, this.root, spots);
    const { left, top } = this.root.getBoundingClientRect();
    const [px, py] = [event.clientX - left, event.clientY - top];
    return spots.find(({ x, y, wide, tall }) => Math.abs(px - x) <= wide / 2 && Math.abs(py - y) <= tall / 2) ?? null;
  }
}

const ring = (name: string, { x, y, wide, tall }: Spot): SVGElement =>
  wide > 0
    ? s("rect", { class: name, x: x - wide / 2 - 1, y: y - tall / 2 - 1, width: wide + 2, height: tall + 2, rx: 2 })
    : s("circle", { class: name, cx: x, cy: y, r: 6 });

/** The names of layers and of heads, along the axes of a chart. */
const layerNames = ({ payload }: Figures): string[] => payload.layers.map(String);

/** Values of heads by layer: a point a head, a line their mean, with its interval; some are named. */
export function byLayer(
  figures: Figures,
  value: (cell: Cell) => number,
  named: readonly Cell[],
  ends: Partial<ChartLine>,
): Chart {
  const { cells, payload } = figures;
  const means = payload.layers.map((_, layer) => {
    const own = cells
      .filter((cell) => cell.layer === layer)
      .map(value)
      .filter(Number.isFinite);
    return orNull(own.reduce((a, b) => a + b, 0) / own.length);
  });
  return {
    kind: "layers",
    title: "",
    x: { title: "", names: layerNames(figures) },
    y: { title: "" },
    rows: {
      x: cells.map(({ layer }) => layer),
      y: cells.map((cell) => orNull(value(cell))),
      link: cells.map(figures.name),
      marked: named.map((cell) => cells.indexOf(cell)),
    },
    lines: [{ y: means, dots: true, ...ends }],
  };
}

/** Values of heads as a map. */
export const mapOf = (
  figures: Figures,
  cells: readonly (Cell | null)[],
  value: (cell: Cell, row: number) => number,
  colour: ChartColour,
): Chart => ({
  kind: "head_map",
  title: "",
  x: { title: "", names: figures.payload.heads.map(String) },
  y: { title: "", names: layerNames(figures) },
  rows: {
    x: cells.map((cell) => cell?.head ?? -1),
    y: cells.map((cell) => cell?.layer ?? -1),
    colour: cells.map((cell, row) => (cell ? orNull(value(cell, row)) : null)),
  },
  colour,
});

/** The colours of a measure's scale. */
export const colourOf = ({ diverging, low, high }: Scale, units: string): ChartColour => ({
  title: units === "share" ? "" : units,
  of: "numbers",
  low: diverging ? low : 0,
  high,
  root: units === "share" && !diverging,
});

/** A drawing with its title, which follows the page's state in a width of its own. */
interface Pictured {
  readonly root: HTMLElement;
  readonly update: (now: Now, width: number, of?: unknown) => void;
}

/** Draws again when the width, the theme or what is shown is another, and else marks the open head. */
export function redrawn(draw: (now: Now, width: number) => void, ...charts: readonly Charted[]): Pictured["update"] {
  const drawn = new Of();
  return (now, width, of) => {
    if (drawn.renewed(width, now.theme, of)) draw(now, width);
    else for (const each of charts) each.select(now.cell);
  };
}

/** A picture below its title and a note. */
export const captioned = (title: Child, note: Child, ...content: Child[]): HTMLElement =>
  h("figure.chart", h("figcaption", h("h3", title), note), ...content);

/** Set charts beside one another in a grid, and return the width of each. */
export function beside(grid: HTMLElement, room: number, columns: number, gap: number, most = Infinity): number {
  const width = Math.min(most, Math.floor((room - gap * (columns - 1)) / columns));
  grid.style.gap = `14px ${gap}px`;
  grid.style.gridTemplateColumns = `repeat(${columns}, ${width}px)`;
  return width;
}
