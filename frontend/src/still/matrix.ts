// A head as a matrix: tokens beside it, from (rows) by to (columns).

import { type Block, text } from "../draw/block";
import { lettering, write } from "../draw/canvas";
import { drawMarks, paintCells } from "../draw/matrixdraw";
import { enlarged, png } from "../draw/png";
import type { SvgPen } from "../draw/svg";
import { THUMB } from "../draw/tokens";
import type { Item } from "../scene/axis";
import type { Shown } from "../scene/cut";
import { clamp } from "../scene/format";
import { ofOpen } from "../scene/gold";
import { CELL, cellOf, LABELLED, windowSaid, within, type Zoom } from "../scene/matrixlayout";
import { pinnedSaid, sentence } from "../scene/says";
import type { Scene } from "../scene/scene";
import { cropWidth } from "../scene/talking";
import { goldKey } from "./goldkey";
import { scale } from "./scale";
import { areaOf, roomOf, thumbnail, token } from "./token";

/** The size of the tokens' letters, and what stands below the matrix. */
const LETTERS = 11;
const ENDS = 18;

export function matrix(scene: Scene, width: number): Block[] {
  const map = scene.shown().at(-1);
  if (!map) return [];
  const zoom = within(scene.state.zoom, map.rows, map.columns);
  const [first, rows, left, columns] = zoom;
  const items = [scene.rows.items.slice(first, first + rows), scene.columns.items.slice(left, left + columns)] as const;
  const room = items.map((side, at) => Math.max(...side.map((item) => roomOf(scene, item, LETTERS, at === 1))));
  const label = clamp(Math.ceil(Math.max(...room)) + 10, 30, 110);
  const cell = cellOf(zoom, map, width - label, Infinity, CELL);
  const [wide, tall] = [columns * cell, rows * cell];
  const every = Math.max(1, Math.ceil(LABELLED / cell));
  const said = caption(scene, map, zoom, every);
  return [
    {
      width,
      height: label + tall + ENDS,
      draw(pen) {
        pen.group(label, label, wide, tall);
        const times = enlarged(Math.max(rows, columns), Math.max(wide, tall));
        const pixels = new Uint32Array(rows * columns * times ** 2);
        paintCells(pixels, columns * times, rows * times, scene, map, zoom);
        pen.image(png(pixels, columns * times, rows * times), 0, 0, wide, tall);
        drawMarks(pen, scene, zoom, wide, tall, scene.judged().map(ofOpen));
        pen.end();
        labels(pen, scene, items, zoom, cell, every, label);
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
  [first, , left]: Zoom,
  cell: number,
  every: number,
  label: number,
): void {
  const { focus, owner } = scene;
  const most = label - 6;
  const edge = label - 4;
  const look = (at: number, chosen: number | null | undefined) => (at === chosen ? "on" : "plain");
  for (let at = 0; at < rows.length; at += every) {
    const place = { x: edge, y: label + (at + 0.5) * cell, align: "right", most, size: LETTERS } as const;
    token(pen, scene, rows[at]!, { ...place, look: look(first + at, focus?.from) });
  }
  for (let at = 0; at < columns.length; at += every) {
    const item = columns[at]!;
    const x = label + (at + 0.5) * cell;
    // A thumbnail stands upright below the name, no wider than its column.
    const area = areaOf(scene, item);
    const tall = area ? Math.min(THUMB, ((every * cell - 2) * THUMB) / cropWidth(area, THUMB)) : 0;
    const wide = area ? (tall * cropWidth(area, THUMB)) / THUMB : 0;
    if (area) thumbnail(pen, scene, area, [x - wide / 2, edge - tall, wide, tall]);
    const y = edge - (tall && tall + 4);
    pen.turn(-90, x, y);
    const place = { x, y, align: "left", most: most - (edge - y), size: LETTERS } as const;
    token(pen, scene, item, { ...place, look: look(left + at, focus?.to) }, false);
    pen.end();
  }
  pen.globalAlpha = 1;
  const below = label + rows.length * cell + ENDS - 8;
  lettering(pen, "400 11px");
  write(pen, owner.ink("--ink3"), "from ↓", 0, below);
  lettering(pen, "400 11px", "right");
  write(pen, owner.ink("--ink3"), "to →", label + columns.length * cell, below);
}
