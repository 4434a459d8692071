// What the neuron view draws: blocks of neurons in blue and orange, scores, softmax.

import { css, PALETTES, type Theme } from "../scene/color";
import { bare, brief, fixed, weight as short, significant } from "../scene/format";
import type { Judged } from "../scene/gold";
import { everyNeuron, type NeuronBox } from "../scene/neuronlayout";
import type { Chart, Row } from "../scene/neurons";
import type { Scene } from "../scene/scene";
import { area, canvasOf, curve, lettering, type Pen, ratio, write } from "./canvas";
import { markTokens, outlines } from "./golddraw";

/** Room above and below the cells of a row. */
export const GAP = 2;

/** How much of the paper lies over queries that are not followed. */
const RECEDING = 0.62;

const clip = (x: number): number => Math.max(-1, Math.min(1, x));

/** A colour of the diverging palette for a share from -1 to 1. */
export const tint = (share: number, theme: Theme): string =>
  css(PALETTES[theme].diverging[Math.round(127.5 + 127.5 * clip(share))]!);

/** Vectors as colours, [row column]: no more columns than there are neurons, nor than there is room for; others are
 * averaged. Empty where a vector is null. */
export function tinted(
  vectors: readonly (Float32Array | null)[],
  scale: number,
  theme: Theme,
  room: number,
): { readonly pixels: Uint32Array<ArrayBuffer>; readonly columns: number } {
  const size = vectors.find((each) => each !== null)?.length ?? 0;
  const columns = Math.min(size, Math.max(1, Math.round(room)));
  const pixels = new Uint32Array(columns * vectors.length);
  const lut = PALETTES[theme].diverging;
  const color = (x: number): number => lut[Math.round(127.5 + 127.5 * clip(x / scale))]!;
  vectors.forEach((each, row) => {
    for (let c = 0; each && c < columns; c++) {
      const [from, to] = [Math.floor((c * size) / columns), Math.floor(((c + 1) * size) / columns)];
      pixels[row * columns + c] = mean(Array.from(each.subarray(from, to), color));
    }
  });
  return { pixels, columns };
}

// The mean of some colours.
function mean(colours: readonly number[]): number {
  if (colours.length === 1) return colours[0]!;
  const byte = (by: number): number =>
    Math.round(colours.reduce((sum, each) => sum + ((each >>> by) & 255), 0) / colours.length);
  return ((255 << 24) | (byte(16) << 16) | (byte(8) << 8) | byte(0)) >>> 0;
}

/** Vectors as rows of cells on a canvas; `null` leaves a row empty. One image, scaled without smoothing. */
export function block(
  context: CanvasRenderingContext2D,
  box: NeuronBox,
  x: number,
  first: number,
  vectors: readonly (Float32Array | null)[],
  scale: number,
  theme: Theme,
  scrolled: number,
): void {
  const { pixels, columns } = tinted(vectors, scale, theme, box.block * ratio());
  if (columns === 0) return;
  const canvas = canvasOf(pixels, columns);
  context.imageSmoothingEnabled = false;
  vectors.forEach((each, row) => {
    if (!each) return;
    const y = (first + row) * box.row + GAP - scrolled;
    context.drawImage(canvas, 0, row, columns, 1, x, y, box.block, box.row - 2 * GAP);
  });
}

interface RowNumbers {
  readonly score: number;
  readonly weight: number;
  readonly masked: boolean;
  readonly norm: number | null;
}

