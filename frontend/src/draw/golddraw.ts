// Gold links over the pictures: solid with a tick where the head looks at a target, dashed where it does not, with a
// cross on what it looks at instead.

import type { Box } from "../scene/areas";
import { type Item, name } from "../scene/axis";
import type { Shown } from "../scene/cut";
import { concerns, type Gold, instead, type Judged, runs } from "../scene/gold";
import { BEND, type HeadBox, middle } from "../scene/headlayout";
import type { GoldSays } from "../scene/says";
import type { Scene } from "../scene/scene";
import type { Pen, Window } from "./canvas";
import { tokenWidth } from "./ruler";

const [DASH, SPACE] = [4, 3];

type Ink = (name: string) => string;

const wrongFirst = <T extends { readonly right: boolean }>(links: readonly T[]): T[] =>
  [...links].sort((a, b) => Number(a.right) - Number(b.right));

type Points = readonly (readonly [number, number])[];

// A line through points, whole or dashed; pens that write SVG know no dashes of their own.
function path(pen: Pen, points: Points, dashed: boolean): void {
  pen.beginPath();
  let [gone, down] = [0, false];
  points.forEach(([x, y], at) => {
    const before = points[at - 1];
    if (!before || !dashed) {
      if (before) pen.lineTo(x, y);
      else pen.moveTo(x, y);
      return;
    }
    const [dx, dy] = [x - before[0], y - before[1]];
    const length = Math.hypot(dx, dy);
    for (let from = 0; from < length; ) {
      const place = gone % (DASH + SPACE);
      const drawn = place < DASH;
      const to = Math.min(length, from + (drawn ? DASH - place : DASH + SPACE - place));
      if (drawn && !down) pen.moveTo(before[0] + (dx * from) / length, before[1] + (dy * from) / length);
      if (drawn) pen.lineTo(before[0] + (dx * to) / length, before[1] + (dy * to) / length);
      down = drawn && to === length;
      gone += to - from + 1e-6;
      from = to + 1e-6;
    }
  });
  pen.stroke();
}

// Lines twice: first in the colour of the paper, so that they can be seen on any ground.
function stroke(
  pen: Pen,
  ink: Ink,
  right: boolean,
  width: number,
  lines: readonly Points[],
  dashed = false,
  halo = 1,
): void {
  pen.globalAlpha = halo;
  pen.strokeStyle = ink("--bg");
  pen.lineWidth = width + 2;
  for (const line of lines) path(pen, line, false);
  pen.globalAlpha = 1;
  pen.strokeStyle = ink(right ? "--right" : "--wrong");
  pen.lineWidth = width;
  for (const line of lines) path(pen, line, dashed);
}

const frame = (x: number, y: number, width: number, height: number): [number, number][] => [
  [x, y],
  [x + width, y],
  [x + width, y + height],
  [x, y + height],
  [x, y],
];

const tick = (pen: Pen, ink: Ink, x: number, y: number, size: number): void =>
  stroke(pen, ink, true, 1.6, [
    [
      [x - size, y],
      [x - size * 0.25, y + size * 0.75],
      [x + size, y - size * 0.75],
    ],
  ]);

const cross = (pen: Pen, ink: Ink, x: number, y: number, size: number): void =>
  stroke(pen, ink, false, 1.6, [
    [
      [x - size, y - size],
      [x + size, y + size],
    ],
    [
      [x - size, y + size],
      [x + size, y - size],
    ],
  ]);

/** Where a matrix stands: the size of a cell, and the first row and column that are shown. */
interface CellBox extends Pick<Window, "row" | "rows" | "column" | "columns"> {
  readonly x: number;
  readonly y: number;
  readonly wide: number;
  readonly tall: number;
}

/** Cells smaller than this, in pixels, have no room for a tick. */
const ROOMY = 11;
/** Below this a frame is a dot: filled where the head is right, hollow where it is not. */
const TINY = 8;
/** The side of such a dot. */
const DOT = 5;

