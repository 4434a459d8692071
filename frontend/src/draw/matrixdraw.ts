// A matrix as cells, and what lies over them: where texts end, gold links, and frames around what is pointed at.

import { breaks } from "../scene/axis";
import { PALETTES, rgba } from "../scene/color";
import type { Shown } from "../scene/cut";
import type { Judged } from "../scene/gold";
import type { Zoom } from "../scene/matrixlayout";
import type { Scene } from "../scene/scene";
import { type Pen, paint } from "./canvas";
import { drawCells } from "./golddraw";

/** The cells of a window as so many pixels; pairs that cannot be seen are grey, not the colour of a weight of 0. */
export function paintCells(
  pixels: Uint32Array,
  width: number,
  height: number,
  scene: Scene,
  map: Shown,
  [row, rows, column, columns]: Zoom,
): void {
  const { ink, theme } = scene.owner;
  const palette = map.sign ? PALETTES[theme].diverging : PALETTES[theme].sequential;
  const window = { codes: map.codes, width: map.columns, row, rows, column, columns };
  paint({ data: pixels, stride: width }, 0, 0, width, height, window, palette, map.sign);
  const grey = rgba(ink("--line"));
  const edge = (at: number, size: number, count: number): number => Math.ceil((at * size) / count);
  for (let a = 0; a < rows; a++) {
    const [top, bottom] = [edge(a, height, rows), edge(a + 1, height, rows)];
    if (top === bottom) continue; // of many tokens not each has a pixel
    for (let b = 0; b < columns; b++) {
      const [left, right] = [edge(b, width, columns), edge(b + 1, width, columns)];
      if (left === right) continue;
      if (map.codes[(row + a) * map.columns + column + b] !== 0 || !scene.hides(row + a, column + b)) continue;
      for (let y = top; y < bottom; y++) pixels.fill(grey, y * width + left, y * width + right);
    }
  }
}

/** Over the window of a matrix that is so wide and tall. */
export function drawMarks(
  pen: Pen,
  scene: Scene,
  [first, rows, left, columns]: Zoom,
  width: number,
  height: number,
  links: readonly Judged[],
): void {
  const { focus, owner } = scene;
  const { ink } = owner;
  const [tall, wide] = [height / rows, width / columns];
  pen.globalAlpha = 1;
  pen.fillStyle = ink("--line2");
  for (let a = Math.max(1, first); a < first + rows; a++) {
    if (breaks(scene.rows.items, a)) pen.fillRect(0, Math.round((a - first) * tall) - 0.5, width, 1);
  }
  for (let b = Math.max(1, left); b < left + columns; b++) {
    if (breaks(scene.columns.items, b)) pen.fillRect(Math.round((b - left) * wide) - 0.5, 0, 1, height);
  }
  drawCells(pen, ink, { x: 0, y: 0, wide, tall, row: first, rows, column: left, columns }, links);
  if (!focus) return;
  pen.strokeStyle = ink("--ink");
  pen.lineWidth = 1;
  const [a, b] = [focus.from === null ? -1 : focus.from - first, focus.to === null ? -1 : focus.to - left];
  if (a >= 0 && a < rows) pen.strokeRect(0.5, Math.round(a * tall) - 0.5, width - 1, Math.max(2, Math.round(tall)) + 1);
  if (b >= 0 && b < columns)
    pen.strokeRect(Math.round(b * wide) - 0.5, 0.5, Math.max(2, Math.round(wide)) + 1, height - 1);
}
