// What is worth a first look at a pass's weights: the figures beside the grid, sinks, what each head does
// (headscope.views.highlights).

import { type HighlightsInfo, SMALL_WORDS } from "../../protocol";
import { piece } from "../../scene/format";
import type { Highlight } from "../../scene/opening";
import type { LayerMaps } from "./whatif";

const SINK = 2;
const [SMALL, ACROSS] = [0.3, 1.25];

/** The weights of one input. */
export interface Maps {
  readonly tokens: number;
  readonly special: readonly boolean[];
  readonly layers: readonly LayerMaps[];
}

const head = ({ tokens, layers }: Maps, layer: number, number: number): Float32Array =>
  layers[layer]!.weights.subarray(number * tokens * tokens, (number + 1) * tokens * tokens);

/** A figure of every head, [layer head]. */
function each<T>(maps: Maps, figure: (weights: Float32Array, layer: number) => T): T[][] {
  return maps.layers.map(({ heads }, layer) =>
    Array.from({ length: heads }, (_, number) => figure(head(maps, layer, number), layer)),
  );
}

/** The mean of the queries that count. */
function mean(tokens: number, value: (query: number) => number | null): number {
  let total = 0;
  let number = 0;
  for (let query = 0; query < tokens; query++) {
    const found = value(query);
    if (found === null) continue;
    total += found;
    number++;
  }
  return number > 0 ? total / number : NaN;
}

const sees = (seen: Uint8Array | null, tokens: number, query: number, key: number): boolean =>
  !seen || seen[query * tokens + key] !== 0;

/** How many keys a query sees. */
const sight = (seen: Uint8Array | null, tokens: number, query: number): number =>
  seen ? seen.subarray(query * tokens, (query + 1) * tokens).reduce((a, b) => a + b, 0) : tokens;

/** The measure of this name on an input; null where it has none. `separators` are the places of separators. */
export function measure(name: string, maps: Maps, separators: readonly number[]): number[][] | null {
  const { tokens } = maps;
  const beside =
    (offset: number): Figure =>
    (row, query, seen) => {
      const there = query + offset >= 0 && query + offset < tokens && sees(seen, tokens, query, query + offset);
      return there ? row[query + offset]! : null;
    };
  const figures: Record<string, Figure> = {
    previous: beside(-1),
    current: beside(0),
    next: beside(1),
    first: (row, query, seen) => (!seen || sight(seen, tokens, query) > 1 ? row[0]! : null),
    sep: (row) => separators.reduce((total, key) => total + row[key]!, 0),
    entropy: (row) => row.reduce((total, w) => (w > 0 && w < 1 ? total - w * Math.log(w) : total), 0),
  };
  const figure = figures[name];
  return figure
    ? each(maps, (weights, layer) =>
        mean(tokens, (query) =>
          figure(weights.subarray(query * tokens, (query + 1) * tokens), query, maps.layers[layer]!.seen),
        ),
      )
    : null;
}

/** What a query's row has; null where it does not count. */
type Figure = (row: Float32Array, query: number, seen: Uint8Array | null) => number | null;

/** The places of special tokens, or the first one, that over all heads take at least `SINK` even shares. */
export function sinks(maps: Maps): number[] {
  const { tokens, layers, special } = maps;
  const received = new Float64Array(tokens);
  const even = new Float64Array(tokens);
  for (const { heads, weights, seen } of layers) {
    for (let query = 0; query < tokens; query++) {
      const number = sight(seen, tokens, query);
      for (let key = 0; key < tokens; key++) {
        if (sees(seen, tokens, query, key)) even[key]! += heads / Math.max(1, number);
        for (let each = 0; each < heads; each++) received[key]! += weights[(each * tokens + query) * tokens + key]!;
      }
    }
  }
  return [...received.keys()].filter(
    (key) => (key === 0 || special[key]) && received[key]! >= (1 - 1e-6) * SINK * even[key]! && received[key]! > 0,
  );
}

/** What is known of the tokens. */
export interface Axis {
  readonly pieces: readonly string[];
  readonly words: readonly number[];
  readonly sequences: readonly number[];
}

const four = (figure: number): number => (Number.isNaN(figure) ? -1 : Math.round(figure * 1e4) / 1e4);

