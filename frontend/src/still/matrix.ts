// A head as a matrix: tokens beside it, from (rows) by to (columns).

import { lettering, write } from "../draw/canvas";
import { drawMarks, paintCells } from "../draw/matrixdraw";
import { enlarged, png } from "../draw/png";
import { cutTo, textWidth } from "../draw/ruler";
import type { SvgPen } from "../draw/svg";
import { type Item, name } from "../scene/axis";
import type { Shown } from "../scene/cut";
import { clamp } from "../scene/format";
import { ofOpen } from "../scene/gold";
import { CELL, cellOf, LABELLED, windowSaid, within, type Zoom } from "../scene/matrixlayout";
import { pinnedSaid, sentence } from "../scene/says";
import type { Scene } from "../scene/scene";
import { type Block, text } from "./block";
import { goldKey } from "./goldkey";
import { scale } from "./scale";

export function matrix(scene: Scene, width: number): Block[] {
  const map = scene.shown().at(-1);
  if (!map) return [];
  const zoom = within(scene.state.zoom, map.rows, map.columns);
  const [first, rows, left, columns] = zoom;
  const items = [scene.rows.items.slice(first, first + rows), scene.columns.items.slice(left, left + columns)] as const;
  const label = clamp(Math.ceil(Math.max(...items.flat().map((item) => textWidth(name(item), 11)))) + 10, 30, 110);
  const cell = cellOf(zoom, map, width - label, Infinity, CELL);
  const [wide, tall] = [columns * cell, rows * cell];
  const every = Math.max(1, Math.ceil(LABELLED / cell));
  const said = caption(scene, map, zoom, every);
  return [
    {
      width,
      height: label + tall + 1,
      draw(pen) {
        pen.group(label, label, wide, tall);
        const times = enlarged(Math.max(rows, columns), Math.max(wide, tall));
        const pixels = new Uint32Array(rows * columns * times ** 2);
        paintCells(pixels, columns * times, rows * times, scene, map, zoom);
        pen.image(png(pixels, columns * times, rows * times), 0, 0, wide, tall);
        drawMarks(pen, scene, zoom, wide, tall, scene.judged().map(ofOpen));
        pen.end();
        labels(pen, scene, items, cell, every, label);
      },
    },
    ...(said ? [text(said, width, { color: scene.owner.ink("--ink2") })] : []),
    scale(scene, width),
    ...goldKey(scene, width),
  ];
}

function caption(scene: Scene, map: Shown, zoom: Zoom, every: number): string {
  const [first, rows, left, columns] = zoom;
  const grey = map.codes.some((code, at) => {
    const [row, column] = [Math.floor(at / map.columns), at % map.columns];
    const shown = row >= first && row < first + rows && column >= left && column < left + columns;
    return code === 0 && shown && scene.hides(row, column);
  });
  const chosen = pinnedSaid(scene);
  const said = [
    (rows < map.rows || columns < map.columns) && windowSaid(zoom, map),
    every > 1 && `one of ${every} tokens is named`,
    grey && "grey: a query cannot see the key",
    chosen && `framed: ${chosen}`,
  ];
  return sentence(said);
}

function labels(
  pen: SvgPen,
  scene: Scene,
  [rows, columns]: readonly [readonly Item[], readonly Item[]],
  cell: number,
  every: number,
  label: number,
): void {
  const { ink } = scene.owner;
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
