// A head neuron by neuron: q, k and their product for one query, the score and its softmax, and all numbers below.

import { type Block, text } from "../draw/block";
import { lettering, write } from "../draw/canvas";
import { bars, barsHeight, drawRow, GAP, tinted } from "../draw/neurondraw";
import { png } from "../draw/png";
import { textWidth } from "../draw/ruler";
import type { SvgPen } from "../draw/svg";
import { widest } from "../draw/tokens";
import { name } from "../scene/axis";
import { PALETTES } from "../scene/color";
import type { NeuronBox } from "../scene/neuronlayout";
import { type Head, Neurons, type Row, SIGNS, strength, type Words } from "../scene/neurons";
import type { Scene } from "../scene/scene";
import { span } from "../scene/scores";
import { goldKey } from "./goldkey";
import { column } from "./token";

/** The room above the blocks for what they are. */
const HEADS = 34;

export function neurons(scene: Scene, width: number): Block[] {
  const open = Neurons.of(scene);
  const row = open?.row();
  if (!open || !row) return [];
  const { ink } = scene.owner;
  const { rows, columns } = scene;
  const box = open.box({ width, widest: widest(rows.items, columns.items), tallest: Infinity, paper: true });
  const end = Math.max(box.right + box.tokens, box.v && box.v + box.block, box.norm + box.normWidth);
  if (end > width) throw new Error(`neurons need ${inches(end - width)} inches more of width`);
  const soft = { color: ink("--ink2"), size: 11 };
  const found: Block[] = [];
  const notes = open.notes().join(" ");
  if (notes) found.push(text(notes, width, soft));
  found.push(signs(scene, width), {
    width,
    height: HEADS + box.full,
    draw(pen) {
      above(pen, scene, box, open.heads(box));
      pen.group(0, HEADS, width, box.full);
      for (const { name, vectors, scale } of open.blocks()) block(pen, scene, box, box[name], vectors, scale);
      block(pen, scene, box, box.product, row.products, span(row.products));
      drawRow(pen, scene, box, row, open.links(row.query), [0, open.rows], box.full, 0);
      tokens(pen, scene, box, row);
      pen.end();
    },
  });
  const looks = open.looks(row);
  const to = looks && columns.items[scene.pinned?.to ?? looks.best];
  if (!looks || !to) return found;
  const { title, charts } = open.charts(looks.from, to);
  return [
    ...found,
    text(plain(looks.said), width, soft),
    text(plain(title), width, { color: ink("--ink"), weight: 600 }),
    { width, height: barsHeight(charts), draw: (pen) => bars(pen, width, charts, undefined, scene.owner.theme, ink) },
    ...goldKey(scene, width),
  ];
}

const plain = (said: Words): string => said.map((one) => (typeof one === "string" ? one : name(one))).join("");

/** What the colours mean. */
function signs({ owner: { ink, theme } }: Scene, width: number): Block {
  return {
    width,
    height: 14,
    draw(pen) {
      lettering(pen, "400 11px");
      write(pen, ink("--ink3"), SIGNS[0], 0, 7);
      pen.image(png(PALETTES[theme].diverging, 256, 1), 56, 3, 96, 8);
      write(pen, ink("--ink3"), SIGNS[1], 160, 7);
    },
  };
}

// What the blocks are; where there is little room the second line of one gives way to that of the one before.
function above(pen: SvgPen, { owner: { ink } }: Scene, box: NeuronBox, heads: readonly Head[]): void {
  let end = -Infinity;
  for (const { x, width, title, below } of heads) {
    const middle = x + width / 2;
    lettering(pen, `600 ${box.narrow ? 11 : 12.5}px`, "center");
    write(pen, ink("--ink"), title, middle, 7.5);
    const half = textWidth(below, 10.5) / 2;
    if (middle - half < end + 3) continue;
    end = middle + half;
    lettering(pen, "400 10.5px", "center");
    write(pen, ink("--ink3"), below, middle, 22.5);
  }
}

/** Each neuron, or each pixel where it is narrower, as a few of the file's: a reader that smooths shows edges. */
const TIMES = 4;

function block(pen: SvgPen, scene: Scene, box: NeuronBox, x: number, vectors: Row["products"], scale: number): void {
  const { pixels, columns } = tinted(vectors, scale, scene.owner.theme, 2 * box.block);
  if (columns === 0) return;
  // A row has as many lines as it has pixels, or half as many; above and below its cells it is empty.
  const by = box.row % 2 === 0 ? 2 : 1;
  const [lines, gap] = [box.row / by, GAP / by];
  const across = columns * TIMES > 4 * box.block ? 1 : TIMES;
  const wide = columns * across;
  const all = new Uint32Array(wide * lines * vectors.length);
  vectors.forEach((_, row) => {
    const first = (row * lines + gap) * wide;
    for (let c = 0; c < wide; c++) all[first + c] = pixels[row * columns + Math.floor(c / across)]!;
    for (let line = 1; line < lines - 2 * gap; line++) all.copyWithin(first + line * wide, first, first + wide);
  });
  pen.image(png(all, wide, lines * vectors.length), x, 0, box.block, box.row * vectors.length);
}

// The tokens on both sides: queries end where their blocks begin, keys begin after the softmax.
function tokens(pen: SvgPen, scene: Scene, box: NeuronBox, row: Row): void {
  const { rows, columns, pinned } = scene;
  const { tokens: most, right: x, row: tall, letter: size, inset } = box;
  const place = { most, row: tall, size, inset };
  column(pen, scene, rows.items, { ...place, x: most, align: "right" }, pinned?.from, row.query);
  column(pen, scene, columns.items, { ...place, x, align: "left" }, pinned?.to, -1, (at) => strength(row, at));
  pen.globalAlpha = 1;
  lettering(pen, `400 ${size}px`);
  if (row.sink) write(pen, scene.owner.ink("--ink3"), "sink", x + inset, (columns.items.length + 0.5) * tall);
}

/** Pixels in inches, rounded up to tenths. */
const inches = (pixels: number): number => Math.ceil(pixels / 9.6) / 10;
