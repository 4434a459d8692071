// Changes of attention as texts, and what they make of a layer's weights: as headscope.WhatIf does.

import { decimal } from "../../scene/format";

type Deed = "off" | "mean" | "uniform" | "previous" | "hide" | "temperature" | "scale";

export interface Change {
  readonly deed: Deed;
  readonly layer: number | null;
  readonly head: number | null;
  readonly query: number | null;
  readonly key: number | null;
  readonly value: number | null;
  /** The last of several keys. */
  readonly last: number | null;
  /** Hidden is a part whose tokens still see each other, but from a `reader` in it, as `headscope.why` masks it. */
  readonly part?: { readonly tokens: ReadonlySet<number>; readonly reader: number };
}

/** A layer: the weights of its heads, [head query key], and what each query sees, [query key] (null: all). */
export interface LayerMaps {
  readonly heads: number;
  readonly weights: Float32Array;
  readonly seen: Uint8Array | null;
}

export interface Pattern extends LayerMaps {
  readonly tokens: number;
  /** What softmax is taken of, between a query and a key. */
  score(head: number, query: number, key: number): number;
}

const TEXT =
  /^(?:all|L(\d+)(?:H(\d+))?)\s+(?:(off|mean|uniform|previous)|temperature\s+(\S+)|hide\s+(\d+)?\s*>\s*(?:(\d+)(?:-(\d+))?)?|scale\s+(\d+)?\s*>\s*(?:(\d+)(?:-(\d+))?)?\s+(\S+))$/i;

const number = (text: string | undefined): number | null => (text === undefined ? null : Number(text));

/** The change that a text says. Throws for one that is none. */
export function parse(text: string): Change {
  const [found, layer, head, plain, given, ...rest] = TEXT.exec(text.trim()) ?? [];
  const factor = rest.pop();
  const deed = (plain?.toLowerCase() ?? (given ? "temperature" : factor ? "scale" : "hide")) as Deed;
  const numbers = rest.map(number);
  const [query, key, last] = [0, 1, 2].map((at) => numbers[at] ?? numbers[at + 3] ?? null) as [
    number | null,
    number | null,
    number | null,
  ];
  const value = number(given ?? factor);
  const placed = deed === "hide" || deed === "scale";
  if (found === undefined || !Number.isFinite(value ?? 0) || (placed && query === null && key === null))
    throw new Error(
      `what if: expected 'L4H2 off', 'L4 uniform', 'L4H2 mean', 'L4H2 previous', 'L4H2 hide 3>5', 'all hide >0', 'L4H2 temperature 0.5' or 'all scale >3-9 2.0', found '${text}'`,
    );
  if (last !== null && last < key!)
    throw new Error(`what if: expected keys from the first to the last, found ${key} to ${last}`);
  if (value !== null && value <= 0) throw new Error(`what if: expected a ${deed} above 0, found ${value}`);
  return { layer: number(layer), head: number(head), deed, query, key, value, last };
}

/** The text that says a change. */
export function write({ deed, layer, head, query, key, value, last }: Change): string {
  const where = layer === null ? "all" : `L${layer}${head === null ? "" : `H${head}`}`;
  const rest =
    deed === "hide" || deed === "scale" ? ` ${query ?? ""}>${key ?? ""}${last === null ? "" : `-${last}`}` : "";
  return `${where} ${deed}${rest}${value === null ? "" : ` ${Number.isInteger(value) ? decimal(value, 1) : value}`}`;
}

/** The weights of a layer after a change that concerns it. */
export function apply(change: Change, pattern: Pattern): Float32Array {
  const { weights, heads, tokens } = pattern;
  const found = weights.slice();
  const chosen = change.head === null ? [...Array(heads).keys()] : [change.head];
  for (const head of chosen) {
    const size = tokens * tokens;
    one(
      change,
      pattern,
      head,
      weights.subarray(head * size, (head + 1) * size),
      found.subarray(head * size, (head + 1) * size),
    );
  }
  return found;
}

function one(change: Change, pattern: Pattern, head: number, weights: Float32Array, found: Float32Array): void {
  const { tokens, seen } = pattern;
  if (change.deed === "off") return void found.fill(0);
  const sees = (query: number, key: number): boolean => !seen || seen[query * tokens + key] !== 0;
  const mean = change.deed === "mean" ? columns(weights, tokens, sees) : null;
  for (let query = 0; query < tokens; query++) {
    const row = weights.subarray(query * tokens, (query + 1) * tokens);
    const out = found.subarray(query * tokens, (query + 1) * tokens);
    if (change.deed === "hide") hide(change, pattern, head, query, row, out, sees);
    else {
      const total = sum(row);
      const made = new Float64Array(tokens);
      if (change.deed === "temperature")
        for (let key = 0; key < tokens; key++) made[key] = row[key]! ** (1 / change.value!);
      else if (change.deed === "scale")
        for (let key = 0; key < tokens; key++) made[key] = row[key]! * (among(change, query, key) ? change.value! : 1);
      else if (mean) for (let key = 0; key < tokens; key++) made[key] = sees(query, key) ? mean[key]! : 0;
      else if (change.deed === "uniform") for (let key = 0; key < tokens; key++) made[key] = sees(query, key) ? 1 : 0;
      else {
        const before = Math.max(query - 1, 0);
        const key = sees(query, before) ? before : query;
        if (sees(query, key)) made[key] = 1;
      }
      const whole = sum(made);
      const factor = (change.value === null ? total : 1) / (whole > 0 ? whole : 1);
      for (let key = 0; key < tokens; key++) out[key] = made[key]! * factor;
    }
  }
}

// Whether a change means what a query gives a key.
const among = (change: Change, query: number, key: number): boolean =>
  (change.query ?? query) === query &&
  (change.key === null || (key >= change.key && key <= (change.last ?? change.key)));

// Of each key the mean of what those that see it give it.
function columns(weights: Float32Array, tokens: number, sees: (query: number, key: number) => boolean): Float64Array {
  const total = new Float64Array(tokens);
  const count = new Float64Array(tokens);
  for (let query = 0; query < tokens; query++) {
    for (let key = 0; key < tokens; key++) {
      if (!sees(query, key)) continue;
      total[key]! += weights[query * tokens + key]!;
      count[key]!++;
    }
  }
  return total.map((value, key) => value / Math.max(1, count[key]!));
}

function hide(
  change: Change,
  pattern: Pattern,
  head: number,
  query: number,
  row: Float32Array,
  out: Float32Array,
  sees: (query: number, key: number) => boolean,
): void {
  const { part } = change;
  if (change.query !== null && change.query !== query) return;
  if (part?.tokens.has(query) && query !== part.reader) return;
  const hidden = (key: number): boolean => (part ? part.tokens.has(key) && key !== query : among(change, query, key));
  const left = [...row.keys()].filter((key) => sees(query, key) && !hidden(key));
  out.fill(0);
  if (left.length === 0) return;
  let whole = 0;
  for (const key of left) whole += row[key]!;
  if (whole > 1e-30) {
    for (const key of left) out[key] = row[key]! / whole;
    return;
  }
  // All that is left had no weight to speak of: softmax is taken again.
  const scores = left.map((key) => pattern.score(head, query, key));
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const all = powers.reduce((a, b) => a + b, 0);
  left.forEach((key, place) => (out[key] = powers[place]! / all));
}

const sum = (row: Float32Array | Float64Array): number => {
  let total = 0;
  for (const value of row) total += value;
  return total;
};
