// What the neuron view draws: blocks of neurons in blue and orange, scores, softmax.

import { css, PALETTES, type Theme } from "../scene/color";
import { bare, brief, fixed, weight as short, significant } from "../scene/format";
import { everyNeuron, type NeuronBox } from "../scene/neuronlayout";
import { area, curve, FONT, lettering, type Pen, ratio, surface, write } from "./canvas";

const clip = (x: number): number => Math.max(-1, Math.min(1, x));

/** A colour of the diverging palette for a share from -1 to 1. */
export const tint = (share: number, theme: Theme): string =>
  css(PALETTES[theme].diverging[Math.round(127.5 + 127.5 * clip(share))]!);

/** Vectors as rows of cells; `null` leaves a row empty. One image, scaled without smoothing. */
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
  const size = vectors.find((each) => each !== null)?.length ?? 0;
  if (size === 0) return;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [size, vectors.length];
  const small = canvas.getContext("2d");
  if (!small) return;
  const image = small.createImageData(size, vectors.length);
  const pixels = new Uint32Array(image.data.buffer);
  const lut = PALETTES[theme].diverging;
  vectors.forEach((each, row) => {
    if (each)
      for (let d = 0; d < size; d++) pixels[row * size + d] = lut[Math.round(127.5 + 127.5 * clip(each[d]! / scale))]!;
  });
  small.putImageData(image, 0, 0);
  // Neurons narrower than a pixel are averaged, wider ones keep their edges.
  context.imageSmoothingEnabled = box.block * ratio() < size;
  vectors.forEach((each, row) => {
    if (each)
      context.drawImage(canvas, 0, row, size, 1, x, (first + row) * box.row + 2 - scrolled, box.block, box.row - 4);
  });
}

export interface RowNumbers {
  readonly score: number;
  readonly weight: number;
  readonly masked: boolean;
  readonly norm: number | null;
}

/** Score, softmax and norm of one key. */
export function numbers(
  pen: Pen,
  box: NeuronBox,
  y: number,
  row: RowNumbers,
  top: { score: number; norm: number },
  theme: Theme,
  ink: (name: string) => string,
  accent: string,
): void {
  lettering(pen, "500 11px", "right", "middle");
  if (box.narrow) return narrowNumbers(pen, box, y, row, top, theme, ink, accent);
  if (row.masked) {
    write(pen, ink("--ink3"), "not seen", box.dot + box.dotWidth + 6, y + 0.5);
    return;
  }
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
  area(pen, accent, box.soft + box.softWidth - 4 - bar, y - 6, bar, 12);
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
}

const scoreText = (score: number): string => fixed(score, Math.abs(score) >= 100 ? 0 : 1);
const normText = (norm: number, most: number): string => (norm < most * 0.005 ? "·" : bare(significant(norm, 2)));

// The same where there is little room: each number over its bar.
function narrowNumbers(
  pen: Pen,
  box: NeuronBox,
  y: number,
  row: RowNumbers,
  top: { score: number; norm: number },
  theme: Theme,
  ink: (name: string) => string,
  accent: string,
): void {
  const put = (text: string, x: number, width: number, share: number, color: string, faint: boolean): void => {
    write(pen, ink(faint ? "--ink3" : "--ink2"), text, x + width, y - 1);
    const bar = width * Math.min(1, share);
    area(pen, color, x + width - bar, y + box.row / 2 - 3.5, bar, 2.5);
  };
  if (row.masked) {
    pen.fillStyle = ink("--ink3");
    return pen.fillText("–", box.dot + box.dotWidth, y - 1);
  }
  put(
    scoreText(row.score),
    box.dot,
    box.dotWidth,
    Math.abs(row.score) / top.score,
    tint(row.score >= 0 ? 0.76 : -0.76, theme),
    false,
  );
  put(short(row.weight), box.soft, box.softWidth, row.weight, accent, row.weight < 0.005);
  if (row.norm !== null)
    put(normText(row.norm, top.norm), box.norm, box.normWidth, row.norm / top.norm, ink("--ink3"), false);
}

/** From the query to the keys it looks at. */
export function connectors(
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

/** All neurons of a query, a key and their product, as bars: one chart a vector. */
export function bars(
  canvas: HTMLCanvasElement,
  width: number,
  charts: readonly { name: string; values: Float32Array }[],
  neuron: number | undefined,
  theme: Theme,
  ink: (name: string) => string,
): void {
  const tall = 46;
  const context = surface(canvas, width, charts.length * tall + 16);
  const [left, right] = [74, 8];
  const room = width - left - right;
  charts.forEach(({ name, values }, at) => {
    const middle = at * tall + tall / 2;
    const most = Math.max(1e-9, ...values.map(Math.abs));
    lettering(context, "550 12px", "right", "middle");
    write(context, ink("--ink"), name, left - 10, middle - 6);
    context.font = `500 9.5px ${FONT}`;
    write(context, ink("--ink3"), `±${brief(most, 2)}`, left - 10, middle + 8);
    area(context, ink("--line2"), left, middle, room, 1);
    const step = room / values.length;
    values.forEach((x, d) => {
      const length = (x / most) * (tall / 2 - 3);
      area(
        context,
        tint(x >= 0 ? 0.4 + (0.5 * x) / most : -0.4 + (0.5 * x) / most, theme),
        left + d * step,
        length >= 0 ? middle - length : middle + 1,
        Math.max(0.5, step - (step > 3 ? 1 : 0)),
        Math.abs(length),
      );
    });
    if (neuron !== undefined) {
      context.strokeStyle = ink("--ink");
      context.strokeRect(left + neuron * step - 0.5, middle - tall / 2 + 2, step + 1, tall - 4);
    }
  });
  const size = charts[0]?.values.length ?? 0;
  lettering(context, "500 9.5px", "center", "alphabetic");
  context.fillStyle = ink("--ink3");
  for (let d = 0; d < size; d += everyNeuron(size))
    context.fillText(String(d), left + ((d + 0.5) / size) * room, charts.length * tall + 11);
}
