// Which line of the head view stands under the pointer.

import { BEND, type HeadBox, middle } from "./headlayout";
import type { Lines } from "./lines";

/** How near a line the pointer must be, in pixels. */
const NEAR = 5;

/** How far along its height a line is at a share of its width: that of the Bézier curve that `headdraw` draws. */
export function rise(across: number): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < 24; step++) {
    const t = (low + high) / 2;
    const x = 3 * (1 - t) ** 2 * t * BEND + 3 * (1 - t) * t ** 2 * (1 - BEND) + t ** 3;
    if (x < across) low = t;
    else high = t;
  }
  const t = (low + high) / 2;
  return 3 * (1 - t) * t ** 2 + t ** 3;
}

/** The pair whose line is nearest; of equally near ones the strongest. Null where none is near. */
export function lineAt(
  box: HeadBox,
  lines: Lines,
  scrolled: number,
  x: number,
  y: number,
): { from: number; to: number } | null {
  if (x <= box.x0 || x >= box.x1) return null;
  const share = rise((x - box.x0) / (box.x1 - box.x0));
  let best: { from: number; to: number } | null = null;
  let nearest = NEAR;
  for (let line = 0; line < lines.count; line++) {
    const [from, to] = [lines.buffer[3 * line + 1]!, lines.buffer[3 * line + 2]!];
    const [y0, y1] = [middle(box, from, scrolled), middle(box, to, scrolled)];
    const distance = Math.abs(y0 + (y1 - y0) * share - y);
    // Lines stand weakest first.
    if (distance <= nearest) [nearest, best] = [distance, { from, to }];
  }
  return best;
}
