// The geometry of the head view, left to right: rail, strip, tokens, lines, tokens, strip, rail.

import { clamp } from "./format";

/** Where the control points of a line stand, as a share of the way across. */
export const BEND = 0.36;

/** A row that a finger can choose is at least 24 pixels high. */
export const rowHeight = (tokens: number, touch = false): number =>
  touch ? (tokens > 20 ? 24 : 28) : tokens > 64 ? 17 : tokens > 44 ? 18 : tokens > 20 ? 20 : 24;

export interface HeadRoom {
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
}

export function headBox({ width, rows, columns, tokens, widest, maps, paired, tallest, touch = false }: HeadRoom) {
  const tiny = width < 520;
  const tight = width < 700;
  const rail = paired ? (tiny ? 13 : 16) : 0;
  const [least, most] = tiny ? [56, 104] : tight ? [88, 164] : [104, 236];
  const stripRight = clamp(maps * 18 + 14, least, most) + rail;
  const [leastLeft, mostLeft] = tiny ? [50, 60] : tight ? [66, 112] : [76, 168];
  const stripLeft = clamp(maps * 14 + 14, leastLeft, mostLeft) + rail;
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
