// The areas of a picture that tokens stand for.

import type { AxisInfo, PictureInfo } from "../protocol";

/** Left, top, right, bottom in the picture's own pixels. */
export type Box = readonly [number, number, number, number];

/** From so many times as wide as tall on, a picture has all the width. */
export const WIDE = 2.5;

/** The areas of the shown tokens of an axis; null for tokens that have none. */
export function boxesOf(axis: AxisInfo, side: Shown): readonly (Box | null)[] {
  const made = boxes.get(side) ?? side.items.map(({ start }) => (axis.boxes?.[start] ?? null) as Box | null);
  boxes.set(side, made);
  return made;
}
interface Shown {
  readonly items: readonly { readonly start: number }[];
}
const boxes = new WeakMap<Shown, readonly (Box | null)[]>();

/** The part of a picture that some areas cover. */
export function covered(boxes: readonly (Box | null)[]): Box {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const box of boxes)
    if (box)
      [left, top, right, bottom] = [
        Math.min(left, box[0]),
        Math.min(top, box[1]),
        Math.max(right, box[2]),
        Math.max(bottom, box[3]),
      ];
  return [left, top, right, bottom];
}

/** The place of the area that holds a point of the picture; -1 for none. */
export const areaAt = (boxes: readonly (Box | null)[], x: number, y: number): number =>
  boxes.findIndex((box) => box !== null && x >= box[0] && x < box[2] && y >= box[1] && y < box[3]);

/** Whether areas leave out an edge of the picture, as where a model cuts it off. */
export const cutOff = (
  [left, top, right, bottom]: Box,
  { width, height }: Pick<PictureInfo, "width" | "height">,
): boolean => left > EDGE * width || top > EDGE * height || right < (1 - EDGE) * width || bottom < (1 - EDGE) * height;
const EDGE = 0.01;
