// The filters of tables: names of heads, words, and comparisons such as `previous>.5 entropy<1`.

import type { Cell, Figures } from "./figures";

const COMPARISON = /^(.*?)(<=|>=|<|>)(-?(?:\d+\.?\d*|\.\d+))$/;

const COMPARE: Record<string, (a: number, b: number) => boolean> = {
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
};

type Test<Row> = (row: Row) => boolean;

/** What can be looked for. */
export interface Searched<Row> {
  /** Figures by their names, in lower case. */
  readonly figures: readonly (readonly [name: string, value: (row: Row) => number])[];
  /** The model's own indices of the head that a row is about. */
  head(row: Row): { readonly layer: number; readonly head: number } | null;
  /** Whether a word, in lower case, is that of a row. */
  says(row: Row, word: string): boolean;
}

/** All heads, and their measures. */
export const allHeads = (figures: Figures): Searched<Cell> => ({
  figures: figures.measures.map((measure) => [measure.name.toLowerCase(), (cell) => measure.value(cell)]),
  head: (cell) => ({ layer: figures.layerOf(cell), head: figures.headOf(cell) }),
  says: (cell, word) => figures.name(cell).toLowerCase() === word || figures.paper(cell).startsWith(word),
});

/** What a word of a query asks of a row; null for a figure that is not there. */
function testOf<Row>(word: string, { figures, head, says }: Searched<Row>): Test<Row> | null {
  const match = COMPARISON.exec(word);
  if (match) {
    const [, asked = "", sign = "", bound = ""] = match;
    const [, value] =
      figures.find(([name]) => name === asked) ??
      figures.find(([name]) => asked !== "" && name.startsWith(asked)) ??
      [];
    return value ? (row) => COMPARE[sign]!(value(row), Number(bound)) : null;
  }
  if (/^l\d+$/.test(word)) return (row) => head(row)?.layer === Number(word.slice(1));
  if (/^h\d+$/.test(word)) return (row) => head(row)?.head === Number(word.slice(1));
  return (row) => says(row, word);
}

/** A test for rows: every word of the query must hold. Null for words that mean nothing. */
export function parseFilter<Row>(query: string, searched: Searched<Row>): Test<Row> | null {
  const words = query
    .trim()
    .toLowerCase()
    .replace(/\s*(<=|>=|<|>)\s*/g, "$1")
    .split(/\s+/)
    .filter(Boolean);
  const tests = words.map((word) => testOf(word, searched));
  return tests.includes(null) ? null : (row) => tests.every((test) => test!(row));
}
