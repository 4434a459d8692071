// Why a line is there: which line is meant by what is chosen, and what the page knows of it.

import type { PartInfo, ReadsInfo } from "../protocol";
import type { Item } from "./axis";
import type { Line, Scene } from "./scene";

/** Whether what is drawn are lines of single heads of one input, of single tokens. */
export const single = ({ lacking, state, against, aggregated, part }: Scene): boolean =>
  lacking === null && state.scale !== "model" && !against && !aggregated && !part.query.counts;

/** The line of the chosen tokens; null where no query is chosen. */
export function lineOf(scene: Scene): Line | null {
  const { pinned, rows, columns, state, head } = scene;
  const row = rows.items[pinned?.from ?? -1];
  if (!row) return null;
  const column = columns.items[pinned?.to ?? -1];
  const [query, key] = column ? strongest(scene, row, column) : [row.end - 1, null];
  return { layer: state.layer, head, query, key };
}

// Of tokens of several pieces the pair with the largest weight.
function strongest({ data, part, state, head }: Scene, row: Item, column: Item): [number, number] {
  const layer = data.layer(part, state.layer, "weights", [head]);
  const place = part.heads[part.index.indexOf(state.layer)]?.indexOf(head) ?? 0;
  let [best, most]: [[number, number], number] = [[row.start, column.start], -1];
  if (!layer) return best;
  const [, queries, keys] = layer.shape;
  for (let query = row.start; query < row.end; query++) {
    for (let key = column.start; key < column.end; key++) {
      const weight = layer.numbers[(place * queries + query) * keys + key]!;
      if (weight > most) [best, most] = [[query, key], weight];
    }
  }
  return best;
}

/** What travels with the page of a line. */
export const carried = ({ reads }: PartInfo, { layer, head, query, key }: Line): ReadsInfo | undefined =>
  reads?.find(
    (one) => one.layer === layer && one.head === head && one.query === query && (key === null || one.key === key),
  );
