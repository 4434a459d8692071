// The geometry of the head view, left to right: rail, strip, tokens, lines, tokens, strip, rail.

import { hasPair, length } from "./axis";
import { clamp } from "./format";
import type { Focus, Scene } from "./scene";

/** Where the control points of a line stand, as a share of the way across. */
export const BEND = 0.36;

/** A row that a finger can choose is at least 24 pixels high. */
export const rowHeight = (tokens: number, touch = false): number =>
  touch ? (tokens > 20 ? 24 : 28) : tokens > 64 ? 17 : tokens > 44 ? 18 : tokens > 20 ? 20 : 24;

interface HeadRoom {
  readonly width: number;
  readonly rows: number;
  readonly columns: number;
  /** Tokens before anything was filtered: the row height stays when the filter changes. */
  readonly tokens: number;
  readonly widest: number;
  readonly maps: number;
  readonly paired: boolean;
  readonly tallest: number;
  /** Rows are chosen with a finger. */
  readonly touch?: boolean;
  /** Nobody points at it: a strip without numbers has no room. */
  readonly still?: "left" | "right" | null;
}

/** The side whose strip has numbers: beside the tokens that the other side's one looks at, at rest what keys receive. */
export const stripSide = (focus: Focus | null): "left" | "right" =>
  focus?.from == null && focus?.to != null ? "left" : "right";

/** The geometry of a scene in so much room; `widest`: of its tokens. */
export function headBoxOf(
  scene: Scene,
  room: Pick<HeadRoom, "width" | "tallest" | "widest" | "touch" | "still">,
): HeadBox {
  const { part, state, rows, columns } = scene;
  return headBox({
    ...room,
    rows: rows.items.length,
    columns: columns.items.length,
    tokens: Math.max(length(part.query, state.unfolded), length(part.key, state.unfolded)),
    maps: Math.max(1, scene.shown().length),
    paired: hasPair(part.query) || hasPair(part.key),
  });
}

export function headBox({
  width,
  rows,
  columns,
  tokens,
  widest,
  maps,
  paired,
  tallest,
  touch = false,
  still = null,
}: HeadRoom) {
  const tiny = width < 520;
  const tight = width < 700;
  const rail = paired ? (tiny ? 13 : 16) : 0;
  const [least, most] = tiny ? [56, 104] : tight ? [88, 164] : [104, 236];
  const stripRight = (still === "left" ? 0 : clamp(maps * 18 + 14, least, most)) + rail;
  const [leastLeft, mostLeft] = tiny ? [50, 60] : tight ? [66, 112] : [76, 168];
  const stripLeft = (still === "right" ? 0 : clamp(maps * 14 + 14, leastLeft, mostLeft)) + rail;
  // Lines keep their room: where there is little, long tokens end in an ellipsis.
  const lines = 60;
  const spare = Math.floor((width - stripLeft - stripRight - lines) / 2);
  const room = Math.max(28, Math.min(clamp(Math.ceil(widest) + 16, 52, 150), spare));
  const row = rowHeight(tokens, touch);
  const full = Math.max(rows, columns) * row + 4;
  const height = full <= 900 ? full : Math.min(full, tallest);
  return {
    width,
    tiny,
    rail,
    tokens: room,
    stripLeft,
    stripRight,
    x0: stripLeft + room,
    x1: Math.max(stripLeft + room + 24, width - stripRight - room),
    row,
    full,
    height,
  };
}

/**
 * Widths and places in pixels; where it is tiny numbers stand over their bars; lines begin at `x0` and end at `x1`; all
 * rows are `full` high, the window onto them `height`.
 */
export type HeadBox = Readonly<ReturnType<typeof headBox>>;

/** The middle of a row, from the top of the window. */
export const middle = (box: HeadBox, place: number, scrolled: number): number =>
  place * box.row + box.row / 2 - scrolled;

/** What stands above a column: from `x` to the right or left, or in the middle of it. */
interface Above {
  readonly text: string;
  readonly x: number;
  readonly align: "left" | "right" | "center";
  /** Of a head, by its number. */
  readonly head?: number;
}

/** What stands above the columns: which way they look, and what the numbers are of, or whose. */
export function above(scene: Scene, box: HeadBox): Above[] {
  const [maps, { from, to }] = [scene.shown(), scene.focused];
  const narrow = box.tokens < 84;
  const ends: Above[] = [
    { text: narrow ? "from" : "from (query)", x: box.x0 - 7, align: "right" },
    { text: narrow ? "to" : "to (key)", x: box.x1 + 8, align: "left" },
  ];
  const right = stripSide(scene.focus) === "right";
  const x = right ? box.x1 + box.tokens + 4 : box.stripLeft - 4;
  if (maps.length <= 1) {
    const what = scene.against ? "difference" : scene.state.quantity === "weights" ? "weight" : scene.state.quantity;
    const text = from !== null || to !== null ? what : box.stripRight - box.rail < 104 ? "received" : "mean received";
    if (!right) return [...ends, { text, x, align: "right" }];
    return [...ends, box.stripRight < 80 ? { text, x: box.width, align: "right" } : { text, x, align: "left" }];
  }
  const across = stripStep(box, right, maps.length);
  const every = Math.ceil(12 / across);
  const begin = right ? x : x - across * maps.length;
  return [
    ...ends,
    ...maps.flatMap(({ head }, m): Above[] =>
      m % every === 0 ? [{ text: String(head), x: begin + (m + 0.5) * across - 0.5, align: "center", head }] : [],
    ),
  ];
}

/** From one head's bars to the next's, in a strip of several. */
export const stripStep = (box: HeadBox, right: boolean, maps: number): number =>
  Math.min(22, stripRoom(box, right) / maps);

/** The width that a strip has for bars and numbers. */
export const stripRoom = (box: HeadBox, right: boolean): number =>
  (right ? box.stripRight : box.stripLeft) - 10 - box.rail;
