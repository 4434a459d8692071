// The geometry of the grid.

import type { MeasureColumn } from "../protocol";
import type { Scene } from "./scene";

/** Inputs up to this length are drawn as lines, longer ones as heat maps. */
export const LINES_UP_TO = 24;

export interface Room {
  readonly layers: number;
  readonly heads: number;
  readonly width: number;
  /** Height that a large grid should keep to. */
  readonly room: number;
  readonly kind: "beside" | "large" | "mini";
  /** A line with a figure stands below each cell. */
  readonly noted: boolean;
  readonly sorted: boolean;
}

export function box({ layers, heads, width, room, kind, noted, sorted }: Room) {
  const mini = kind === "mini";
  const gutter = mini ? 18 : sorted ? 0 : 28;
  const gap = mini ? 2 : kind === "large" ? 6 : 4;
  const foot = noted ? 15 : 0;
  const top = mini ? 14 : sorted ? 0 : 20;
  let cell = (width - gutter - (heads - 1) * gap) / heads;
  // Beside the measures a small grid leaves them room; in a narrow column it takes the width.
  const most = width < 560 ? Math.max(17, 200 / layers) : Math.min(17, Math.max(9, 250 / heads));
  if (mini) cell = Math.min(cell, most);
  const tallest = kind === "large" ? Math.max(520, room) + layers * foot : layers > 12 ? 700 : Infinity;
  cell = Math.min(cell, (tallest - layers * (gap + foot)) / layers, kind === "large" ? 220 : 120);
  cell = Math.max(mini ? 4 : 8, Math.floor(cell));
  const [step, down] = [cell + gap, cell + gap + foot];
  return { cell, gap, step, down, gutter, top, width: gutter + heads * step - gap, height: top + layers * down - gap };
}

/** The side of a cell, from one to the next (`step` across, `down`), the room of the labels, and the whole. */
export type Box = Readonly<ReturnType<typeof box>>;

/** The cells in the order they are drawn: model order (head -1 where a layer has no such head), or by a measure. */
export function places(scene: Scene, measure: MeasureColumn | undefined): { layer: number; head: number }[] {
  const { part, data } = scene;
  const heads = [...new Set(part.heads.flat())].sort((a, b) => a - b);
  const all = part.index.flatMap((layer, at) => heads.map((head) => ({ layer, head: part.heads[at]!.includes(head) ? head : -1 })));
  if (!measure) return all;
  const figure = (cell: { layer: number; head: number }): number => {
    const found = data.figure(part, measure, cell.layer, cell.head);
    return Number.isFinite(found) ? found : -Infinity;
  };
  return all.filter((cell) => cell.head >= 0).sort((a, b) => figure(b) - figure(a));
}

/** The places of the heads in the order in which they are drawn: those that cost nothing, those in sight, the others. */
export function queue(order: readonly { layer: number; head: number }[], [first, last]: readonly [number, number], quick: (cell: { layer: number; head: number }) => boolean): number[] {
  const heads = order.flatMap(({ head }, place) => (head < 0 ? [] : [place]));
  const turn = (place: number): number => (quick(order[place]!) ? 0 : place >= first && place <= last ? 1 : 2);
  const turns = order.map((_, place) => turn(place));
  return heads.sort((a, b) => turns[a]! - turns[b]! || a - b);
}
