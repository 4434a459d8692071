// Names beside the points of a drawing.

import { textWidth } from "./ruler";

interface Spot {
  readonly x: number;
  readonly y: number;
}

interface Name extends Spot {
  readonly text: string;
}

interface Box {
  readonly x0: number;
  readonly x1: number;
  readonly y0: number;
  readonly y1: number;
}

const overlap = (a: Box, b: Box): boolean => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;

/** Where a name may stand: on which side of its point, and how far above or below; the best first. */
const SPOTS = [0, -8, 8].flatMap(
  (shift) =>
    [
      [1, shift],
      [-1, shift],
    ] as const,
);

/** Between two names. */
const APART = 3;

/** Places for names beside their points, most important first: none covers another, few cover one of the dots. */
export function placeNames(
  points: readonly Name[],
  width: number,
  limit: number,
  dots: readonly Spot[] = [],
): (Name & { readonly anchor: "start" | "end" })[] {
  const placed: (Name & { anchor: "start" | "end" })[] = [];
  const boxes: Box[] = [];
  for (const { x, y, text } of points) {
    if (placed.length >= limit) break;
    const wide = textWidth(text, 11, 600) + APART;
    const free = SPOTS.flatMap(([side, shift]) => {
      const x0 = side > 0 ? x + 6 : x - 6 - wide;
      const box = { x0, x1: x0 + wide, y0: y + shift - 6, y1: y + shift + 6 };
      if (box.x0 < 28 || box.x1 > width || box.y0 < 0 || boxes.some((other) => overlap(box, other))) return [];
      const covered = dots.filter((dot) => dot.x > box.x0 && dot.x < box.x1 && dot.y > box.y0 && dot.y < box.y1).length;
      return [{ side, shift, box, covered }];
    });
    const best = free.sort((a, b) => a.covered - b.covered)[0];
    if (!best) continue;
    boxes.push(best.box);
    placed.push({ x: x + 6 * best.side, y: y + best.shift, text, anchor: best.side > 0 ? "start" : "end" });
  }
  return placed;
}
