// What is worth a first look at a pass's weights: the figures beside the grid, sinks, the head that opens
// (headscope.views.highlights).

const SINK = 2;
const NEIGHBOUR = 0.1;

/** The weights of one input: [head query key] of each layer, and what each query sees (null: all). */
export interface Maps {
  readonly tokens: number;
  readonly special: readonly boolean[];
  readonly layers: readonly {
    readonly heads: number;
    readonly weights: Float32Array;
    readonly seen: Uint8Array | null;
  }[];
}

type Rows = (query: number) => boolean;

const head = ({ tokens, layers }: Maps, layer: number, number: number): Float32Array =>
  layers[layer]!.weights.subarray(number * tokens * tokens, (number + 1) * tokens * tokens);

/** A figure of every head, [layer head]. */
function each(maps: Maps, figure: (weights: Float32Array, layer: number) => number): number[][] {
  return maps.layers.map(({ heads }, layer) =>
    Array.from({ length: heads }, (_, number) => figure(head(maps, layer, number), layer)),
  );
}

function mean(tokens: number, counts: Rows, value: (query: number) => number): number {
  let total = 0;
  let number = 0;
  for (let query = 0; query < tokens; query++) {
    if (!counts(query)) continue;
    total += value(query);
    number++;
  }
  return number > 0 ? total / number : NaN;
}

const sees = (seen: Uint8Array | null, tokens: number, query: number, key: number): boolean =>
  !seen || seen[query * tokens + key] !== 0;

/** The measure of this name on an input; null where it has none. `separators` are the places of separators. */
export function measure(name: string, maps: Maps, separators: readonly number[]): number[][] | null {
  const { tokens } = maps;
  const offset = { previous: -1, current: 0, next: 1 }[name];
  if (offset !== undefined) {
    return each(maps, (weights, layer) => {
      const { seen } = maps.layers[layer]!;
      const reaches = (query: number): boolean =>
        query + offset >= 0 && query + offset < tokens && sees(seen, tokens, query, query + offset);
      return mean(tokens, reaches, (query) => weights[query * tokens + query + offset]!);
    });
  }
  if (name === "first") {
    return each(maps, (weights, layer) => {
      const { seen } = maps.layers[layer]!;
      const choice = (query: number): boolean =>
        !seen || seen.subarray(query * tokens, (query + 1) * tokens).reduce((a, b) => a + b, 0) > 1;
      return mean(tokens, choice, (query) => weights[query * tokens]!);
    });
  }
  if (name === "sep") {
    return each(maps, (weights) =>
      mean(
        tokens,
        () => true,
        (query) => separators.reduce((total, key) => total + weights[query * tokens + key]!, 0),
      ),
    );
  }
  if (name === "entropy") {
    return each(maps, (weights) =>
      mean(
        tokens,
        () => true,
        (query) => {
          let total = 0;
          for (let key = 0; key < tokens; key++) {
            const weight = weights[query * tokens + key]!;
            if (weight > 0 && weight < 1) total -= weight * Math.log(weight);
          }
          return total;
        },
      ),
    );
  }
  return null;
}

/** The places of special tokens, or the first one, that over all heads take at least `SINK` even shares. */
export function sinks(maps: Maps): number[] {
  const { tokens, layers, special } = maps;
  const received = new Float64Array(tokens);
  const even = new Float64Array(tokens);
  for (const { heads, weights, seen } of layers) {
    for (let query = 0; query < tokens; query++) {
      let number = 0;
      for (let key = 0; key < tokens; key++) number += Number(sees(seen, tokens, query, key));
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

/**
 * How telling each head is: of each row the largest weight above what the key receives on average (a mean over rows).
 */
export function telling(maps: Maps): number[][] {
  const { tokens, special } = maps;
  const all = special.every(Boolean);
  return each(maps, (weights, layer) => {
    const { seen } = maps.layers[layer]!;
    const received = new Float64Array(tokens);
    const number = new Float64Array(tokens);
    for (let query = 0; query < tokens; query++) {
      for (let key = 0; key < tokens; key++) {
        received[key]! += weights[query * tokens + key]!;
        number[key]! += Number(sees(seen, tokens, query, key));
      }
    }
    return mean(
      tokens,
      (query) => all || !special[query],
      (query) => {
        let most = -Infinity;
        for (let key = 0; key < tokens; key++) {
          const worth = special[key] ? 0 : Math.abs(query - key) <= 1 ? NEIGHBOUR : 1;
          const excess = sees(seen, tokens, query, key)
            ? (weights[query * tokens + key]! - received[key]! / Math.max(1, number[key]!)) * worth
            : 0;
          most = Math.max(most, excess);
        }
        return most;
      },
    );
  });
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

/** The places of the layer that opens, and of the head that opens of each layer: those of the highest scores. */
export function opening(scores: readonly (readonly number[])[]): { readonly layer: number; readonly heads: number[] } {
  const rounded = scores.map((row) => row.map((score) => (Number.isNaN(score) ? -1 : Math.round(score * 1e4) / 1e4)));
  const best = (row: readonly number[]): number => row.indexOf(Math.max(...row));
  const heads = rounded.map(best);
  return { layer: best(rounded.map((row, layer) => row[heads[layer]!]!)), heads };
}