/** The cells of links as outlines; of what is looked at instead a cross. */
export function drawCells(pen: Pen, ink: Ink, box: CellBox, links: readonly Judged[]): void {
  const cell = Math.min(box.wide, box.tall);
  const inside = (row: number, column: number): boolean =>
    row >= box.row && row < box.row + box.rows && column >= box.column && column < box.column + box.columns;
  const at = (row: number, column: number): [number, number] => [
    box.x + (column - box.column) * box.wide,
    box.y + (row - box.row) * box.tall,
  ];
  for (const link of wrongFirst(links)) {
    const { gold, right } = link;
    const cells = gold.targets.flatMap((target) => blocks(gold, target));
    for (const [row, rows, column, columns] of cells) {
      if (!inside(row, column)) continue;
      const [x, y] = at(row, column);
      const [width, height] = [box.wide * columns, box.tall * rows];
      if (cell < TINY) {
        const dot = frame(x + width / 2 - DOT / 2, y + height / 2 - DOT / 2, DOT, DOT);
        stroke(pen, ink, right, 1, [dot], false, right ? 1 : 0);
        pen.fillStyle = ink("--right");
        if (right) pen.fillRect(...dot[0]!, DOT, DOT);
        continue;
      }
      stroke(pen, ink, right, 1.6, [frame(x + 0.5, y + 0.5, width - 1, height - 1)], !right);
      if (right && cell >= ROOMY) tick(pen, ink, x + width - 1.5, y + 2.5, Math.min(4, cell / 4));
    }
    if (cell < DOT) continue;
    for (const chosen of instead(link)) {
      for (const [row, rows, column, columns] of blocks(gold, chosen)) {
        if (!inside(row, column)) continue;
        const [x, y] = at(row, column);
        cross(pen, ink, x + (box.wide * columns) / 2, y + (box.tall * rows) / 2, Math.min(4, cell / 4));
      }
    }
  }
}

// A link's source by one of its candidates, as blocks: row, rows, column, columns.
function blocks(gold: Gold, other: readonly number[]): [number, number, number, number][] {
  const [rows, columns] = ends(gold, other).map(runs) as [[number, number][], [number, number][]];
  return rows.flatMap(([r0, r1]) =>
    columns.map(([c0, c1]): [number, number, number, number] => [r0, r1 - r0, c0, c1 - c0]),
  );
}

// The queries and the keys of a link to one of its targets.
const ends = ({ side, source }: Gold, target: readonly number[]): [readonly number[], readonly number[]] =>
  side === "from" ? [source, target] : [target, source];

/** Links of a thumbnail that is drawn as lines. */
export function drawThumbLinks(
  pen: Pen,
  ink: Ink,
  box: { x: number; y: number; size: number; rows: number; columns: number },
  links: readonly Judged[],
): void {
  const y = (places: readonly number[], count: number): number => box.y + ((mean(places) + 0.5) / count) * box.size;
  for (const { gold, right } of wrongFirst(links)) {
    for (const target of gold.targets) {
      const [from, to] = ends(gold, target);
      stroke(
        pen,
        ink,
        right,
        right ? 1.4 : 0.8,
        [
          [
            [box.x, y(from, box.rows)],
            [box.x + box.size, y(to, box.columns)],
          ],
        ],
        !right,
        right ? 0.8 : 0,
      );
    }
  }
}

const mean = (places: readonly number[]): number => places.reduce((sum, place) => sum + place, 0) / places.length;

/** A head view: with what and where it is drawn, the open heads, and how far it is scrolled. */
export interface View {
  readonly pen: Pen;
  readonly scene: Scene;
  readonly box: HeadBox;
  readonly maps: readonly Shown[];
  readonly scrolled: number;
}

/** The curve of the head view from a row to a column, as points. */
function curve(x0: number, y0: number, x1: number, y1: number): [number, number][] {
  const steps = 40;
  return Array.from({ length: steps + 1 }, (_, step) => {
    const t = step / steps;
    const u = 1 - t;
    const across = 3 * u * u * t * BEND + 3 * u * t * t * (1 - BEND) + t ** 3;
    return [x0 + (x1 - x0) * across, y0 + (y1 - y0) * (3 * u * t * t + t ** 3)];
  });
}

/**
 * Links between the columns of tokens: their tokens as outlines, a curve between them, a tick or a cross at its end.
 */
export function drawLinks({ pen, scene, box, scrolled }: View): void {
  const { ink } = scene.owner;
  const y = (places: readonly number[]): number => middle(box, mean(places), scrolled);
  const seen = (at: number): boolean => at > -20 && at < box.height + 20;
  const found = wrongFirst(scene.judged().filter(({ gold }) => concerns(gold, scene.focus)));
  for (const { gold, right } of found) {
    for (const target of gold.targets) {
      const [from, to] = ends(gold, target).map(y) as [number, number];
      if (seen(from) || seen(to)) stroke(pen, ink, right, 1.4, [curve(box.x0, from, box.x1, to)], !right, 0.75);
    }
  }
  outlines(
    pen,
    scene,
    found,
    { left: box.x0, right: box.x1, most: box.tokens, row: box.row, height: box.height },
    scrolled,
  );
  // A mark stands at the end that the source is joined to, ticks nearer than crosses.
  for (const link of found) {
    const { gold, right } = link;
    const end = (inset: number): number => (gold.side === "from" ? box.x1 - inset : box.x0 + inset);
    if (right)
      for (const { right: hit, chosen } of link.verdicts) if (hit && chosen) tick(pen, ink, end(9), y(chosen), 4);
    for (const chosen of instead(link)) cross(pen, ink, end(22), y(chosen), 3.4);
  }
}

