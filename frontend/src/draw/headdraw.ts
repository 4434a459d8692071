// What the head view draws: lines, strips of weights, and rails beside the two texts.

import { promptEnd } from "../scene/axis";
import { fair, received, type Shown, value } from "../scene/cut";
import { SQUARE } from "../scene/data";
import { clamp, number } from "../scene/format";
import { BEND, middle, stripRoom, stripStep } from "../scene/headlayout";
import type { Lines } from "../scene/lines";
import type { Scene } from "../scene/scene";
import { area, curve, lettering, type Pen, ratio, write } from "./canvas";
import { drawLinks, type View } from "./golddraw";
import { textWidth } from "./ruler";

/** How opaque the lines of all are beside those of what is pointed at. */
export const others = ({ focused: { from, to } }: Scene): number =>
  from === null && to === null ? 1 : from === null || to === null ? 0.07 : 0.25;
const THIN = 0.004;

/** How far the lines of a map stand from those of the first, so that several do not cover each other. */
const fan = (maps: number, map: number): number => (map - (maps - 1) / 2) * Math.min(1.6, 9 / maps);

/** Share of the scale as a byte's square. */
const share = (map: Shown, at: number): number => SQUARE[map.codes[at] ?? 0] ?? 0;

/** What it costs to draw a line, in hairlines: a stroke wider than a device pixel costs about seven. */
export function cost(maps: readonly Shown[], lines: Lines, line: number): number {
  const map = maps[lines.buffer[3 * line]!]!;
  const w = share(map, lines.buffer[3 * line + 1]! * map.columns + lines.buffer[3 * line + 2]!);
  return w < thick(maps) ? 1 : 7;
}

const thick = (maps: readonly Shown[]): number => (maps.length > 3 ? 0.3 : 0.1);

/** Lines `from` to `to` (inclusive), weakest first. */
export function drawLines(view: View, lines: Lines, from: number, to: number): void {
  const { pen, maps } = view;
  const fade = maps.length > 3 ? 0.85 : 1;
  const hair = ratio() > 1 ? 1 / ratio() : 0.8;
  const wide = thick(maps);
  for (let line = from; line <= to; line++) {
    const [m, a, b] = [lines.buffer[3 * line]!, lines.buffer[3 * line + 1]!, lines.buffer[3 * line + 2]!];
    const map = maps[m]!;
    const w = share(map, a * map.columns + b);
    pen.globalAlpha = (0.07 + 0.83 * w ** 0.55) * fade;
    pen.lineWidth = w < wide ? hair : 0.9 + 2.7 * w;
    drawLine(view, m, a, b);
  }
  pen.globalAlpha = 1;
}

function drawLine({ pen, scene, box, maps, scrolled }: View, m: number, a: number, b: number): void {
  const map = maps[m]!;
  pen.strokeStyle = scene.stroke(map, a * map.columns + b);
  const off = fan(maps.length, m);
  curve(pen, box.x0, middle(box, a, scrolled) + off, box.x1, middle(box, b, scrolled) + off, BEND);
}

/** All but the lines of what is not pointed at. */
export function drawHead(view: View): void {
  drawRails(view);
  drawFocus(view);
  drawLinks(view);
}

/** The lines of what is pointed at, and the strips beside the other side's tokens. */
function drawFocus(view: View): void {
  const { pen, scene, maps } = view;
  const { from, to } = scene.focused;
  const rows = scene.rows.items.length;
  const columns = scene.columns.items.length;
  const line = (m: number, a: number, b: number): void => {
    const map = maps[m]!;
    const w = share(map, a * columns + b);
    if (w <= Math.min(THIN, fair(map, scene.seen)[a]! / 2)) return;
    pen.globalAlpha = 0.05 + 0.95 * w ** 0.58;
    pen.lineWidth = 0.8 + 3.6 * w;
    drawLine(view, m, a, b);
  };
  if (from !== null && to !== null) maps.forEach((_, m) => line(m, from, to));
  else if (from !== null) for (let b = 0; b < columns; b++) maps.forEach((_, m) => line(m, from, b));
  else if (to !== null) for (let a = 0; a < rows; a++) maps.forEach((_, m) => line(m, a, to));
  pen.globalAlpha = 1;
  if (from !== null) strips(view, true, columns, (b) => from * columns + b);
  else if (to !== null) strips(view, false, rows, (a) => a * columns + to);
  else resting(view);
}

