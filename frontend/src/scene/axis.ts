// Which tokens of an axis are shown: by text, special or not, as pieces or as words.

import type { AxisInfo } from "../protocol";
import { type Box, covered } from "./areas";
import { piece } from "./format";
import { Made } from "./made";

export interface Choice {
  /** 0 for text A, 1 for text B, null for all. */
  readonly sequence: 0 | 1 | null;
  readonly special: boolean;
  readonly unit: "pieces" | "words";
  /** Without the keys that are sinks: false. */
  readonly sinks?: boolean;
  /** The pictures within a text whose tokens stand on their own; without it all. */
  readonly unfolded?: readonly number[];
}

/** A picture within a text, of which a shown token is a part, or all of it: `folded`. */
export interface Within {
  readonly number: number;
  /** How many tokens it has. */
  readonly count: number;
  readonly folded: boolean;
  /** It is the first of them. */
  readonly first: boolean;
  /** What of the input's picture it is: left, top, right, bottom. */
  readonly area: Box | null;
}

/** One shown token: the pieces from `start` to before `end`. */
export interface Item {
  readonly start: number;
  readonly end: number;
  readonly mark: string;
  readonly text: string;
  /** Of the vocabulary, where it is one piece that has one. */
  readonly id: number | null;
  readonly special: boolean;
  readonly sequence: number;
  /** The model wrote it. */
  readonly written: boolean;
  /** The other of two inputs has not got it. */
  readonly changed: boolean;
  readonly image: Within | null;
}

/** The shown tokens of an axis, in order. */
export interface Side {
  readonly items: readonly Item[];
  /** The place of each piece's token, -1 where it is not shown. */
  readonly of: Int32Array;
  /** Every piece is shown, each on its own. */
  readonly all: boolean;
  /** A picture is shown as one token. */
  readonly folded: boolean;
}

// The word ids of an axis where words are shown.
const groups = (axis: AxisInfo, choice: Choice): readonly number[] | null =>
  choice.unit === "words" ? (axis.words?.group ?? null) : null;

/** The pictures that are shown as one token, by where they begin. */
function folded(axis: AxisInfo, choice: Choice): ReadonlyMap<number, number> {
  const { unfolded } = choice;
  return new Map(
    unfolded
      ? (axis.images ?? []).flatMap(({ start }, number) =>
          unfolded.includes(number) ? [] : [[start, number] as const],
        )
      : [],
  );
}

/** What of the input's picture some tokens are. */
function area(axis: AxisInfo, start: number, end: number): Box | null {
  const boxes = (axis.boxes ?? []).slice(start, end) as readonly (Box | null)[];
  return boxes.some(Boolean) ? covered(boxes) : null;
}

/** The first piece of each shown token, and the piece after its last. */
function spans(axis: AxisInfo, choice: Choice): [number, number][] {
  const { pieces, special, sequences, sinks } = axis;
  const group = groups(axis, choice);
  const folds = folded(axis, choice);
  const found: [number, number][] = [];
  for (let start = 0; start < pieces.length; ) {
    const fold = folds.get(start);
    let end = fold === undefined ? start + 1 : axis.images![fold]!.end;
    if (group && fold === undefined) while (end < pieces.length && group[end] === group[start]) end++;
    const kept =
      (choice.special || !special[start]) &&
      (choice.sequence === null || sequences?.[start] === choice.sequence) &&
      (choice.sinks !== false || !sinks?.includes(start));
    if (kept) found.push([start, end]);
    start = end;
  }
  return found;
}

/** How many tokens there are before any is filtered, each picture within the text one unless it is unfolded. */
export const length = (axis: AxisInfo, unfolded: readonly number[]): number =>
  axis.pieces.length -
  (axis.images ?? []).reduce(
    (less, { start, end }, number) => less + (unfolded.includes(number) ? 0 : end - start - 1),
    0,
  );

/** How many tokens are shown. */
export const count = (axis: AxisInfo, choice: Choice): number => spans(axis, choice).length;

