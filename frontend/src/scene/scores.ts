// From q and k to the weight: the numbers behind one query's row.

import type { Block, LayerNeurons } from "./source";

/** One token's vector of a head; no copy. */
export function vector(block: Block, head: number, token: number): Float32Array {
  const [, tokens, size] = block.shape;
  const at = (head * tokens + token) * size;
  return block.numbers.subarray(at, at + size);
}

export interface Scores {
  /** q·k of each key. */
  readonly dots: Float32Array;
  /** What is added to scaling · q·k. */
  readonly bias: Float32Array | null;
  /** softcap(scaling · q·k + bias) of each key. */
  readonly scores: Float32Array;
  /** Keys that the query cannot see. */
  readonly masked: Uint8Array;
}

/** A bias below this hides a key in place of a mask: minus infinity comes as -1e9. */
const HIDDEN = -1e8;

/** The scores of one query with every key, and what they are made of; `unseen` says which keys it cannot see. */
export function scores(layer: LayerNeurons, place: number, query: number, unseen: (key: number) => boolean): Scores {
  const { info, q, k, bias: biases } = layer;
  const mine = vector(q, place, query);
  const keyHead = info.key_head[place] ?? 0;
  const [, queries] = q.shape;
  const [, keys] = k.shape;
  const bias = biases
    ? biases.numbers.slice((place * queries + query) * keys, (place * queries + query + 1) * keys)
    : null;
  const dots = new Float32Array(keys);
  const found = new Float32Array(keys);
  const masked = new Uint8Array(keys);
  for (let j = 0; j < keys; j++) {
    dots[j] = dot(mine, vector(k, keyHead, j));
    const sum = info.scaling * dots[j]! + (bias ? bias[j]! : 0);
    found[j] = info.softcap ? info.softcap * Math.tanh(sum / info.softcap) : sum;
    if (unseen(j) || (bias && bias[j]! < HIDDEN)) masked[j] = 1;
  }
  return { dots, bias, scores: found, masked };
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

export const product = (a: Float32Array, b: Float32Array): Float32Array => a.map((x, i) => x * b[i]!);

/** The magnitude that 98.5% of the values stay below: the scale of a block's colours. */
export function span(given: readonly (Float32Array | null)[]): number {
  const vectors = given.filter((each) => each !== null);
  const size = vectors.reduce((sum, each) => sum + each.length, 0);
  const step = Math.max(1, Math.floor(size / 20000));
  const all: number[] = [];
  let seen = 0;
  for (const each of vectors) for (const x of each) if (seen++ % step === 0) all.push(Math.abs(x));
  all.sort((a, b) => a - b);
  return all[Math.floor(all.length * 0.985)] || 1;
}
