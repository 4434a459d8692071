// Where each medium stands on a board: one picture fills it, several stand in rows, and a long sequence has many lines.

import type { MediumInfo, PictureInfo } from "../protocol";
import { type Box, holds, mediaOf, sideOf } from "../scene/areas";
import { textWidth } from "./ruler";

/** A part of a medium, in pixels of the sheet, and where a board has it. */
export interface Pane {
  readonly medium: MediumInfo;
  readonly part: Box;
  readonly at: Box;
  /** What stands above it. */
  readonly name: string;
  /** What stands beside it, from top to bottom: of a series its channels, of a line its first letter's number. */
  readonly beside: readonly string[];
  /** The letters in it. */
  readonly letters: readonly string[];
}

export interface Panes {
  readonly panes: readonly Pane[];
  readonly height: number;
}

const [GAP, NAME] = [8, 17];
/** Below this width names and letters cannot be read, and are left out. */
const READ = 200;
/** Pictures get smaller down to this width, until together they are at most so many times as tall as wide. */
const [LEAST, TALL] = [96, 1.2];
/** The least width of a letter, the height of a line of them, and how many stand together. */
const [LETTER, LINE, TEN] = [13, 24, 10];
const [LANE, TALLEST] = [56, 140];

/** Lay out the media of a picture on a board so wide, or one of them alone. */
export function panesOf(info: PictureInfo, width: number, only: number | null = null): Panes {
  const all = mediaOf(info);
  const media = only === null ? all : all.slice(only, only + 1);
  const reads = width >= READ && all.length > 1;
  const panes: Pane[] = [];
  let y = 0;
  const put = (medium: MediumInfo, at: Box, more: Partial<Pane> = {}): void => {
    panes.push({ medium, part: sideOf(medium), at, name: reads ? medium.name : "", beside: [], letters: [], ...more });
    y = Math.max(y, at[3]);
  };
  const pictures = media.filter(({ kind }) => kind === "picture");
  const across = perRow(pictures, width, reads ? NAME : 0);
  const each = (width - GAP * (across - 1)) / across;
  for (let first = 0; first < pictures.length; first += across) {
    const row = pictures.slice(first, first + across);
    const top = y + (first > 0 ? GAP : 0) + (reads ? NAME : 0);
    const tall = each / Math.max(...pictures.map(aspect));
    let x = 0;
    for (const medium of row) {
      put(medium, [x, top, x + tall * aspect(medium), top + tall]);
      x += tall * aspect(medium) + GAP;
    }
  }
  for (const medium of media) {
    if (medium.kind === "picture") continue;
    const top = y + (y > 0 ? GAP : 0) + (reads ? NAME : 0);
    if (medium.letters && width >= READ) {
      lines(medium, width).forEach(({ at, ...line }, number) =>
        put(medium, moved(at, top), { ...line, ...(number > 0 && { name: "" }) }),
      );
      continue;
    }
    const beside = width >= READ ? (medium.channels ?? []) : [];
    const left = gutter(beside, width);
    const own = (width - left) / aspect(medium);
    const lanes = medium.channels?.length ?? 0;
    const tall = width < READ ? own : lanes ? LANE * lanes : all.length > 1 ? Math.min(own, TALLEST) : own;
    put(medium, [left, top, width, top + tall], { beside });
  }
  return { panes, height: y };
}

const aspect = ({ box }: MediumInfo): number => (box[2]! - box[0]!) / Math.max(1e-6, box[3]! - box[1]!);
const moved = ([left, top, right, bottom]: Box, down: number): Box => [left, top + down, right, bottom + down];
const gutter = (names: readonly string[], width: number): number =>
  names.length === 0 ? 0 : Math.min(width / 4, Math.max(...names.map((name) => textWidth(name, 11, 500))) + GAP);

/** As few in a row as there is room for: they are largest then. */
function perRow(pictures: readonly MediumInfo[], width: number, more: number): number {
  const widest = Math.max(...pictures.map(aspect));
  for (let across = 1; across < pictures.length; across++) {
    const each = (width - GAP * (across - 1)) / across;
    const rows = Math.ceil(pictures.length / across);
    if (rows * (each / widest + more + GAP) <= TALL * width || each < LEAST) return across;
  }
  return Math.max(1, pictures.length);
}

// A sequence in lines of letters that can be read.
function lines(medium: MediumInfo, width: number): Pick<Pane, "part" | "at" | "beside" | "letters">[] {
  const letters = [...medium.letters!];
  const fits = Math.floor(width / LETTER);
  const several = letters.length > fits;
  const left = several ? gutter([String(letters.length)], width) : 0;
  const room = Math.floor((width - left) / LETTER);
  const line = several ? Math.max(1, room - (room > TEN ? room % TEN : 0)) : letters.length;
  const wide = Math.min(LINE, (width - left) / line);
  const [x0, top, x1, bottom] = sideOf(medium);
  const one = (x1 - x0) / letters.length;
  return Array.from({ length: Math.ceil(letters.length / line) }, (_, number) => {
    const [first, after] = [number * line, Math.min(letters.length, (number + 1) * line)];
    const y = number * (LINE + GAP / 2);
    return {
      part: [x0 + first * one, top, x0 + after * one, bottom],
      at: [left, y, left + (after - first) * wide, y + LINE],
      beside: several ? [String(first + 1)] : [],
      letters: letters.slice(first, after),
    };
  });
}

/** A point of a board as one of the sheet; null where no medium stands. */
export function onSheet({ panes }: Panes, x: number, y: number): readonly [number, number] | null {
  const pane = panes.find(({ at }) => holds(at, x, y));
  if (!pane) return null;
  const { part, at } = pane;
  const along = (value: number, side: 0 | 1): number =>
    part[side] + ((value - at[side]) * (part[side + 2]! - part[side])) / (at[side + 2]! - at[side]);
  return [along(x, 0), along(y, 1)];
}
