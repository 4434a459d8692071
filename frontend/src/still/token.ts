// Tokens beside a picture, as the page letters them.

import { lettering } from "../draw/canvas";
import { cutTo, textWidth } from "../draw/ruler";
import type { SvgPen } from "../draw/svg";
import { cropWidth, THUMB } from "../draw/tokens";
import { type Item, name } from "../scene/axis";
import type { Scene } from "../scene/scene";

/** Between a token and the edge of its column. */
const INSET = 7;
const AFTER = 6;
/** A text whose first letter is of a script that is read from the right. */
const LEFTWARD = /^\P{L}*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;

/** Where a column of tokens ends (`right`) or begins, how wide it may be, and how high its rows are. */
export interface TokenColumn {
  readonly x: number;
  readonly align: "left" | "right";
  readonly most: number;
  readonly row: number;
}

/** One token, its middle at `y`; the chosen one stands on the accent. */
export function token(
  pen: SvgPen,
  scene: Scene,
  item: Item,
  { x, align, most, row }: TokenColumn,
  y: number,
  chosen: boolean,
): void {
  const { ink } = scene.owner;
  const { picture } = scene.input;
  const area = item.image?.area && picture ? item.image.area : null;
  const thumb = area ? cropWidth(area, THUMB) + AFTER : 0;
  const weight = item.changed ? 600 : 400;
  const text = cutTo(name(item), most - 2 * INSET - thumb, 13, weight);
  const width = Math.ceil(thumb + textWidth(text, 13, weight)) + 2 * INSET;
  const right = align === "right";
  const left = right ? x - width : x;
  if (chosen) pen.rounded(left, y - row / 2 + 1, width, row - 2, ink("--accent"), null, 4);
  if (area) pen.crop(picture!, area, left + INSET, y - THUMB / 2, thumb - AFTER, THUMB);
  const mark = text.startsWith(item.mark) ? item.mark : "";
  const parts = [
    [ink(chosen ? "--bg" : "--ink3"), mark],
    [ink(chosen ? "--bg" : item.special ? "--ink3" : "--ink"), text.slice(mark.length)],
  ] as const;
  pen.globalAlpha = 1;
  lettering(pen, `${weight} 13px`, align, "middle");
  const end = right ? x - INSET : x + INSET + thumb;
  pen.spans(LEFTWARD.test(text) ? [...parts].reverse() : parts, end, y);
  if (!item.changed) return;
  pen.fillStyle = ink("--accent");
  pen.fillRect(left + INSET + thumb, y + 8, width - 2 * INSET - thumb, 1.5);
}
