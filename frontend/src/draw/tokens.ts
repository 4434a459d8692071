// The room that tokens take beside a picture.

import { type Item, name } from "../scene/axis";
import { WIDEST } from "../scene/talking";
import { tokenWidth } from "./ruler";

/** Of a thumbnail beside a token's name, in pixels. */
export const THUMB = 16;
/** Width of the widest of some tokens. */
export function widest(...sides: (readonly Item[])[]): number {
  const names = Math.max(0, ...[...new Set(sides.flatMap((items) => items.map(name)))].map(tokenWidth));
  return names + (sides.some((items) => items.some((item) => item.image)) ? WIDEST * THUMB : 0);
}
