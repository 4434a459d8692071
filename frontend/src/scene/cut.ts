// From a layer's array to the map that is shown: filtered, merged into words, renormalised, aggregated.

import type { Item, Side } from "./axis";
import { type Numbers, SQUARE } from "./data";

/** A layer as it arrived, [head query key]; a byte stands for a root, values are shares of `scale`. */
export interface Layer {
  readonly shape: readonly [number, number, number];
  readonly numbers: Numbers;
  readonly encoding: "plain" | "sqrt" | "signed";
  readonly scale: number;
  readonly signed: boolean;
  /** How many tokens each query stands for, where some are blocks of patches. */
  readonly counts?: readonly number[] | undefined;
  /** The mean over queries, [head key], where more is known of it than bytes say. */
  readonly received?: Float32Array | undefined;
}

/**
 * One map as it is shown, [row column]. `codes` are bytes of √(|value| / scale), `sign` is there for matrices that may
 * be negative, `values` where more is known than the bytes say. `head` is the model's own index, -1 for an aggregate.
 */
export interface Shown {
  readonly head: number;
  readonly rows: number;
  readonly columns: number;
  readonly codes: Uint8Array;
  readonly sign: Int8Array | null;
  readonly values: Float32Array | null;
  readonly scale: number;
}

export function value(map: Shown, at: number): number {
  if (map.values) return map.values[at] ?? NaN;
  const size = (SQUARE[map.codes[at] ?? 0] ?? NaN) * map.scale;
  return map.sign && map.sign[at]! < 0 ? -size : size;
}

/** What each byte of an encoding stands for, as a share. */
const SIGNED = Float32Array.from({ length: 256 }, (_, byte) => Math.sign(byte - 127) * ((byte - 127) / 127) ** 2);

/** A map from values: bytes of the root of their share of `scale`. */
export function fromValues(
  head: number,
  rows: number,
  columns: number,
  values: Float32Array,
  scale: number,
  signed: boolean,
): Shown {
  const codes = new Uint8Array(values.length);
  const sign = signed ? new Int8Array(values.length) : null;
  for (let i = 0; i < values.length; i++) {
    const v = values[i]!;
    codes[i] = Math.min(255, Math.round(255 * Math.sqrt(Math.abs(v) / scale)));
    if (sign) sign[i] = v < 0 ? -1 : 1;
  }
  return { head, rows, columns, codes, sign, values, scale };
}

/** What one head has from some tokens to others, [row column] as `cut` says it; renormalised over all the shown ones. */
export function along(
  layer: Layer,
  place: number,
  rows: readonly Item[],
  columns: readonly Item[],
  shown: Side,
  renormalise: boolean,
): Float64Array {
  const { numbers, encoding, counts, scale } = layer;
  const [, queries, keys] = layer.shape;
  const decode = encoding === "sqrt" ? SQUARE : encoding === "signed" ? SIGNED : null;
  const found = new Float64Array(rows.length * columns.length);
  const all = renormalise ? shown.items : columns;
  const values = new Float64Array(all.length);
  rows.forEach((row, a) => {
    // From the pieces of a query to those of a key: the mean of the sums.
    let weights = 0;
    for (let q = row.start; q < row.end; q++) weights += counts?.[q] ?? 1;
    let total = 0;
    for (let b = 0; b < all.length; b++) {
      const { start, end } = all[b]!;
      let sum = 0;
      for (let q = row.start; q < row.end; q++) {
        const weight = counts?.[q] ?? 1;
        const base = (place * queries + q) * keys;
        for (let k = start; k < end; k++) {
          const number = numbers[base + k]!;
          sum += weight * (decode ? decode[number]! : number);
        }
      }
      values[b] = (sum / weights) * scale;
      total += Math.abs(values[b]!);
    }
    const by = renormalise && total > 1e-6 ? total : 1;
    for (let b = 0; b < columns.length; b++)
      found[a * columns.length + b] = values[all === columns ? b : shown.of[columns[b]!.start]!]! / by;
  });
  return found;
}

