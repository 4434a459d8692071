// A head as a matrix: tokens beside it, from (rows) by to (columns).

import { area, lettering, paint, write } from "../draw/canvas";
import { drawCells } from "../draw/golddraw";
import { enlarged, png } from "../draw/png";
import { cutTo, textWidth } from "../draw/ruler";
import type { SvgPen } from "../draw/svg";
import { breaks, type Item, name } from "../scene/axis";
import { PALETTES, rgba } from "../scene/color";
import type { Shown } from "../scene/cut";
import { clamp } from "../scene/format";
import { ofOpen } from "../scene/gold";
import { CELL, LABELLED, within } from "../scene/matrixlayout";
import type { Scene } from "../scene/scene";
import type { Block } from "./block";
import { scale } from "./scale";

export function matrix(scene: Scene, width: number): Block[] {
  const map = scene.shown().at(-1);
  if (!map) return [];
  const zoom = within(scene.state.zoom, map.rows, map.columns);
  const [first, rows, left, columns] = zoom;
  const items = [scene.rows.items.slice(first, first + rows), scene.columns.items.slice(left, left + columns)] as const;
  const label = clamp(Math.ceil(Math.max(...items.flat().map((item) => textWidth(name(item), 11)))) + 10, 30, 110);
  const cell = Math.min((width - label) / columns, CELL);
  const [wide, tall] = [columns * cell, rows * cell];
  return [
    {
      width,
      height: label + tall + 1,
      draw(pen) {
        pen.group(label, label, wide, tall);
        cells(pen, scene, map, zoom, wide, tall);
        const links = scene.judged().map(ofOpen);
        drawCells(
          pen,
          scene.owner.ink,
          { x: 0, y: 0, wide: cell, tall: cell, row: first, rows, column: left, columns },
          links,
        );
        pen.end();
        labels(pen, scene, items, cell, label);
      },
    },
    scale(scene, width),
  ];
}

function cells(
  pen: SvgPen,
  scene: Scene,
  map: Shown,
  [first, rows, left, columns]: readonly [number, number, number, number],
  wide: number,
  tall: number,
): void {
  const { ink, theme } = scene.owner;
  const palette = PALETTES[theme];
  const times = enlarged(Math.max(rows, columns), Math.max(wide, tall));
  const [w, h] = [columns * times, rows * times];
  const pixels = new Uint32Array(w * h);
  const window = { codes: map.codes, width: map.columns, row: first, rows, column: left, columns };
  paint({ data: pixels, stride: w }, 0, 0, w, h, window, map.sign ? palette.diverging : palette.sequential, map.sign);
  // Pairs that cannot be seen are grey, not the colour of a weight of 0.
  const grey = rgba(ink("--line"));
  for (let a = 0; a < rows; a++) {
    for (let b = 0; b < columns; b++) {
      if (map.codes[(first + a) * map.columns + left + b] !== 0 || !scene.hides(first + a, left + b)) continue;
      for (let y = a * times; y < (a + 1) * times; y++) pixels.fill(grey, y * w + b * times, y * w + (b + 1) * times);
    }
  }
  pen.image(png(pixels, w, h), 0, 0, wide, tall);
  pen.globalAlpha = 1;
  for (let a = 1; a < rows; a++)
    if (breaks(scene.rows.items, first + a)) area(pen, ink("--line2"), 0, Math.round((a * tall) / rows) - 0.5, wide, 1);
  for (let b = 1; b < columns; b++)
    if (breaks(scene.columns.items, left + b))
      area(pen, ink("--line2"), Math.round((b * wide) / columns) - 0.5, 0, 1, tall);
}

function labels(
  pen: SvgPen,
  scene: Scene,
  [rows, columns]: readonly [readonly Item[], readonly Item[]],
  cell: number,
  label: number,
): void {
  const { ink } = scene.owner;
  const every = Math.max(1, Math.ceil(LABELLED / cell));
  pen.globalAlpha = 1;
  const put = (item: Item, x: number, y: number): void =>
    write(pen, ink(item.special ? "--ink3" : "--ink"), cutTo(name(item), label - 6, 11), x, y);
  for (let at = 0; at < rows.length; at += every) {
    lettering(pen, "400 11px", "right", "middle");
    put(rows[at]!, label - 4, label + (at + 0.5) * cell);
  }
  for (let at = 0; at < columns.length; at += every) {
    const x = label + (at + 0.5) * cell;
    lettering(pen, "400 11px", "left", "middle");
    pen.turn(-90, x, label - 4);
    put(columns[at]!, x, label - 4);
    pen.end();
  }
  lettering(pen, "500 10px", "left", "middle");
  write(pen, ink("--ink3"), "from ↓ to →", 0, 6);
}