/** What each head does, by the figures of `measure` and, of two inputs, by what moves. */
export function highlights(
  maps: Maps,
  axis: Axis,
  figure: (name: string) => number[][],
  moved: readonly (readonly number[])[] | null,
): HighlightsInfo {
  const { tokens, layers } = maps;
  const worth = worths(maps, axis);
  const found = each(maps, (weights, layer) => link(weights, layers[layer]!.seen, tokens, worth)).flat();
  const even = layers.flatMap(({ heads, seen }) =>
    Array<number>(heads).fill(mean(tokens, (query) => Math.log(Math.max(1, sight(seen, tokens, query))))),
  );
  const [previous, next, entropy] = ["previous", "next", "entropy"].map((name) => figure(name).flat());
  return {
    query: found.map(({ query }) => query),
    key: found.map(({ key }) => key),
    weight: found.map(({ weight }) => four(weight)),
    score: found.map(({ score }) => four(score)),
    near: previous!.map((before, at) => four(before > next![at]! || Number.isNaN(next![at]!) ? before : next![at]!)),
    evenness: entropy!.map((nats, at) => four(Math.exp(Math.min(0, nats - even[at]!)))),
    ...(moved && { moved: moved.flat().map(four) }),
  };
}

/** What a link between two tokens counts; 0 where it is nothing to look at. */
function worths(maps: Maps, { pieces, words, sequences }: Axis): Float64Array {
  const { tokens, special } = maps;
  const sink = new Set(sinks(maps));
  const says = pieces.map((raw, at) => {
    const word = piece(raw).text.toLowerCase();
    if (special[at] || !/[\p{L}\p{N}]/u.test(word)) return 0;
    return SMALL_WORDS.includes(word) || /^[\0-\x7f]$/.test(word) ? SMALL : 1;
  });
  return Float64Array.from({ length: tokens ** 2 }, (_, at) => {
    const [query, key] = [Math.floor(at / tokens), at % tokens];
    if (Math.abs(query - key) <= 1 || words[query] === words[key] || sink.has(key)) return 0;
    return says[query]! * says[key]! * (sequences[query] === sequences[key] ? 1 : ACROSS);
  });
}

// The link that stands out most: above what its key gets from other queries, and above the others at its distance.
function link(
  weights: Float32Array,
  seen: Uint8Array | null,
  tokens: number,
  worth: Float64Array,
): Pick<Highlight, "query" | "key" | "weight" | "score"> {
  const received = new Float64Array(tokens);
  const number = new Float64Array(tokens);
  for (let at = 0; at < weights.length; at++) {
    received[at % tokens]! += weights[at]!;
    number[at % tokens]! += Number(!seen || seen[at] !== 0);
  }
  let [best, score] = [-1, -Infinity];
  for (let at = 0; at < weights.length; at++) {
    if (worth[at] === 0 || (seen && seen[at] === 0)) continue;
    const key = at % tokens;
    const others = (received[key]! - weights[at]!) / Math.max(1, number[key]! - 1);
    const above = (weights[at]! - others) * worth[at]!;
    if (above > score) [best, score] = [at, above];
  }
  if (best < 0) return { query: -1, key: -1, weight: 0, score: 0 };
  const [query, key, weight] = [Math.floor(best / tokens), best % tokens, weights[best]!];
  let along = -weight;
  for (let from = Math.max(0, query - key); from < tokens && from + key - query < tokens; from++)
    along += weights[from * tokens + from + key - query]!;
  const others = tokens - Math.abs(query - key) - 1;
  if (others > 0) score = Math.min(score, (weight - along / others) * worth[best]!);
  return { query, key, weight, score: Math.max(0, score) };
}

/** Half the sum of the absolute differences of a row, a mean over rows: how much each head looks elsewhere. */
export function difference(maps: Maps, other: Maps): number[][] {
  const { tokens } = maps;
  return maps.layers.map(({ heads }, layer) =>
    Array.from({ length: heads }, (_, number) => {
      const [mine, theirs] = [head(maps, layer, number), head(other, layer, number)];
      let total = 0;
      for (let at = 0; at < mine.length; at++) total += Math.abs(mine[at]! - theirs[at]!);
      return total / 2 / tokens;
    }),
  );
}
