// Which lines are drawn: a counting sort of the codes, so that the strongest are kept and the rest is counted.

import { fair, type Shown } from "./cut";
import { brief, plural, whole } from "./format";
import { pinnedSaid, sentence, signsSaid } from "./says";
import type { Scene } from "./scene";
import { crowded } from "./state";

interface Range {
  /** First and last (exclusive) row, and column, that can be seen; a line with one end there is drawn. */
  readonly from: number;
  readonly to: number;
  /** Codes below this are no lines: one code, or one for each row of each map. */
  readonly least: number | readonly Uint8Array[];
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

/** The least code that is at least a row's even share (`fair`), [row]. */
export const evenCodes = (map: Shown, seen: ArrayLike<number>): Uint8Array =>
  Uint8Array.from(fair(map, seen), (share) => Math.min(255, Math.ceil(255 * Math.sqrt(share) - 1e-3)));

/** The smallest code that the k strongest of each row have, and that is at least `least`, [row]. */
export function rowCuts(map: Shown, k: number, least: number | Uint8Array): Uint8Array {
  const cuts = new Uint8Array(map.rows);
  for (let a = 0; a < map.rows; a++) cuts[a] = Math.max(1, typeof least === "number" ? least : least[a]!);
  if (k <= 0 || k >= map.columns) return cuts;
  const counts = new Uint32Array(256);
  for (let a = 0; a < map.rows; a++) {
    counts.fill(0);
    for (let b = 0; b < map.columns; b++) counts[map.codes[a * map.columns + b]!]!++;
    let [seen, code] = [0, 255];
    for (; code > cuts[a]!; code--) {
      seen += counts[code]!;
      if (seen >= k) break;
    }
    cuts[a] = code;
  }
  return cuts;
}

export function strongest(maps: readonly Shown[], range: Range): Lines {
  const { least } = range;
  const cuts = maps.map((map, m) => rowCuts(map, range.topK, typeof least === "number" ? least : least[m]!));
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
  const total = counts.reduce((sum, count) => sum + count, 0);
  let [above, lowest] = [0, 255];
  while (lowest > 1 && above + counts[lowest]! < Math.min(range.most, total)) above += counts[lowest--]!;
  // Of the weakest that are drawn, which are all as strong, an even choice where there is no room for all.
  const equal = counts[lowest]!;
  const room = Math.min(equal, range.most - above);
  counts[lowest] = room;
  const start = new Uint32Array(257);
  let count = 0;
  for (let code = lowest; code < 256; code++) {
    start[code] = count;
    count += counts[code]!;
  }
  const buffer = new Uint32Array(count * 3);
  let met = 0;
  each((code, m, a, b) => {
    if (code < lowest) return;
    if (code === lowest && Math.floor((++met * room) / equal) === Math.floor(((met - 1) * room) / equal)) return;
    const at = 3 * start[code]!++;
    buffer[at] = m;
    buffer[at + 1] = a;
    buffer[at + 2] = b;
  });
  return { buffer, count, left: total - count };
}

/**
 * Lines that are drawn at most; and where none is asked for by its weight, so many a token and head, of which the eye
 * can follow some.
 */
const [MOST, EACH] = [4000, 12];

const NONE: Lines = { buffer: new Uint32Array(), count: 0, left: 0 };

/** The lines that are drawn at rest: none of too many tokens, unless they are asked for. */
export function linesAtRest(scene: Scene, from: number, to: number): Lines {
  const { part, state } = scene;
  const asked = state.threshold !== null || state.top_k > 0;
  return asked || !crowded(part, state.unfolded) ? linesOf(scene, from, to) : NONE;
}

/** The lines of a scene that have an end in the rows `from` to before `to`. */
export function linesOf(scene: Scene, from: number, to: number): Lines {
  const { threshold, top_k } = scene.state;
  const maps = scene.shown();
  const least =
    threshold === null ? maps.map((map) => evenCodes(map, scene.seen)) : Math.ceil(255 * Math.sqrt(threshold));
  const rows = Math.min(to, scene.rows.items.length) - from;
  const most = threshold === null ? Math.min(MOST, EACH * Math.max(1, rows) * maps.length) : MOST;
  return strongest(maps, { from, to, least, topK: top_k, most });
}

/** Which lines are drawn, in words. */
export function linesSaid(scene: Scene, { count, left }: Lines): string {
  const { state } = scene;
  const least =
    state.threshold === null
      ? evenSaid(scene)
      : `${brief(state.threshold)}${state.quantity === "weights" ? "" : " of the largest"}`;
  const all = plural(count + left, "line");
  const strongest = left > 0 ? `the ${whole(count)} strongest of ${all}` : all;
  const each = state.top_k > 0 ? `, the ${state.top_k} strongest of each token` : "";
  const signs = !scene.many && scene.shown().some((map) => map.sign) ? ` · ${signsSaid(scene)}` : "";
  return `${strongest} of at least ${least}${each}${signs}`;
}

// What a line must have where no threshold is given: see `fair`.
function evenSaid(scene: Scene): string {
  const { state, part } = scene;
  if (scene.shown().some((map) => map.sign)) return "the mean size of all pairs";
  const all = state.quantity === "weights" && state.filter === "all" && state.special && state.sinks;
  if (!all) return "the mean of its row as it is shown";
  const n = scene.seen[0] ?? 1;
  if (part.causal || part.hidden) return "an even share, 1/n of the n keys that its query sees";
  return `an even share, 1/${n} = ${brief(1 / n, 2)}`;
}

/** What a picture on paper says below it: which lines are drawn, and which are not faint. */
export function linesCaption(scene: Scene, lines: Lines): string {
  const chosen = pinnedSaid(scene);
  const what = scene.many || !scene.pair ? "the lines" : "the line";
  if (lines === NONE)
    return sentence([
      chosen
        ? `${what.slice(4)} ${chosen}`
        : "of so many tokens no lines are drawn; a pinned one has its own, and so has a threshold",
    ]);
  return sentence([linesSaid(scene, lines), chosen && `in full ${what} ${chosen}, the others faint`]);
}
