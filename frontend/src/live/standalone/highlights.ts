// What is worth a first look at a pass's weights: the figures beside the grid, sinks, what each head does
// (headscope.views.highlights).

import { type AxisInfo, type HighlightsInfo, SMALL_WORDS } from "../../protocol";
import type { Highlight } from "../../scene/opening";
import type { LayerMaps } from "./whatif";

const SINK = 2;
const [SMALL, ACROSS, LINKED] = [0.3, 1.25, 0.3];
/** So many keys a query has to see before its row says how evenly a head looks. */
const ROWS = 5;

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

/** The entropy of a row. */
const nat = (row: Float32Array): number => row.reduce((sum, w) => (w > 0 && w < 1 ? sum - w * Math.log(w) : sum), 0);

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
    entropy: nat,
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

const six = (figure: number): number => (Number.isNaN(figure) ? -1 : Math.round(figure * 1e6) / 1e6);

/** What each head does, by the figures of `measure` and, of two inputs, by what moves. */
export function highlights(
  maps: Maps,
  axis: AxisInfo,
  figure: (name: string) => number[][],
  moved: readonly (readonly number[])[] | null,
): HighlightsInfo {
  const { tokens, layers } = maps;
  const words = wordsOf(maps, axis);
  const found = each(maps, (weights, layer) => link(weights, layers[layer]!.seen, tokens, words)).flat();
  const even = each(maps, (weights, layer) => {
    const sees = (query: number): number => sight(layers[layer]!.seen, tokens, query);
    const over = (value: (query: number) => number): number =>
      mean(tokens, (query) => (sees(query) < ROWS ? null : value(query)));
    const nats = over((query) => nat(weights.subarray(query * tokens, (query + 1) * tokens)));
    return Math.exp(Math.min(0, nats - over((query) => Math.log(sees(query)))));
  }).flat();
  const near = ["previous", "next", "current"].map((name) => figure(name).flat().map(six));
  return {
    query: found.map(({ query }) => query),
    key: found.map(({ key }) => key),
    weight: found.map(({ weight }) => six(weight)),
    score: found.map(({ score }) => six(score)),
    share: found.map(({ share }) => six(share)),
    alike: found.map(({ alike }) => six(alike)),
    near: even.map((_, at) => Math.max(...near.map((shares) => shares[at]!))),
    evenness: even.map(six),
    ...(moved && { moved: moved.flat().map(six) }),
  };
}

/** The words: the first piece of each and the piece after the last word, what they are, and what a link of two counts. */
interface Words {
  readonly starts: readonly number[];
  readonly bare: readonly string[];
  /** 0 where it is nothing to look at. */
  readonly worth: Float64Array;
}

function wordsOf(maps: Maps, { words, sequences }: AxisInfo): Words {
  const { special } = maps;
  const starts = [...words!.group, -1].flatMap((word, at, all) => (word === all[at - 1] ? [] : at));
  const bare = words!.texts.map((text) => text.replace(/^(?:##|[▁Ġ]+)/, "").toLowerCase());
  const wordAt = (place: number): number => starts.findLastIndex((start) => start <= place);
  const sink = new Set(sinks(maps).map(wordAt));
  const says = bare.map((word, at) => {
    if (special[starts[at]!] || !/[\p{L}\p{N}]/u.test(word)) return 0;
    return SMALL_WORDS.includes(word) || /^[\0-\x7f]$/.test(word) ? SMALL : 1;
  });
  const across = (query: number, key: number): number =>
    sequences![starts[query]!] === sequences![starts[key]!] ? 1 : ACROSS;
  const count = bare.length;
  const worth = Float64Array.from({ length: count ** 2 }, (_, at) => {
    const [query, key] = [Math.floor(at / count), at % count];
    return Math.abs(query - key) <= 1 || sink.has(key) ? 0 : says[query]! * says[key]! * across(query, key);
  });
  return { starts, bare, worth };
}

// The link that stands out most: above what its key gets from other queries, and above the others at its distance; and how
// many words look at another so.
function link(
  weights: Float32Array,
  seen: Uint8Array | null,
  tokens: number,
  { starts, bare, worth }: Words,
): Pick<Highlight, "query" | "key" | "weight" | "score" | "share" | "alike"> {
  const count = bare.length;
  const words = new Float64Array(count ** 2);
  const sight = new Uint8Array(count ** 2);
  for (let query = 0; query < count; query++)
    for (let from = starts[query]!; from < starts[query + 1]!; from++)
      for (let key = 0; key < count; key++)
        for (let to = starts[key]!; to < starts[key + 1]!; to++) {
          words[query * count + key]! += weights[from * tokens + to]! / (starts[query + 1]! - starts[query]!);
          sight[query * count + key]! |= Number(!seen || seen[from * tokens + to] !== 0);
        }
  const received = new Float64Array(count);
  const number = new Float64Array(count);
  for (let at = 0; at < words.length; at++) {
    received[at % count]! += words[at]!;
    number[at % count]! += sight[at]!;
  }
  const above = (at: number): number => {
    const key = at % count;
    return words[at]! - (received[key]! - words[at]!) / Math.max(1, number[key]! - 1);
  };
  let [best, score, some, linked, alike] = [-1, -Infinity, 0, 0, 0];
  for (let query = 0; query < count; query++) {
    let [most, own] = [-1, -Infinity];
    for (let at = query * count; at < (query + 1) * count; at++) {
      if (worth[at] === 0 || sight[at] === 0) continue;
      const more = above(at);
      if (more > own) [most, own] = [at, more];
      if (more * worth[at]! > score) [best, score] = [at, more * worth[at]!];
    }
    some += Number(most >= 0);
    if (own <= LINKED) continue;
    linked++;
    alike += Number(bare[query] === bare[most % count]);
  }
  if (best < 0) return { query: -1, key: -1, weight: 0, score: 0, share: 0, alike: 0 };
  const [query, key, weight] = [Math.floor(best / count), best % count, words[best]!];
  let along = -weight;
  for (let from = Math.max(0, query - key); from < count && from + key - query < count; from++)
    along += words[from * count + from + key - query]!;
  const others = count - Math.abs(query - key) - 1;
  if (others > 0) score = Math.min(score, (weight - along / others) * worth[best]!);
  return {
    ...{ query: starts[query]!, key: starts[key]!, weight, score: Math.max(0, score) },
    ...{ share: linked / some, alike: linked > 0 ? alike / linked : 0 },
  };
}

/**
 * Half the sum of the absolute differences of a row, a mean over rows: how much each head looks elsewhere; NaN of one that
 * is switched off.
 */
export function difference(maps: Maps, other: Maps): number[][] {
  const { tokens } = maps;
  return maps.layers.map(({ heads }, layer) =>
    Array.from({ length: heads }, (_, number) => {
      const [mine, theirs] = [head(maps, layer, number), head(other, layer, number)];
      if (![mine, theirs].every((weights) => weights.some(Boolean))) return NaN;
      let total = 0;
      for (let at = 0; at < mine.length; at++) total += Math.abs(mine[at]! - theirs[at]!);
      return total / 2 / tokens;
    }),
  );
}
