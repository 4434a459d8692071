// What a still is made of: blocks that stand under or beside one another.

import { lettering, write } from "./canvas";
import { wrap } from "./ruler";
import type { SvgPen } from "./svg";

/** A part of a still, in pixels; it draws from its own corner. */
export interface Block {
  readonly width: number;
  readonly height: number;
  draw(pen: SvgPen): void;
}

/** Blocks under one another. */
export function stack(blocks: readonly Block[], gap = 8): Block {
  const tops: number[] = [];
  let height = 0;
  for (const block of blocks) {
    if (tops.length > 0) height += gap;
    tops.push(height);
    height += block.height;
  }
  return {
    width: Math.max(0, ...blocks.map((block) => block.width)),
    height,
    draw: (pen) => blocks.forEach((block, at) => placed(pen, block, 0, tops[at]!)),
  };
}

/** Blocks beside one another. */
export function row(blocks: readonly Block[], gap: number): Block {
  const lefts = blocks.map((_, at) => blocks.slice(0, at).reduce((sum, block) => sum + block.width + gap, 0));
  return {
    width: (lefts.at(-1) ?? 0) + (blocks.at(-1)?.width ?? 0),
    height: Math.max(0, ...blocks.map((block) => block.height)),
    draw: (pen) => blocks.forEach((block, at) => placed(pen, block, lefts[at]!, 0)),
  };
}

export function placed(pen: SvgPen, block: Block, x: number, y: number): void {
  pen.group(x, y);
  block.draw(pen);
  pen.end();
}

interface Lettering {
  readonly color: string;
  readonly size?: number;
  readonly weight?: 400 | 500 | 600;
}

/** Text in as many lines as it needs; none for none. */
export function text(said: string, width: number, { color, size = 12, weight = 400 }: Lettering): Block {
  const lines = said ? wrap(said, width, size, weight) : [];
  const tall = Math.round(1.4 * size);
  return {
    width,
    height: lines.length * tall,
    draw: (pen) => {
      pen.globalAlpha = 1;
      lettering(pen, `${weight} ${size}px`);
      lines.forEach((line, at) => write(pen, color, line, 0, (at + 0.5) * tall));
    },
  };
}

/** Blocks beside one another in as many lines as they need. */
export function flow(blocks: readonly Block[], width: number, gap: number, between = gap): Block {
  const places: (readonly [x: number, y: number])[] = [];
  let [x, y, tall] = [0, 0, 0];
  for (const block of blocks) {
    if (x > 0 && x + block.width > width) [x, y, tall] = [0, y + tall + between, 0];
    places.push([x, y]);
    x += block.width + gap;
    tall = Math.max(tall, block.height);
  }
  return { width, height: y + tall, draw: (pen) => blocks.forEach((block, at) => placed(pen, block, ...places[at]!)) };
}