/** The row of a query over its blocks: the query itself, lines to the keys it looks at, numbers, gold links. */
export function drawRow(
  pen: Pen,
  scene: Scene,
  box: NeuronBox,
  row: Row,
  links: readonly Judged[],
  [first, last]: readonly [number, number],
  height: number,
  scrolled: number,
): void {
  const { ink } = scene.owner;
  const count = row.weights.length;
  const y = (at: number): number => at * box.row + box.row / 2 - scrolled;
  // Other queries recede.
  const top = row.query * box.row - scrolled;
  pen.globalAlpha = RECEDING;
  area(pen, ink("--bg"), box.q - 1, -2, box.block + 2, Math.max(0, top + 2));
  area(pen, ink("--bg"), box.q - 1, top + box.row, box.block + 2, Math.max(0, height - top - box.row));
  pen.globalAlpha = 1;
  pen.strokeStyle = scene.accent;
  pen.lineWidth = 1.5;
  pen.strokeRect(box.q - 1.25, top + 0.75, box.block + 2.5, box.row - 1.5);
  const ends = Array.from(row.weights, (weight, b) => ({ y: y(b), weight }));
  connectors(
    pen,
    box,
    y(row.query),
    ends.filter((end) => end.y > -40 && end.y < height + 40),
    scene.accent,
  );
  const zero = Math.round(box.dot + box.dotWidth * 0.36);
  if (!box.narrow) area(pen, ink("--line2"), zero, -scrolled, 1, count * box.row);
  lettering(pen, "500 11px", "right");
  const numbers = box.narrow ? narrowNumbers : wideNumbers;
  const put = (at: number, found: RowNumbers): void => numbers(pen, scene, box, y(at), found, row.most);
  for (let b = first; b < Math.min(last, count); b++) {
    const [score, weight, norm] = [row.scores[b]!, row.weights[b]!, row.norms?.[b] ?? null];
    put(b, { score, weight, masked: row.masked[b] === 1, norm });
  }
  if (row.sink) put(count, { score: row.sink.logit, weight: row.sink.weight, masked: false, norm: null });
  const { tokens, right, row: tall, letter, inset } = box;
  const columns = { left: tokens, right, most: tokens, row: tall, height, letter, inset };
  outlines(pen, scene, links, columns, scrolled);
  for (const link of links) if (link.gold.side === "from") markTokens(pen, scene, link, columns, scrolled);
}

// Score, softmax and norm of one key.
const wideNumbers: typeof narrowNumbers = (pen, scene, box, y, row, top) => {
  const { ink, theme } = scene.owner;
  if (row.masked) return write(pen, ink("--ink3"), "not seen", box.dot + box.dotWidth + 6, y + 0.5);
  const zero = box.dot + box.dotWidth * 0.36;
  const length = (row.score / top.score) * (box.dotWidth * 0.36 - 1);
  area(
    pen,
    tint(length >= 0 ? 0.76 : -0.76, theme),
    length >= 0 ? zero + 1 : zero + length,
    y - 5,
    Math.abs(length),
    10,
  );
  write(pen, ink("--ink2"), scoreText(row.score), box.dot + box.dotWidth + 6, y + 0.5);
  const bar = (box.softWidth - 30) * Math.min(1, row.weight);
  area(pen, scene.accent, box.soft + box.softWidth - 4 - bar, y - 6, bar, 12);
  write(
    pen,
    ink(row.weight >= 0.005 ? "--ink2" : "--ink3"),
    short(row.weight),
    box.soft + box.softWidth - 8 - bar,
    y + 0.5,
  );
  if (row.norm === null) return;
  pen.globalAlpha = 0.7;
  area(pen, ink("--ink3"), box.norm + 4, y - 4, ((box.normWidth - 34) * row.norm) / top.norm, 8);
  pen.globalAlpha = 1;
  write(pen, ink("--ink2"), normText(row.norm, top.norm), box.norm + box.normWidth, y + 0.5);
};

const scoreText = (score: number): string => fixed(score, Math.abs(score) >= 100 ? 0 : 1);
const normText = (norm: number, most: number): string => (norm < most * 0.005 ? "·" : bare(significant(norm, 2)));

