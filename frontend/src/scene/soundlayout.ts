// The geometry of a sound: which stretch is shown, what stands where on its time axis, where words have room.

import { clamp, fixed } from "./format";

/** A stretch of time, in seconds. */
export type Span = readonly [begin: number, end: number];

/** The shortest stretch that is shown. */
const SHORTEST = 0.1;
/** Where the sound fills less than this of what the model hears, the silence behind it is not shown unasked. */
const MOSTLY = 0.9;

/** The stretch that is shown: what is asked for, moved to lie in what the model hears; by default the sound itself. */
export function shownSpan(asked: readonly number[] | null, seconds: number, heard: number): Span {
  if (!asked) return [0, heard > 0 && heard < MOSTLY * seconds ? heard : seconds];
  const length = clamp(asked[1]! - asked[0]!, Math.min(SHORTEST, seconds), seconds);
  const begin = clamp(asked[0]!, 0, seconds - length);
  return [begin, begin + length];
}

/** Closer (below 1) or farther, about a time that keeps its place. */
export function zoomedSpan([begin, end]: Span, factor: number, about: number, seconds: number): Span {
  const length = clamp((end - begin) * factor, Math.min(SHORTEST, seconds), seconds);
  const share = (about - begin) / (end - begin);
  return shownSpan([about - share * length, about + (1 - share) * length], seconds, seconds);
}

/** The stretch moved by as much. */
export const movedSpan = ([begin, end]: Span, by: number, seconds: number): Span =>
  shownSpan([begin + by, end + by], seconds, seconds);

/** The stretch as a state holds it: null for what is shown unasked. */
export function asState(span: Span, seconds: number, heard: number): number[] | null {
  const [begin, end] = shownSpan(null, seconds, heard);
  const near = (a: number, b: number): boolean => Math.abs(a - b) < 1e-3;
  return near(span[0], begin) && near(span[1], end) ? null : span.map((time) => Math.round(time * 1000) / 1000);
}

/** Round numbers from `begin` to `end`, at most `most` of them and one more, and how many decimals they have. */
export function ticks(begin: number, end: number, most: number): { readonly at: number[]; readonly digits: number } {
  const rough = (end - begin) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough * 0.999) ?? 10) * power;
  const first = Math.ceil(begin / step - 1e-6);
  const last = Math.floor(end / step + 1e-6);
  return {
    at: Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step),
    digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)),
  };
}

/** Seconds as text. */
export const clock = (time: number, digits = 2): string => fixed(time, digits);

/** What stands on an axis of time: where it begins and ends, in seconds; null where it has no time. */
export type Times = readonly (Span | null)[];

/** The place of what sounds at a time, or of what sounds nearest to it; -1 where nothing has a time. */
export function placeAt(times: Times, time: number): number {
  let [best, nearest] = [-1, Infinity];
  times.forEach((span, place) => {
    if (!span) return;
    const off = time < span[0] ? span[0] - time : time >= span[1] ? time - span[1] + 1e-9 : 0;
    if (off < nearest) [best, nearest] = [place, off];
  });
  return best;
}

/** What wants a place in a line of text: its middle, and how wide it is. */
export interface Label {
  readonly middle: number;
  readonly width: number;
}

/**
 * Into which of some lines each label goes so that none cover each other; -1 where there is no room. The order is that
 * in which they are given; all lie within `width`.
 */
export function intoLines(
  labels: readonly Label[],
  lines: number,
  width: number,
  gap = 4,
): { readonly line: number; readonly left: number }[] {
  const taken: [number, number][][] = Array.from({ length: lines }, () => []);
  return labels.map((label) => {
    const left = clamp(label.middle - label.width / 2, 0, Math.max(0, width - label.width));
    const right = left + label.width;
    const line = taken.findIndex((others) => others.every(([from, to]) => right + gap <= from || left >= to + gap));
    if (line >= 0) taken[line]!.push([left, right]);
    return { line, left };
  });
}

/** The largest of each pixel's values, of values that stand on times; what lies nowhere is 0. */
export function onPixels(values: ArrayLike<number>, times: Times, [begin, end]: Span, width: number): Float32Array {
  const found = new Float32Array(width);
  const scale = width / (end - begin);
  times.forEach((span, place) => {
    if (!span || span[1] <= begin || span[0] >= end) return;
    const first = Math.max(0, Math.floor((span[0] - begin) * scale + 1e-6));
    const after = Math.min(width, Math.max(first + 1, Math.ceil((span[1] - begin) * scale - 1e-6)));
    const value = values[place]!;
    for (let x = first; x < after; x++) if (Math.abs(value) > Math.abs(found[x]!)) found[x] = value;
  });
  return found;
}

/** How high a lane is, of so many that share a room. */
export const laneHeight = (count: number, touch: boolean): number =>
  clamp(Math.floor(420 / Math.max(1, count)), touch ? 24 : 14, 30);
