// The table's filter: names of heads, and comparisons such as `previous>.5 entropy<1`.

import type { Cell, Figures } from "./figures";

const COMPARISON = /^(.*?)(<=|>=|<|>)(-?(?:\d+\.?\d*|\.\d+))$/;

const COMPARE: Record<string, (a: number, b: number) => boolean> = {
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
};

type Test = (cell: Cell) => boolean;

/** What a word of a query asks of a head; null for a measure that is not among the figures. */
function testOf(word: string, figures: Figures): Test | null {
  const match = COMPARISON.exec(word);
  if (match) {
    const [, name = "", sign = "", bound = ""] = match;
    const names = figures.measures.map((measure) => measure.name.toLowerCase());
    const exact = names.indexOf(name);
    const measure =
      figures.measures[exact >= 0 || name === "" ? exact : names.findIndex((other) => other.startsWith(name))];
    return measure ? (cell) => COMPARE[sign]!(measure.value(cell), Number(bound)) : null;
  }
  if (/^l\d+$/.test(word)) return (cell) => figures.layerOf(cell) === Number(word.slice(1));
  if (/^h\d+$/.test(word)) return (cell) => figures.headOf(cell) === Number(word.slice(1));
  return (cell) => figures.name(cell).toLowerCase() === word || figures.paper(cell).startsWith(word);
}

/** A test for heads: every word of the query must hold. Null for words that mean nothing. */
export function parseFilter(query: string, figures: Figures): Test | null {
  const words = query
    .trim()
    .toLowerCase()
    .replace(/\s*(<=|>=|<|>)\s*/g, "$1")
    .split(/\s+/)
    .filter(Boolean);
  const tests = words.map((word) => testOf(word, figures));
  return tests.includes(null) ? null : (cell) => tests.every((test) => test!(cell));
}