/** The regions of links in a part of one side's picture, and a tick or a cross on the area that is looked at. */
export function drawRegions(
  pen: Pen,
  ink: Ink,
  [left, top, right, bottom]: Box,
  scale: number,
  side: Gold["side"],
  boxes: readonly (Box | null)[],
  links: readonly Judged[],
): void {
  const found = wrongFirst(links.filter(({ gold }) => gold.outlines));
  const inside = (x: number, y: number): boolean => x >= left && x <= right && y >= top && y <= bottom;
  for (const { gold, right } of found) {
    for (const { side: own, points } of gold.outlines ?? []) {
      if (own !== side) continue;
      const corners = points.flatMap((x, at): [number, number][] =>
        at % 2 ? [] : [[x * scale, points[at + 1]! * scale]],
      );
      const [x, y] = [0, 1].map((side) => mean(corners.map((corner) => corner[side]!))) as [number, number];
      if (inside(x, y)) stroke(pen, ink, right, 1.8, [corners], !right, 0.9);
    }
  }
  for (const { gold, verdicts } of found) {
    if (gold.side === side) continue;
    for (const { right, chosen } of verdicts) {
      for (const box of (chosen ?? []).map((place) => boxes[place] ?? null)) {
        if (!box) continue;
        const [x, y] = [((box[0] + box[2]) / 2) * scale, ((box[1] + box[3]) / 2) * scale];
        if (inside(x, y)) (right ? tick : cross)(pen, ink, x, y, 4);
      }
    }
  }
}

/** A tick at the token that is looked at, or a cross: in the neuron view, which has no lines. */
export function markTokens(pen: Pen, scene: Scene, link: Judged, box: Columns, scrolled: number): void {
  const { ink } = scene.owner;
  const y = (places: readonly number[]): number => (mean(places) + 0.5) * box.row - scrolled;
  // After the longest of its tokens; where these are cut, over their end.
  const x = (places: readonly number[]): number =>
    box.right + Math.min(box.most - 8, 4 + Math.max(...places.map((place) => wide(box, scene.columns.items[place]))));
  for (const { right, chosen } of link.verdicts) {
    if (!chosen) continue;
    if (right) tick(pen, ink, x(chosen) + 4, y(chosen), 4);
    else cross(pen, ink, x(chosen) + 4, y(chosen), 3.4);
  }
}

/** Where two columns of tokens stand: left tokens end at `left`, right ones begin at `right`. */
interface Columns {
  readonly left: number;
  readonly right: number;
  readonly most: number;
  readonly row: number;
  readonly height: number;
  /** Of their letters, and the room on both sides of these: 13 and 7 where it is not said. */
  readonly letter?: number;
  readonly inset?: number;
}

// How wide a token is in its column, with the room on both sides.
const wide = ({ letter = 13, inset = 7 }: Columns, item: Item | undefined): number =>
  (tokenWidth(name(item)) * letter) / 13 + 2 * inset;

interface Marked {
  readonly places: readonly number[];
  readonly right: boolean;
}

/** Outlines of the tokens that links name: solid where one of them is right. */
export function outlines(pen: Pen, scene: Scene, links: readonly Judged[], box: Columns, scrolled: number): void {
  const { ink } = scene.owner;
  // Each source and each target once; right where one of its links is.
  const [rows, columns] = [new Map<string, Marked>(), new Map<string, Marked>()];
  const add = (to: Map<string, Marked>, places: readonly number[], right: boolean): void =>
    void to.set(places.join(), { places, right: right || to.get(places.join())?.right === true });
  for (const { gold, right } of links) {
    const [own, other] = gold.side === "from" ? [rows, columns] : [columns, rows];
    add(own, gold.source, right);
    for (const target of gold.targets) add(other, target, right);
  }
  for (const [marked, items, left] of [
    [rows, scene.rows.items, true],
    [columns, scene.columns.items, false],
  ] as const) {
    for (const { places, right } of wrongFirst([...marked.values()])) {
      for (const [first, last] of runs(places)) {
        const top = first * box.row - scrolled;
        const height = (last - first) * box.row;
        if (top + height < 0 || top > box.height) continue;
        const widths = items.slice(first, last).map((item) => wide(box, item));
        const width = Math.min(box.most, Math.max(...widths));
        stroke(
          pen,
          ink,
          right,
          1.3,
          [frame(left ? box.left - width : box.right, top + 1.5, width, height - 3)],
          !right,
          0,
        );
      }
    }
  }
}

/** A legend's picture of 22 × 14 pixels. */
export function drawSwatch(pen: Pen, ink: Ink, swatch: NonNullable<GoldSays["swatch"]>): void {
  if (swatch === "instead") return cross(pen, ink, 11, 7, 3.4);
  stroke(pen, ink, swatch === "right", 1.4, [frame(2, 2, 16, 10)], swatch === "wrong", 0);
  if (swatch === "right") tick(pen, ink, 17, 4, 3.4);
}