const sides = new WeakMap<AxisInfo, Made<Side>>();

/** The shown tokens of an axis, made once for a choice: other ones are another side. */
export function side(axis: AxisInfo, choice: Choice): Side {
  const made = sides.get(axis) ?? new Made<Side>(Infinity);
  sides.set(axis, made);
  const { sequence, special, unit, sinks, unfolded } = choice;
  return made.of([sequence, special, unit, sinks !== false, axis.images && unfolded], () => sideOf(axis, choice));
}

// Marked is a piece that goes on with a word, not the space before one that begins it.
function labelled({ pieces, words }: AxisInfo, place: number): { mark: string; text: string } {
  const { mark, text } = piece(pieces[place]!);
  if (mark === "##") return { mark, text };
  const word = words?.group[place] ?? -1;
  return { mark: mark === "" && word >= 0 && word === words!.group[place - 1] ? "‿" : "", text };
}

function sideOf(axis: AxisInfo, choice: Choice): Side {
  const { pieces, special, sequences } = axis;
  const group = groups(axis, choice);
  const folds = folded(axis, choice);
  const of = new Int32Array(pieces.length).fill(-1);
  const items = spans(axis, choice).map(([start, end], place): Item => {
    of.fill(place, start, end);
    const number = axis.images?.findIndex((image) => start >= image.start && start < image.end) ?? -1;
    const whole = axis.images?.[number];
    const image = whole
      ? {
          number,
          count: whole.end - whole.start,
          folded: folds.get(start) === number,
          first: start === whole.start,
          area: area(axis, start, end),
        }
      : null;
    const shown = image?.folded
      ? { mark: "", text: whole!.name }
      : group
        ? { mark: "", text: piece(axis.words?.texts[group[start]!] ?? "").text }
        : labelled(axis, start);
    return {
      start,
      end,
      ...shown,
      id: (end === start + 1 ? axis.ids?.[start] : null) ?? null,
      special: special[start] ?? false,
      sequence: sequences?.[start] ?? -1,
      written: start >= (axis.written ?? pieces.length),
      changed: axis.changed?.some((place) => place >= start && place < end) ?? false,
      image,
    };
  });
  return { items, of, all: items.length === pieces.length, folded: items.some((item) => item.image?.folded) };
}

/** The keys that are sinks, as they are called: "[CLS]", "first token". */
export const sinkNames = ({ sinks = [], special, pieces }: AxisInfo): string[] => [
  ...new Set(sinks.map((place) => (special[place] ? pieces[place]! : "first token"))),
];

export const name = (item: Item | undefined): string => (item ? item.mark + item.text : "");

/** A token and its id, as one reads them on pointing at it. */
export const withId = (item: Item): string => (item.id === null ? name(item) : `${name(item)} (id ${item.id})`);

/** The place of the first shown token that the model wrote itself, after a prompt; -1 where there is none. */
export const promptEnd = (items: readonly Item[]): number =>
  items.findIndex((item, at) => at > 0 && item.written && !items[at - 1]!.written);

/** Both texts are there, so that one can look at the other. */
export const hasPair = (axis: AxisInfo): boolean => axis.sequences?.includes(0) === true && axis.sequences.includes(1);

/** Places of tokens whose text holds what is searched for. */
export function find(side: Side, text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  return side.items.flatMap((item, place) => (name(item).toLowerCase().includes(wanted) ? [place] : []));
}

/** A text, or the prompt, ends before this token. */
export function breaks(items: readonly Item[], at: number): boolean {
  const [before, here] = [items[at - 1], items[at]];
  if (before && here && here.written !== before.written) return true;
  return (
    !!before &&
    !!here &&
    here.sequence >= 0 &&
    lastText(items, at - 1) >= 0 &&
    lastText(items, at - 1) !== here.sequence
  );
}

function lastText(items: readonly Item[], at: number): number {
  for (let i = at; i >= 0; i--) if (items[i]!.sequence >= 0) return items[i]!.sequence;
  return -1;
}
