// Attention as lanes over time: how much each stretch of a sound gets, one lane above the other.

import { PALETTES } from "../scene/color";
import type { Shown } from "../scene/cut";
import { weight as short } from "../scene/format";
import { type Heard, type Lanes, largest } from "../scene/heard";
import type { Scene } from "../scene/scene";
import { onPixels, type Span, shownSpan, type Times } from "../scene/soundlayout";
import { area, lettering, type Pen, paint, write } from "./canvas";

interface LaneBox {
  readonly width: number;
  /** Room for numbers on the right. */
  readonly numbers: number;
  readonly span: Span;
}

/** Draw lanes from the top; `most` is what fills a lane, a height is the root of its share of that. */
export function drawLanes(
  pen: Pen,
  scene: Scene,
  { times, lanes, most, tall }: Lanes,
  { width, numbers, span }: LaneBox,
): void {
  const { ink } = scene.owner;
  lanes.forEach((lane, place) => {
    const floor = (place + 1) * tall - 2;
    if (lane.on) area(pen, ink("--wash"), 0, place * tall, width, tall - 1);
    area(pen, ink("--line"), 0, floor, width, 1);
    const seen = onPixels(lane.values, times, span, Math.round(width));
    const signed = seen.some((each) => each < 0);
    const { plus, minus } = scene.colours;
    pen.globalAlpha = lane.on ? 1 : 0.85;
    hill(pen, seen, 1, most, floor, tall - 5, signed ? plus : lane.color);
    if (signed) hill(pen, seen, -1, most, floor, tall - 5, minus);
    pen.globalAlpha = 1;
    if (numbers === 0) return;
    lettering(pen, "500 11px", "right");
    const number = lane.number ?? largest(seen);
    write(
      pen,
      ink(lane.on ? "--ink" : "--ink3"),
      (number < 0 ? "−" : "") + short(Math.abs(number)),
      width + numbers,
      place * tall + tall / 2,
    );
  });
}

// What rises above the floor of a lane, pixel by pixel.
function hill(
  pen: Pen,
  seen: Float32Array,
  sign: 1 | -1,
  most: number,
  floor: number,
  tall: number,
  color: string,
  left = 0,
): void {
  pen.fillStyle = color;
  pen.beginPath();
  pen.moveTo(left, floor);
  let before = 0;
  for (let x = 0; x < seen.length; x++) {
    const size = Math.max(0, sign * seen[x]!);
    if (size === before) continue;
    pen.lineTo(left + x, floor - tall * Math.sqrt(before / most));
    pen.lineTo(left + x, floor - tall * Math.sqrt(size / most));
    before = size;
  }
  pen.lineTo(left + seen.length, floor - tall * Math.sqrt(before / most));
  pen.lineTo(left + seen.length, floor);
  pen.fill();
}

/** How much of what is not listened to fades, and of a cell's height what the sound has; below it stands the lane. */
const [FADE, SOUND] = [0.82, 0.62];

/** Let what is not listened to fade, pixel by pixel, from a place of a canvas on. */
export function fade(
  pen: Pen,
  paper: string,
  seen: Float32Array,
  most: number,
  [x, y, height]: readonly [number, number, number],
): void {
  pen.fillStyle = paper;
  for (let from = 0; from < seen.length; ) {
    let end = from + 1;
    while (end < seen.length && seen[end] === seen[from]) end++;
    pen.globalAlpha = FADE * (1 - Math.sqrt(Math.min(1, Math.abs(seen[from]!) / most)));
    pen.fillRect(x + from, y, end - from, height);
    from = end;
  }
  pen.globalAlpha = 1;
}

/**
 * A head in a cell of the grid: the sound, and what each stretch gets on average as a lane below it; the highest fills
 * it.
 */
export function drawCell(
  pen: Pen,
  scene: Scene,
  spectrogram: Spectrogram,
  shares: ArrayLike<number>,
  [x, y, width, height]: readonly [number, number, number, number],
): void {
  const { sound, picture } = scene.input;
  const span = shownSpan(scene.state.span, sound!.seconds, sound!.heard);
  const scale = sound!.seconds / picture!.width;
  const times: Times = (scene.part.key.boxes ?? []).map((box) => (box ? [box[0]! * scale, box[2]! * scale] : null));
  const seen = onPixels(shares, times, span, Math.round(width));
  const most = Math.max(1e-12, largest(seen));
  const tall = Math.round(height * SOUND);
  spectrogram([span[0] / sound!.seconds, span[1] / sound!.seconds], x, y, width, tall);
  fade(pen, scene.owner.ink("--panel"), seen, most, [x, y, tall]);
  const { plus, minus } = scene.colours;
  const [floor, high] = [y + height, height - tall - 2];
  hill(pen, seen, 1, most, floor, high, scene.against ? plus : scene.accent, x);
  if (scene.against) hill(pen, seen, -1, most, floor, high, minus, x);
}

/** Draws a stretch of the sound, in shares of its length. */
export type Spectrogram = (stretch: Span, x: number, y: number, width: number, height: number) => void;

/** The places of an axis that sound within a stretch: the first, and how many. */
export function within(times: Times, [begin, end]: Span): readonly [number, number] {
  const inside = (span: Span | null): boolean => span !== null && span[1] > begin && span[0] < end;
  const first = times.findIndex(inside);
  return first < 0 ? [0, 0] : [first, times.findLastIndex(inside) - first + 1];
}

const strengths = new WeakMap<Shown, number>();

/** The largest code of a map, at least 1. */
function strongest(map: Shown): number {
  let most = strengths.get(map);
  if (most !== undefined) return most;
  most = 1;
  for (const code of map.codes) if (code > most) most = code;
  strengths.set(map, most);
  return most;
}

/**
 * A map of frames by frames under its time axis, as pixels: queries down, as many as sound in the shown stretch, `wide`
 * pixels across for all of it. Null where nothing does.
 */
export function mapPixels(
  scene: Scene,
  map: Shown,
  { queries, keys, span }: Heard,
  wide: number,
  tall: number,
): { readonly pixels: Uint32Array<ArrayBuffer>; readonly x: number; readonly width: number } | null {
  const [first, count] = within(queries, span);
  const [left, across] = within(keys, span);
  if (count === 0 || across === 0) return null;
  const scale = wide / (span[1] - span[0]);
  const [x, end] = [
    Math.round((keys[left]![0] - span[0]) * scale),
    Math.round((keys[left + across - 1]![1] - span[0]) * scale),
  ];
  const width = Math.max(1, end - x);
  const palette = PALETTES[scene.owner.theme];
  // The largest weight has the strongest shade.
  const most = strongest(map);
  const shades = map.sign
    ? palette.diverging
    : palette.sequential.map((_, code) => palette.sequential[Math.min(255, Math.round((code * 255) / most))]!);
  const pixels = new Uint32Array(width * tall);
  const window = { codes: map.codes, width: map.columns, row: first, rows: count, column: left, columns: across };
  paint({ data: pixels, stride: width }, 0, 0, width, tall, window, shades, map.sign);
  return { pixels, x, width };
}

/** How far down a map the row of a chosen query stands, and how tall it is; null where it does not sound. */
export function mapRow(
  { queries, span }: Heard,
  from: number | null,
  tall: number,
): { top: number; high: number } | null {
  const [first, count] = within(queries, span);
  if (from === null || from < first || from >= first + count) return null;
  return { top: ((from - first) / count) * tall, high: Math.max(1, tall / count) };
}
