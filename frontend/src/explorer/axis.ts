// Which tokens of an axis are shown: by text, special or not, as pieces or as words.

import { piece } from "../format";
import type { AxisInfo } from "../protocol";

export interface Choice {
  /** 0 for text A, 1 for text B, null for all. */
  readonly sequence: 0 | 1 | null;
  readonly special: boolean;
  readonly unit: "pieces" | "words";
  /** Without the keys that are sinks: false. */
  readonly sinks?: boolean;
}

/** One shown token: the pieces from `start` to before `end`. */
export interface Item {
  readonly start: number;
  readonly end: number;
  readonly mark: string;
  readonly text: string;
  readonly special: boolean;
  readonly sequence: number;
  /** The model wrote it. */
  readonly written: boolean;
  /** The other of two inputs has not got it. */
  readonly changed: boolean;
}

/** The shown tokens of an axis, in order. */
export interface Side {
  readonly items: readonly Item[];
  /** The place of each piece's token, -1 where it is not shown. */
  readonly of: Int32Array;
  /** Every piece is shown, each on its own. */
  readonly all: boolean;
  readonly key: string;
}

// The word ids of an axis where words are shown.
const groups = (axis: AxisInfo, choice: Choice): readonly number[] | null => (choice.unit === "words" ? (axis.words?.group ?? null) : null);

/** The first piece of each shown token, and the piece after its last. */
function spans(axis: AxisInfo, choice: Choice): [number, number][] {
  const { pieces, special, sequences, sinks } = axis;
  const group = groups(axis, choice);
  const found: [number, number][] = [];
  for (let start = 0; start < pieces.length; ) {
    let end = start + 1;
    if (group) while (end < pieces.length && group[end] === group[start]) end++;
    const kept = (choice.special || !special[start]) && (choice.sequence === null || sequences?.[start] === choice.sequence) && (choice.sinks !== false || !sinks?.includes(start));
    if (kept) found.push([start, end]);
    start = end;
  }
  return found;
}

/** How many tokens are shown. */
export const count = (axis: AxisInfo, choice: Choice): number => spans(axis, choice).length;

const sides = new WeakMap<AxisInfo, Map<string, Side>>();

/** The shown tokens of an axis, made once for a choice. */
export function side(axis: AxisInfo, choice: Choice): Side {
  const made = sides.get(axis) ?? new Map<string, Side>();
  sides.set(axis, made);
  const key = `${choice.sequence}${choice.special}${choice.unit}${choice.sinks !== false}`;
  const found = made.get(key) ?? sideOf(axis, choice, key);
  made.set(key, found);
  return found;
}

function sideOf(axis: AxisInfo, choice: Choice, key: string): Side {
  const { pieces, special, sequences } = axis;
  const group = groups(axis, choice);
  const of = new Int32Array(pieces.length).fill(-1);
  const items = spans(axis, choice).map(([start, end], place): Item => {
    of.fill(place, start, end);
    const shown = group ? { mark: "", text: piece(axis.words?.texts[group[start]!] ?? "").text } : piece(pieces[start]!);
    return { start, end, ...shown, special: special[start] ?? false, sequence: sequences?.[start] ?? -1, written: start >= (axis.written ?? pieces.length), changed: axis.changed?.some((place) => place >= start && place < end) ?? false };
  });
  return { items, of, all: items.length === pieces.length, key };
}

export const name = (item: Item | undefined): string => (item ? item.mark + item.text : "");

/** The place of the first shown token that the model wrote itself, after a prompt; -1 where there is none. */
export const promptEnd = (items: readonly Item[]): number => items.findIndex((item, at) => at > 0 && item.written && !items[at - 1]!.written);

/** Both texts are there, so that one can look at the other. */
export const hasPair = (axis: AxisInfo): boolean => axis.sequences?.includes(0) === true && axis.sequences.includes(1);

/** Places of tokens whose text holds what is searched for. */
export function find(side: Side, text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  return side.items.flatMap((item, place) => (name(item).toLowerCase().includes(wanted) ? [place] : []));
}
