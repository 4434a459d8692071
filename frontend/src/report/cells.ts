// A picture of all heads: layers down, heads across.

import type { Pen } from "../draw/canvas";
import { fit } from "../ui/dom";
import { painters } from "./drawing";

/** Cell size and gap for so many rows and columns in so much room. */
export function layout(
  rows: number,
  columns: number,
  width: number,
  height: number,
  largest: number,
): { size: number; gap: number } {
  const size = Math.min(largest, (width + 2) / columns, (height + 2) / rows);
  const gap = size >= 24 ? 4 : size >= 14 ? 3 : size >= 8 ? 2 : 1;
  return { size: Math.max(2, Math.floor(size) - gap), gap };
}

/** The indices that have room for their number, with their positions; `step` is from one cell to the next. */
export function spaced(
  indices: readonly number[],
  step: number,
  room: number,
): (readonly [position: number, index: number])[] {
  const every = Math.max(1, Math.ceil(room / step));
  return indices.flatMap((index, position) => (position % every === 0 ? [[position, index] as const] : []));
}

/** Draw a picture on a canvas, and keep how, so that it can be drawn again as vectors. */
export function draw(canvas: HTMLCanvasElement, width: number, height: number, paint: (pen: Pen) => void): void {
  paint(fit(canvas, width, height));
  painters.set(canvas, paint);
}
