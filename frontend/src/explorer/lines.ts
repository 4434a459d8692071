// Which lines are drawn: a counting sort of the codes, so that the strongest are kept and the rest is counted.

import type { Shown } from "./cut";

export interface Range {
  /** First and last (exclusive) row, and column, that can be seen; a line with one end there is drawn. */
  readonly from: number;
  readonly to: number;
  /** Codes below this are no lines. */
  readonly least: number;
  /** Lines that each row keeps, strongest first; 0 for all. */
  readonly topK: number;
  /** Lines that are drawn at most. */
  readonly most: number;
}

export interface Lines {
  /** (map, row, column) of each line, weakest first. */
  readonly buffer: Uint32Array;
  readonly count: number;
  /** Lines that could be drawn, and are not. */
  readonly left: number;
}

/** The smallest code that the k strongest of each row have, [map row]. */
export function rowCuts(map: Shown, k: number, least: number): Uint8Array {
  const cuts = new Uint8Array(map.rows).fill(least);
  if (k <= 0 || k >= map.columns) return cuts;
  const counts = new Uint32Array(256);
  for (let a = 0; a < map.rows; a++) {
    counts.fill(0);
    for (let b = 0; b < map.columns; b++) counts[map.codes[a * map.columns + b]!]!++;
    let [seen, code] = [0, 255];
    for (; code > least; code--) {
      seen += counts[code]!;
      if (seen >= k) break;
    }
    cuts[a] = Math.max(least, code);
  }
  return cuts;
}

export function strongest(maps: readonly Shown[], range: Range): Lines {
  const least = Math.max(1, range.least);
  const cuts = maps.map((map) => rowCuts(map, range.topK, least));
  const each = (visit: (code: number, map: number, row: number, column: number) => void): void => {
    maps.forEach((map, m) => {
      const { codes, rows, columns } = map;
      for (let a = 0; a < rows; a++) {
        const seen = a >= range.from && a < range.to;
        const first = seen ? 0 : range.from;
        const last = seen ? columns : Math.min(columns, range.to);
        const lowest = cuts[m]![a]!;
        for (let b = first; b < last; b++) {
          const code = codes[a * columns + b]!;
          if (code >= lowest) visit(code, m, a, b);
        }
      }
    });
  };
  const counts = new Uint32Array(256);
  each((code) => counts[code]!++);
  let [total, kept, lowest] = [0, 0, 256];
  for (let code = 255; code >= least; code--) {
    total += counts[code]!;
    if (total <= range.most || lowest === 256) [lowest, kept] = [code, total];
  }
  const start = new Uint32Array(257);
  let count = 0;
  for (let code = lowest; code < 256; code++) {
    start[code] = count;
    count += counts[code]!;
  }
  const buffer = new Uint32Array(count * 3);
  each((code, m, a, b) => {
    if (code < lowest) return;
    const at = 3 * start[code]!++;
    buffer[at] = m;
    buffer[at + 1] = a;
    buffer[at + 2] = b;
  });
  return { buffer, count, left: total - kept };
}