// The same where there is little room: each number over its bar.
function narrowNumbers(pen: Pen, scene: Scene, box: NeuronBox, y: number, row: RowNumbers, top: Row["most"]): void {
  const { ink, theme } = scene.owner;
  const put = (text: string, x: number, width: number, share: number, color: string, faint: boolean): void => {
    write(pen, ink(faint ? "--ink3" : "--ink2"), text, x + width, y - 1);
    const bar = width * Math.min(1, share);
    area(pen, color, x + width - bar, y + box.row / 2 - 3.5, bar, 2.5);
  };
  if (row.masked) return write(pen, ink("--ink3"), "–", box.dot + box.dotWidth, y - 1);
  put(
    scoreText(row.score),
    box.dot,
    box.dotWidth,
    Math.abs(row.score) / top.score,
    tint(row.score >= 0 ? 0.76 : -0.76, theme),
    false,
  );
  put(short(row.weight), box.soft, box.softWidth, row.weight, scene.accent, row.weight < 0.005);
  if (row.norm !== null)
    put(normText(row.norm, top.norm), box.norm, box.normWidth, row.norm / top.norm, ink("--ink3"), false);
}

// From the query to the keys it looks at.
function connectors(
  pen: Pen,
  box: NeuronBox,
  from: number,
  rows: readonly { y: number; weight: number }[],
  accent: string,
): void {
  const [x0, x1] = [box.q + box.block + 2, box.k - 2];
  pen.strokeStyle = accent;
  for (const { y, weight } of [...rows].sort((a, b) => a.weight - b.weight)) {
    if (weight <= 0) continue;
    pen.globalAlpha = 0.12 + 0.88 * Math.sqrt(weight);
    pen.lineWidth = 0.7 + 3 * weight;
    curve(pen, x0, from, x1, y, 0.5);
  }
  pen.globalAlpha = 1;
}

/** How tall a chart of one vector is, and the numbers of neurons below the last. */
const [CHART, FOOT] = [46, 16];
export const barsHeight = (charts: readonly Chart[]): number => charts.length * CHART + FOOT;

/** Room before and after the bars. */
const [BEFORE, AFTER] = [74, 8];
/** How far along the bars a place of their chart is, from 0 to 1. */
export const barAt = (x: number, width: number): number => (x - BEFORE) / (width - BEFORE - AFTER);

/** All neurons of a query, a key and their product, as bars: one chart a vector. */
export function bars(
  pen: Pen,
  width: number,
  charts: readonly Chart[],
  neuron: number | undefined,
  theme: Theme,
  ink: (name: string) => string,
): void {
  const left = BEFORE;
  const room = width - left - AFTER;
  charts.forEach(({ name, values }, at) => {
    const middle = at * CHART + CHART / 2;
    const most = Math.max(1e-9, ...values.map(Math.abs));
    lettering(pen, "600 12px", "right");
    write(pen, ink("--ink"), name, left - 10, middle - 6);
    lettering(pen, "500 11px", "right");
    write(pen, ink("--ink3"), `±${brief(most, 2)}`, left - 10, middle + 8);
    area(pen, ink("--line2"), left, middle, room, 1);
    const step = room / values.length;
    values.forEach((x, d) => {
      const length = (x / most) * (CHART / 2 - 3);
      area(
        pen,
        tint(x >= 0 ? 0.4 + (0.5 * x) / most : -0.4 + (0.5 * x) / most, theme),
        left + d * step,
        length >= 0 ? middle - length : middle + 1,
        Math.max(0.5, step - (step > 3 ? 1 : 0)),
        Math.abs(length),
      );
    });
    if (neuron !== undefined) {
      pen.strokeStyle = ink("--ink");
      pen.lineWidth = 1;
      pen.strokeRect(left + neuron * step - 0.5, middle - CHART / 2 + 2, step + 1, CHART - 4);
    }
  });
  const size = charts[0]?.values.length ?? 0;
  lettering(pen, "500 11px", "center", "alphabetic");
  for (let d = 0; d < size; d += everyNeuron(size))
    write(pen, ink("--ink3"), String(d), left + ((d + 0.5) / size) * room, charts.length * CHART + 11);
}