type Bar = {
  readonly share: number;
  readonly text: string;
  readonly color: string;
  /** Of numbers with a sign: it begins at a line in the middle, and goes to this side. */
  readonly sign?: number;
};

function strips(view: View, right: boolean, rows: number, at: (row: number) => number): void {
  const { scene } = view;
  bars(view, right, rows, false, (map, row) => {
    const place = at(row);
    const even = fair(map, scene.seen)[Math.floor(place / map.columns)]!;
    return {
      share: share(map, place),
      text: number(value(map, place), map.scale, even * map.scale),
      color: scene.stroke(map, place),
      ...(map.sign && { sign: map.sign[place]! < 0 ? -1 : 1 }),
    };
  });
}

// At rest: the mean attention each key receives, beside the largest of them and no less than four even shares.
function resting(view: View): void {
  const { scene, maps } = view;
  const means = maps.map(received);
  const most = means.reduce((found, each) => Math.max(found, 4 * mean(each), ...each.map(Math.abs)), 1e-12);
  bars(view, true, scene.columns.items.length, true, (map, b) => {
    const found = received(map)[b]!;
    return {
      share: Math.abs(found) / most,
      text: number(found, map.scale, most / 20),
      color: map.sign ? scene.colours[found < 0 ? "minus" : "plus"] : scene.color(map.head),
      ...(map.sign && { sign: found < 0 ? -1 : 1 }),
    };
  });
}

const mean = (numbers: Float32Array): number =>
  numbers.reduce((sum, x) => sum + Math.abs(x), 0) / (numbers.length || 1);

function bars(
  { pen, scene, box, maps, scrolled }: View,
  right: boolean,
  rows: number,
  faint: boolean,
  bar: (map: Shown, row: number) => Bar,
): void {
  const { ink } = scene.owner;
  const x = right ? box.x1 + box.tokens + 4 : box.stripLeft - 4;
  const width = stripRoom(box, right);
  const across = stripStep(box, right, maps.length);
  lettering(pen, "500 11px", right && !box.tiny ? "left" : "right");
  const [first, last] = [
    Math.max(0, Math.floor(scrolled / box.row) - 1),
    Math.min(rows, Math.ceil((scrolled + box.height) / box.row) + 1),
  ];
  // Beside its bar there is room for the longest number.
  const alone = maps.length === 1;
  const numbers = alone && !box.tiny ? Array.from({ length: rows }, (_, row) => bar(maps[0]!, row).text) : [];
  const beside = 5 + Math.max(25, ...numbers.map((text) => Math.ceil(textWidth(text, 11, 500))));
  for (let row = first; row < last; row++) {
    const y = middle(box, row, scrolled);
    const tall = box.row - 5;
    maps.forEach((map, m) => {
      const { share: size, text, color, sign } = bar(map, row);
      if (alone) {
        // Numbers with a sign have a line in the middle: to its right is what is positive. Where it is tiny the number
        // stands over its bar.
        const room = box.tiny ? width : width - beside;
        const edge = box.tiny && right ? x + width : x;
        const zero = sign ? Math.round((right ? x : x - room) + room / 2) : edge;
        const length = Math.max(text ? 1 : 0, (sign ? room / 2 : room) * Math.min(1, size));
        const [top, high] = box.tiny ? [y + tall / 2 - 3, 3] : [y - tall / 2, tall];
        pen.globalAlpha = 1;
        if (sign) area(pen, ink("--line2"), zero, y - box.row / 2, 1, box.row);
        pen.globalAlpha = faint ? (sign ? 0.6 : box.tiny ? 0.5 : 0.38) : 0.9;
        const left = sign ? (sign < 0 ? zero - length : zero + 1) : right && !box.tiny ? zero : zero - length;
        if (length > 0.4) area(pen, color, left, top, length, high);
        pen.globalAlpha = 1;
        const at = box.tiny ? edge : x + (right ? 1 : -1) * ((sign ? room : length) + 5);
        const dim = faint && (sign || !box.tiny);
        if (text) write(pen, ink(dim ? "--ink3" : "--ink2"), text, at, box.tiny ? y - 2 : y + 0.5);
      } else {
        const left = right ? x + m * across : x - across * (maps.length - m);
        pen.globalAlpha = 1;
        area(pen, ink("--track"), left, y - tall / 2, across - 1, tall);
        pen.globalAlpha = stripAlpha(size, faint);
        area(pen, color, left, y - tall / 2, across - 1, tall);
        if (isStriped(scene, m)) stripe(pen, left, y - tall / 2, across - 1, tall, ink("--bg"), size);
      }
    });
  }
  pen.globalAlpha = 1;
}

