import { expect, test } from "vitest";
import { placeNames } from "../src/charts";
import { layout } from "../src/grid";
import { paint } from "../src/heat";
import { phrase } from "../src/panel";

test.each([
  [6, 12, 900],
  [24, 16, 340],
  [36, 32, 340],
  [1, 1, 900],
])("%d × %d heads fit in %d pixels", (rows, columns, width) => {
  const { size, gap } = layout(rows, columns, width, 560, 48);
  expect(size).toBeGreaterThanOrEqual(2);
  expect(columns * (size + gap)).toBeLessThanOrEqual(width + 2);
  expect(rows * (size + gap)).toBeLessThanOrEqual(562);
});

test("a matrix is painted nearest when it grows, by its maximum when it shrinks", () => {
  const lut = Uint32Array.from({ length: 256 }, (_, i) => i);
  expect([...paint(Uint8Array.from([1, 2, 3, 4]), 2, 2, lut, 4, 2)]).toEqual([1, 1, 2, 2, 3, 3, 4, 4]);
  expect([...paint(Uint8Array.from([1, 9, 3, 4]), 2, 2, lut, 1, 1)]).toEqual([9]);
});

test("names do not cover one another", () => {
  const points = Array.from({ length: 12 }, (_, i) => ({ x: 100 + (i % 3), y: 50 + i, text: "L10H11" }));
  const placed = placeNames(points, 260, 8);
  expect(placed.length).toBeGreaterThan(1);
  expect(placed.length).toBeLessThanOrEqual(8);
  for (const a of placed) {
    for (const b of placed) {
      if (a !== b && a.anchor === b.anchor) expect(Math.abs(a.y - b.y)).toBeGreaterThanOrEqual(12);
    }
  }
});

const map = (weights: number[][]) => ({
  rows: weights.length,
  columns: weights[0]!.length,
  codes: new Uint8Array(0),
  weight: (row: number, column: number) => weights[row]![column]!,
});

test("a head is said in a phrase", () => {
  const pieces = ["[CLS]", "a", "[SEP]"];
  const say = (weights: number[][], causal = false) => phrase(map(weights), pieces, pieces, causal);
  expect(say([[1, 0, 0], [1, 0, 0], [0.9, 0.1, 0]])).toBe("97% on the first token");
  expect(say([[0, 0, 1], [0, 0, 1], [0, 0, 1]])).toBe("100% on [SEP]");
  expect(say([[1, 0, 0], [0, 1, 0], [0, 0, 1]], true)).toBe("100% on itself");
});

test("attention that goes nowhere is spread out", () => {
  const flat = Array.from({ length: 10 }, () => Array.from({ length: 10 }, () => 0.1));
  const pieces = flat.map((_, i) => `t${i}`);
  expect(phrase(map(flat), pieces, pieces, false)).toBe("spread out, entropy 2.3 nats");
});
