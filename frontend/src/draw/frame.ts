// The axes of a chart, and what its rows are placed by.

import type { Chart, ChartAxis } from "../protocol";
import { COLOURS, type Theme } from "../scene/color";
import { bare, brief } from "../scene/format";
import type { Block } from "./block";
import { area, lettering, write } from "./canvas";
import { cutTo, textWidth } from "./ruler";
import type { SvgPen } from "./svg";

/** Where a row stands: its middle, and how wide and tall it is; 0 of what is a point. */
export interface Spot {
  readonly row: number;
  readonly x: number;
  readonly y: number;
  readonly wide: number;
  readonly tall: number;
}

export interface Drawing extends Block {
  readonly spots: readonly Spot[];
  /** What stands at a place, in the numbers of the axes. */
  readonly unscaled: (x: number, y: number) => [number, number];
}

export interface How {
  readonly width: number;
  readonly theme: Theme;
  readonly height?: number;
  /** Rows that are nearly left out. */
  readonly faint?: ReadonlySet<number>;
  /** So many names at most. */
  readonly named?: number;
}

export type Ends = readonly [low: number, high: number];
type Tick = readonly [at: number, text: string];

export const SIZE = 11;

export const known = (value: number | null | undefined): value is number => value != null && Number.isFinite(value);

/** Numbers of one digit, or 25, and zeros, about so many. */
export function round(low: number, high: number, count: number): number[] {
  const least = Math.max(high - low, 1e-300) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 2.5, 5, 10].find((times) => times * power >= least * (1 - 1e-9))!;
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
}

/** The ticks that have room, where each needs so much. */
function ticksOf({ names, ticks }: ChartAxis, [low, high]: Ends, room: number, least: number): Tick[] {
  if (ticks === false) return [];
  if (!names) return round(low, high, room / least).map((at) => [at, bare(brief(at))]);
  const every = Math.ceil((least * names.length) / room);
  return names.flatMap((name, at) => (at % every === 0 ? [[at, name] as const] : []));
}

export const widest = (texts: readonly string[]): number =>
  Math.ceil(Math.max(0, ...texts.map((one) => textWidth(one, SIZE))));

/** The axes around a picture, with what places a row, and what draws the rows within them. */
export function framed(info: Chart, { width, theme }: How, height: number, xs: Ends, ys: Ends, right = 8, ticks = 0) {
  const { line, ink3 } = COLOURS[theme];
  const { x, y } = info;
  const plain = x.ticks === false;
  const top = y.title ? 22 : plain ? 1 : 8;
  const bottom = height - (plain ? 1 : 22) - (x.title ? 15 : 0);
  const down = ticksOf(y, ys, bottom - top, y.names ? 13 : 34);
  const left = down.length > 0 ? Math.max(ticks, Math.min(0.45 * width, widest(down.map(([, text]) => text)) + 8)) : 1;
  const across = width - left - right;
  const each = across / (x.names?.length ?? 1);
  const least = x.names ? Math.min(widest(x.names) + 10, Math.max(each, 40)) : 60;
  const along = ticksOf(x, xs, across, least);
  const wide = Math.ceil(least / each) * each - 6;
  const bend = y.root ? Math.sqrt : (share: number) => share;
  const atX = (at: number): number => left + (across * (at - xs[0])) / (xs[1] - xs[0]);
  const atY = (at: number): number => bottom - (bottom - top) * bend(Math.max(0, (at - ys[0]) / (ys[1] - ys[0])));
  const drawing = (spots: readonly Spot[], draw: (pen: SvgPen) => void): Drawing => ({
    width,
    height,
    spots,
    unscaled: (px, py) => [
      xs[0] + ((px - left) / across) * (xs[1] - xs[0]),
      ys[0] + ((bottom - py) / (bottom - top)) * (ys[1] - ys[0]),
    ],
    draw(pen) {
      pen.globalAlpha = 1;
      for (const [at] of y.names ? [] : down) area(pen, line, left, atY(at) - 0.5, across, 1);
      if (!x.names) for (const [at] of along) area(pen, line, atX(at) - 0.5, top, 1, bottom - top);
      if (y.ticks === false && plain) pen.rounded(left, top, across, bottom - top, null, line, 3);
      lettering(pen, `400 ${SIZE}px`, "right");
      for (const [at, text] of down) write(pen, ink3, cutTo(text, left - 8, SIZE), left - 8, atY(at));
      lettering(pen, `400 ${SIZE}px`, "center");
      for (const [at, text] of along) write(pen, ink3, x.names ? cutTo(text, wide, SIZE) : text, atX(at), bottom + 13);
      if (x.title) write(pen, ink3, x.title, left + across / 2, height - 7);
      lettering(pen, `400 ${SIZE}px`);
      if (y.title) write(pen, ink3, y.title, 0, 7);
      draw(pen);
    },
  });
  return { left, top, bottom, across, atX, atY, drawing };
}

export const spot = (row: number, x: number, y: number, wide = 0, tall = 0): Spot => ({ row, x, y, wide, tall });