/** How opaque the bar of one of several heads is: what is drawn at all can be seen, on dark paper too. */
export const stripAlpha = (size: number, faint: boolean): number =>
  size < 0.002 ? 0 : (faint ? 0.8 : 1) * (0.2 + 0.8 * Math.sqrt(Math.min(1, size)));

const isStriped = (scene: Scene, map: number): boolean => (scene.heads[map] ?? 0) >= 12;

// Heads from 12 on share a hue with one before them: their bars are striped.
function stripe(pen: Pen, x: number, y: number, width: number, height: number, paper: string, size: number): void {
  if (size < 0.02) return;
  pen.globalAlpha = 0.55;
  pen.fillStyle = paper;
  for (let at = 3; at < height; at += 5) pen.fillRect(x, y + at, width, 1.5);
}

/** Hairline rails with A and B outside the tokens of each text, and a hairline where the prompt ends. */
function drawRails({ pen, scene, box, scrolled }: View): void {
  const { ink } = scene.owner;
  pen.globalAlpha = 1;
  for (const [items, left, width] of [
    [scene.rows.items, 0, box.x0],
    [scene.columns.items, box.x1, box.width - box.x1],
  ] as const) {
    const at = promptEnd(items);
    if (at < 0) continue;
    area(pen, ink("--ink3"), left, Math.round(middle(box, at, scrolled) - box.row / 2) - 0.5, width, 1);
  }
  if (box.rail === 0) return;
  lettering(pen, "600 11px", "center");
  const sides = [
    [scene.rows.items, box.x0 - 0.5, 4],
    [scene.columns.items, box.x1 - 0.5, box.width - 5],
  ] as const;
  for (const [items, inner, outer] of sides) {
    for (const { start, end, letter } of stretches(items.map((item) => item.sequence))) {
      const [y0, y1] = [
        middle(box, start, scrolled) - box.row / 2 + 2,
        middle(box, end - 1, scrolled) + box.row / 2 - 2,
      ];
      if (y1 < 0 || y0 > box.height) continue;
      area(pen, ink("--line2"), inner, y0, 1, y1 - y0);
      pen.fillRect(outer, y0, 1, y1 - y0);
      const least = Math.max(y0, 0) + 10;
      const y = clamp((y0 + y1) / 2, least, Math.max(least, Math.min(y1, box.height) - 10));
      area(pen, ink("--bg"), outer - 4, y - 9, 9, 18);
      write(pen, ink("--ink3"), letter, outer + 0.5, y + 0.5);
    }
  }
}

/** Where each text stands; tokens of none belong to the text before them, at the beginning to the first. */
export function stretches(sequences: readonly number[]): { start: number; end: number; letter: string }[] {
  const found: { start: number; end: number; letter: string }[] = [];
  let [start, current] = [0, -1];
  sequences.forEach((sequence, at) => {
    if (sequence < 0 || sequence === current) return;
    if (current >= 0) {
      found.push({ start, end: at, letter: "AB"[current] ?? "" });
      start = at;
    }
    current = sequence;
  });
  if (current >= 0) found.push({ start, end: sequences.length, letter: "AB"[current] ?? "" });
  return found;
}
