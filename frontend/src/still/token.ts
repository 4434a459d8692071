// Tokens beside a picture, as the page letters them.

import { lettering } from "../draw/canvas";
import { cutTo, textWidth } from "../draw/ruler";
import type { SvgPen } from "../draw/svg";
import { THUMB } from "../draw/tokens";
import { type Box, seenAt } from "../scene/areas";
import { type Item, name } from "../scene/axis";
import type { Scene } from "../scene/scene";
import { cropWidth } from "../scene/talking";

/** Between a thumbnail and the name after it. */
const AFTER = 6;
/** A text whose first letter is of a script that is read from the right. */
const LEFTWARD = /^\P{L}*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;

/** How a token stands: from `x` to the right or left, its middle at `y`, as wide as `most`, in letters of `size`. */
interface TokenPlace {
  readonly x: number;
  readonly y: number;
  readonly align: "left" | "right";
  readonly most: number;
  readonly size: number;
  readonly look?: "plain" | "pinned" | "followed" | "on";
  /** How strongly it is written. */
  readonly alpha?: number;
}

/** The part of the input's picture that a token is. */
export const areaOf = ({ input: { picture } }: Scene, { image }: Item): Box | null =>
  image?.area && seenAt(picture, image.area) ? image.area : null;

/** An area of the input's picture, in a box of the paper: its corner, width and height. */
export function thumbnail(
  pen: SvgPen,
  { input }: Scene,
  area: Box,
  box: readonly [number, number, number, number],
): void {
  const { src, width, height } = input.picture!;
  pen.photo(src, [width, height], area, box);
}

/** The room of a token along its text, with its thumbnail; of text that is turned that is as long as it is tall. */
export const roomOf = (scene: Scene, item: Item, size: number, turned = false): number => {
  const area = areaOf(scene, item);
  return (area ? (turned ? THUMB : cropWidth(area, THUMB)) + AFTER : 0) + textWidth(name(item), size);
};

/** One token; the pinned one stands on the accent. Without `thumb` its name alone. */
export function token(
  pen: SvgPen,
  scene: Scene,
  item: Item,
  { x, y, align, most, size, look = "plain", alpha = 1 }: TokenPlace,
  thumb = true,
): void {
  const { ink } = scene.owner;
  const area = thumb ? areaOf(scene, item) : null;
  const crop = area ? cropWidth(area, THUMB) : 0;
  const before = area ? crop + AFTER : 0;
  const weight = item.changed || look === "on" ? 600 : 400;
  const text = cutTo(name(item), most - before, size, weight);
  const width = before + textWidth(text, size, weight);
  const left = align === "right" ? x - width : x;
  if (area) thumbnail(pen, scene, area, [left, y - THUMB / 2, crop, THUMB]);
  const mark = text.startsWith(item.mark) ? item.mark : "";
  const plain = item.special ? "--ink3" : "--ink";
  const color = ink({ plain, pinned: "--bg", followed: "--accent", on: "--accent" }[look]);
  const parts = [
    [look === "plain" || look === "followed" ? ink("--ink3") : color, mark],
    [color, text.slice(mark.length)],
  ] as const;
  pen.globalAlpha = alpha;
  lettering(pen, `${weight} ${size}px`, align);
  pen.spans(LEFTWARD.test(text) ? [...parts].reverse() : parts, align === "right" ? x : x + before, y);
  if (!item.changed) return;
  pen.fillStyle = ink("--accent");
  pen.fillRect(left + before, y + 8, width - before, 1.5);
}

/** Where a column of tokens stands: as one token, in rows of a height; `inset`: between a token and the edge. */
interface ColumnPlace extends Pick<TokenPlace, "x" | "align" | "most"> {
  readonly row: number;
  readonly size?: number;
  readonly inset?: number;
}

/** Tokens under one another, the pinned one on the accent, the followed one on its wash. */
export function column(
  pen: SvgPen,
  scene: Scene,
  items: readonly Item[],
  { x, align, most, row, size = 13, inset = 7 }: ColumnPlace,
  pinned: number | null | undefined,
  followed = -1,
  alpha = (_: number): number => 1,
): void {
  const { ink } = scene.owner;
  const right = align === "right";
  items.forEach((item, at) => {
    const y = (at + 0.5) * row;
    const look = at === pinned ? "pinned" : at === followed ? "followed" : "plain";
    if (look !== "plain") {
      const width = Math.min(most, Math.ceil(roomOf(scene, item, size)) + 2 * inset);
      const ground = ink(look === "pinned" ? "--accent" : "--wash");
      pen.rounded(right ? x - width : x, y - row / 2 + 1, width, row - 2, ground, null, 4);
    }
    token(pen, scene, item, {
      x: right ? x - inset : x + inset,
      y,
      align,
      most: most - 2 * inset,
      size,
      look,
      alpha: at === pinned ? 1 : alpha(at),
    });
  });
}
