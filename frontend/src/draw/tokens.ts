// The room that tokens take beside a picture.

import { type Item, name } from "../scene/axis";
import { tokenWidth } from "./ruler";

/** Of a thumbnail beside a token's name, in pixels. */
export const THUMB = 16;
/** A thumbnail is at most so many times as wide as tall. */
export const WIDEST = 2.4;

/** How wide an area of a picture is that is drawn so tall. */
export const cropWidth = (area: readonly number[], tall: number): number => {
  const [left, top, right, bottom] = area as [number, number, number, number];
  return Math.max(4, Math.min(WIDEST * tall, (tall * (right - left)) / Math.max(1e-6, bottom - top)));
};

/** Width of the widest of some tokens. */
export function widest(...sides: (readonly Item[])[]): number {
  const names = Math.max(0, ...[...new Set(sides.flatMap((items) => items.map(name)))].map(tokenWidth));
  return names + (sides.some((items) => items.some((item) => item.image)) ? WIDEST * THUMB : 0);
}