/** One head of a layer. To a word: the sum over its pieces; from a word: the mean. */
export function cut(layer: Layer, place: number, head: number, rows: Side, columns: Side, renormalise: boolean): Shown {
  const [, queries, keys] = layer.shape;
  const base = place * queries * keys;
  const [R, C] = [rows.items.length, columns.items.length];
  const { numbers } = layer;
  const bytes = numbers instanceof Uint8Array && layer.encoding === "sqrt" ? numbers : null;
  const split =
    rows.items.some((item) => item.end > item.start + 1) || columns.items.some((item) => item.end > item.start + 1);
  if (bytes && !split && !renormalise) {
    const plain = { head, rows: R, columns: C, sign: null, values: null, scale: layer.scale };
    if (rows.all && columns.all) {
      const map = { ...plain, codes: bytes.subarray(base, base + R * C) };
      if (layer.received) means.set(map, layer.received.subarray(place * C, (place + 1) * C));
      return map;
    }
    const codes = new Uint8Array(R * C);
    const from = columns.items.map((item) => item.start);
    for (let a = 0; a < R; a++) {
      const row = base + rows.items[a]!.start * keys;
      for (let b = 0; b < C; b++) codes[a * C + b] = bytes[row + from[b]!]!;
    }
    return { ...plain, codes };
  }
  const values = new Float32Array(R * C);
  const decode = layer.encoding === "sqrt" ? SQUARE : layer.encoding === "signed" ? SIGNED : null;
  const to = columns.of;
  const sums = new Float64Array(C);
  for (let a = 0; a < R; a++) {
    const { start, end } = rows.items[a]!;
    sums.fill(0);
    let weights = 0;
    for (let q = start; q < end; q++) {
      const weight = layer.counts?.[q] ?? 1;
      weights += weight;
      for (let k = 0, at = base + q * keys; k < keys; k++, at++) {
        const b = to[k]!;
        if (b >= 0) sums[b]! += weight * (decode ? decode[numbers[at]!]! : numbers[at]!);
      }
    }
    let sum = 0;
    for (let b = 0; b < C; b++) {
      const found = (sums[b]! / weights) * layer.scale;
      values[a * C + b] = found;
      sum += Math.abs(found);
    }
    if (renormalise && sum > 1e-6) for (let b = 0; b < C; b++) values[a * C + b]! /= sum;
  }
  const scale =
    layer.scale === 1 || renormalise
      ? 1
      : Math.max(
          1e-12,
          values.reduce((most, v) => Math.max(most, Math.abs(v)), 0),
          layer.scale,
        );
  return fromValues(head, R, C, values, scale, layer.signed);
}

/** Several maps in one: their mean, or the largest of each pair (by magnitude). */
export function combine(maps: readonly Shown[], how: "mean" | "max"): Shown {
  const first = maps[0];
  if (!first || maps.length === 1) return first ?? fromValues(-1, 0, 0, new Float32Array(), 1, false);
  const values = new Float32Array(first.rows * first.columns);
  for (let i = 0; i < values.length; i++) {
    let found = 0;
    for (const map of maps) {
      const v = value(map, i);
      if (how === "mean") found += v / maps.length;
      else if (Math.abs(v) > Math.abs(found)) found = v;
    }
    values[i] = found;
  }
  return fromValues(
    -1,
    first.rows,
    first.columns,
    values,
    Math.max(...maps.map((map) => map.scale)),
    maps.some((map) => map.sign !== null),
  );
}

/** The first minus the second; both of one shape. The scale is that of the larger. */
export function difference(a: Shown, b: Shown): Shown {
  if (a.rows !== b.rows || a.columns !== b.columns) throw new Error("only inputs of as many tokens can be subtracted");
  const values = new Float32Array(a.codes.length);
  for (let i = 0; i < values.length; i++) values[i] = value(a, i) - value(b, i);
  return fromValues(a.head, a.rows, a.columns, values, Math.max(a.scale, b.scale), true);
}

const means = new WeakMap<Shown, Float32Array>();

/** The mean over rows of what each column receives. */
export function received(map: Shown): Float32Array {
  const known = means.get(map);
  if (known) return known;
  const found = new Float32Array(map.columns);
  means.set(map, found);
  for (let a = 0; a < map.rows; a++) for (let b = 0; b < map.columns; b++) found[b]! += value(map, a * map.columns + b);
  for (let b = 0; b < map.columns; b++) found[b]! /= map.rows || 1;
  return found;
}

const shares = new WeakMap<Shown, Float32Array>();

/**
 * What each row gives to a key on average, of the `seen` ones of its keys that it can see, as shares of the scale: 1/n
 * where all of its weight is shown. A matrix with signs has no shares to give: there it is the mean size of all it
 * shows.
 */
export function fair(map: Shown, seen: ArrayLike<number>): Float32Array {
  const known = shares.get(map);
  if (known) return known;
  const found = new Float32Array(map.rows);
  shares.set(map, found);
  let [sum, count] = [0, 0];
  for (let a = 0; a < map.rows; a++) {
    let row = 0;
    for (let at = a * map.columns; at < (a + 1) * map.columns; at++) row += SQUARE[map.codes[at]!]!;
    found[a] = row / (seen[a] || 1);
    sum += row;
    count += seen[a]!;
  }
  return map.sign ? found.fill(sum / (count || 1)) : found;
}
