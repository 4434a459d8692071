// The words of a text that stands beside a picture, in reading order.

import type { AxisInfo } from "../protocol";
import type { Item, Side } from "./axis";
import { type Shown, value } from "./cut";
import type { Scene } from "./scene";

/** A part whose queries are text, and whose keys are areas of a picture: with the text in one row, or across. */
export const talks = ({ kind, query, key }: Scene["part"]): boolean =>
  key.boxes !== undefined && (key.images !== undefined || (kind === "cross" && !query.boxes));

/** The shown queries that are no part of the picture. */
export const words = ({ part, rows }: Pick<Scene, "part" | "rows">): readonly Item[] =>
  rows.items.filter(({ start, image }) => !image && !part.query.boxes?.[start]);

/** A token as it is read: without the mark of a word that goes on. */
export const bare = ({ text }: Item): string => text;

const CLOSING = /^[\p{Pe}\p{Pf}\p{Po}]+$/u;
const SPACES = /^[Ġ▁ ]/;

/**
 * Whether a space stands between two tokens that follow one another, as the tokenizer's marks say, or, where it has
 * none, as one writes.
 */
export function spaced(axis: AxisInfo, before: Item, item: Item): boolean {
  if (before.end !== item.start || before.special || item.special) return true;
  const raw = axis.pieces[item.start]!;
  if (axis.pieces.some((piece) => SPACES.test(piece))) return SPACES.test(raw);
  return !raw.startsWith("##") && !CLOSING.test(item.text);
}

/** What stands by the places of one side, by those of another of the same tokens; NaN for what it has not. */
export function onto(from: Side, to: Side, shares: Float64Array): Float64Array {
  if (from === to) return shares;
  return Float64Array.from(to.items, ({ start }) => shares[from.of[start] ?? -1] ?? NaN);
}

/** The sum of some columns of a row. */
export function sumOf(map: Shown, row: number, columns: readonly boolean[]): number {
  let sum = 0;
  for (let column = 0; column < map.columns; column++)
    if (columns[column]) sum += value(map, row * map.columns + column);
  return sum;
}
