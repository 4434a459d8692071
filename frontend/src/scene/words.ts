// The words of an axis, as a sentence names them.

import type { AxisInfo } from "../protocol";
import { piece } from "./format";

export interface Word {
  readonly text: string;
  /** In lower case: words that are written alike are one. */
  readonly bare: string;
  /** Its first piece. */
  readonly start: number;
  /** How many words of the axis are written so, and which of all words it is, from 1; special tokens are none. */
  readonly copies: number;
  readonly place: number;
}

const made = new WeakMap<AxisInfo, readonly Word[]>();

/** The words of an axis; its pieces where nothing says which of them are a word. */
function wordsOf(axis: AxisInfo): readonly Word[] {
  const known = made.get(axis);
  if (known) return known;
  const { pieces, words, special } = axis;
  const starts = [...pieces.keys()].filter((at) => at === 0 || words?.group[at] !== words?.group[at - 1] || !words);
  const texts = starts.map((start, at) => words?.texts[at] ?? piece(pieces[start]!).text);
  const bare = texts.map((text) => text.toLowerCase());
  const copies = new Map<string, number>();
  starts.forEach((start, at) => special[start] || copies.set(bare[at]!, (copies.get(bare[at]!) ?? 0) + 1));
  let place = 0;
  const found = starts.map((start, at) => ({
    text: texts[at]!,
    bare: bare[at]!,
    start,
    copies: copies.get(bare[at]!) ?? 0,
    place: special[start] ? 0 : ++place,
  }));
  made.set(axis, found);
  return found;
}

/** The word that a piece belongs to. */
export const wordOf = (axis: AxisInfo, piece: number): Word =>
  wordsOf(axis).findLast(({ start }) => start <= piece) ?? { text: "", bare: "", start: 0, copies: 0, place: 0 };
