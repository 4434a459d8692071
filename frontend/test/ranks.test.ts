import { expect, test } from "vitest";
import { phrase } from "../src/scene/says";
import type { Scene } from "../src/scene/scene";
import { DEFAULTS } from "../src/scene/state";

/** A head of a part with so many queries and keys, with these measures; `hidden` is its mask. */
function scene(
  queries: number,
  keys: number,
  measures: Record<string, number>,
  hidden: Uint8Array | null = null,
): Scene {
  const pieces = (n: number): object => ({ pieces: Array.from({ length: n }, () => "a") });
  const part = {
    query: pieces(queries),
    key: pieces(keys),
    measures: Object.keys(measures).map((name) => ({ name })),
    index: [0],
    heads: [[0]],
  };
  const data = {
    figure: (_: unknown, measure: { name: string }) => measures[measure.name],
    hidden: () => hidden,
    layer: () => ({ shape: [1, queries, keys], numbers: new Uint8Array(queries * keys).fill(1) }),
  };
  return {
    part,
    data,
    state: { ...DEFAULTS, layer: 0 },
    head: 0,
    many: false,
    aggregated: false,
    against: null,
  } as unknown as Scene;
}

test("a head is sharp or spread out by its entropy beside that of even attention, whatever measures there are", () => {
  expect(phrase(scene(3, 16, { first: 0, entropy: 0 }))).toBe("sharp, entropy 0.0 nats on this input");
  expect(phrase(scene(3, 16, { entropy: 1.3 }))).toBe("sharp, entropy 1.3 nats on this input"); // ln 16 is 2.8
  expect(phrase(scene(3, 16, { entropy: 1.5 }))).toBe("spread out, entropy 1.5 nats on this input");
  const later = Uint8Array.from({ length: 16 }, (_, pair) => Number(pair % 4 > Math.floor(pair / 4)));
  expect(phrase(scene(4, 4, { previous: 0.1, entropy: 0.5 }, later))).toBe(
    "spread out, entropy 0.5 nats on this input",
  ); // even: 0.8
  expect(phrase(scene(1, 1, { current: 0, entropy: 0 }))).toBe("");
  expect(phrase(scene(3, 16, { first: 0.5, entropy: 0.1 }))).toBe("50% on the first token, on this input");
});
