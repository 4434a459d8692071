// The head that opens where a state names none: one that shows something on this input.

import type { HighlightsInfo, PartInfo } from "../protocol";

/**
 * A link that stands out by more than this is worth a first look, where so many of the words are linked, in a head that
 * looks elsewhere than beside itself.
 */
const STANDS_OUT = 0.1;
const SOME = 0.05;
const BESIDE = 0.5;

/**
 * What one head does on the input, as `HighlightsInfo` says it; `moved` is null where there are not two inputs, −1 where
 * that is not known.
 */
export type Highlight = { readonly [Name in keyof Omit<HighlightsInfo, "moved">]: number } & {
  readonly moved: number | null;
};

/** The place of a head among those of all layers; -1 for none. */
export function placeOf(part: PartInfo, layer: number, head: number): number {
  const at = part.index.indexOf(layer);
  const place = part.heads[at]?.indexOf(head) ?? -1;
  return place < 0 ? -1 : part.heads.slice(0, at).reduce((sum, heads) => sum + heads.length, place);
}

/** What a head does; null where nothing is known of it. */
export function highlight(part: PartInfo, layer: number, head: number): Highlight | null {
  const { highlights } = part;
  const at = placeOf(part, layer, head);
  if (!highlights || at < 0) return null;
  const figures = Object.entries(highlights).map(([name, heads]) => [name, heads[at]]);
  return { moved: null, ...Object.fromEntries(figures) } as Highlight;
}

/** Whether a head looks mostly at each token itself or beside it, which many heads of every model do. */
export const beside = ({ near }: Highlight): boolean => near > BESIDE;

/** How much a head shows: of two inputs what moves; else a strong link that stands out. */
export const shows = (does: Highlight): number => {
  const { weight, score, share, moved } = does;
  if (moved !== null) return moved;
  return beside(does) ? 0 : score > STANDS_OUT && share >= SOME ? 1 + weight * score : score;
};

interface Opening {
  readonly layer: number;
  /** Of each layer the head that opens. */
  readonly heads: readonly number[];
}

/**
 * The layer that opens, and of each the head; of equal ones the first in the model's order. Of a matrix with a sign, such
 * as a gradient, the head of its largest number.
 */
export function opening(part: PartInfo, quantity = "weights"): Opening {
  const largest = part.quantities.find(({ name }) => name === quantity)?.largest;
  const best = part.index.map((layer, at) => {
    const scores = part.heads[at]!.map((head) => {
      if (largest) return largest[placeOf(part, layer, head)]!;
      const does = highlight(part, layer, head);
      return does ? shows(does) : 0;
    });
    const most = Math.max(...scores);
    return { most, head: part.heads[at]![scores.indexOf(most)] ?? 0 };
  });
  const first = best.findIndex(({ most }) => most === Math.max(...best.map((each) => each.most)));
  return { layer: part.index[first] ?? 0, heads: best.map(({ head }) => head) };
}
