// The table's filter: names of heads, and comparisons such as `previous>.5 entropy<1`.

import type { Cell, Figures } from "../../figures";

const COMPARISON = /^(.*?)(<=|>=|<|>)(-?(?:\d+\.?\d*|\.\d+))$/;

const COMPARE: Record<string, (a: number, b: number) => boolean> = {
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
};

/** A test for heads: every word of the query must hold. Null for words that mean nothing. */
export function parseFilter(query: string, figures: Figures): ((cell: Cell) => boolean) | null {
  const words = query.trim().toLowerCase().replace(/\s*(<=|>=|<|>)\s*/g, "$1").split(/\s+/).filter(Boolean);
  const tests: ((cell: Cell) => boolean)[] = [];
  for (const word of words) {
    const match = COMPARISON.exec(word);
    if (match) {
      const [, name = "", sign = "", number = ""] = match;
      const compare = COMPARE[sign];
      const measure =
        figures.measures.find((one) => one.name.toLowerCase() === name) ??
        figures.measures.find((one) => name !== "" && one.name.toLowerCase().startsWith(name));
      if (!measure || !compare) return null;
      tests.push((cell) => compare(measure.value(cell), Number(number)));
    } else if (/^l\d+$/.test(word)) {
      tests.push((cell) => figures.layerOf(cell) === Number(word.slice(1)));
    } else if (/^h\d+$/.test(word)) {
      tests.push((cell) => figures.headOf(cell) === Number(word.slice(1)));
    } else {
      tests.push((cell) => figures.name(cell).toLowerCase() === word || figures.paper(cell).startsWith(word));
    }
  }
  return (cell) => tests.every((test) => test(cell));
}
