// What a page does with a model of its own: changes as texts, their rules on a worked example, half floats.

import { expect, test } from "vitest";
import { half } from "../src/live/standalone/graphs";
import { rounding } from "../src/live/standalone/mount";
import { apply, type Pattern, parse, write } from "../src/live/standalone/whatif";

const TEXTS = [
  "L4H2 off",
  "L4 uniform",
  "L4H2 mean",
  "all previous",
  "L4H2 hide 3>5",
  "all hide >0",
  "all hide >1-3",
  "L4 hide 3>",
  "L4H2 temperature 0.5",
  "all temperature 2.0",
  "L4H2 scale 3>5 0.5",
  "all scale >1-3 2.0",
  "L4 scale 3> 2.0",
];

test("a change is written as it is read", () => {
  for (const text of TEXTS) expect(write(parse(text))).toBe(text);
  expect(write(parse("  l4h2   OFF "))).toBe("L4H2 off");
  expect(write(parse("L0H1 temperature 2"))).toBe("L0H1 temperature 2.0");
});

test("what is no change says what is expected", () => {
  for (const text of [
    "",
    "off",
    "L4H2",
    "H2 off",
    "L4H2 off now",
    "L4 hide",
    "L4 hide >",
    "L4 hide 3",
    "L4 temperature",
    "L4 temperature x",
    "L4H2 mute",
    "L4 scale >3",
    "L4 scale > 3",
    "L4 scale 2",
  ]) {
    expect(() => parse(text), text).toThrow(`found '${text}'`);
  }
  expect(() => parse("L4 hide >3-2")).toThrow("keys from the first to the last, found 3 to 2");
  expect(() => parse("L4 scale >3 0")).toThrow("expected a scale above 0, found 0");
  expect(() => parse("L4 temperature -1")).toThrow("expected a temperature above 0, found -1");
});

// One head, three tokens, a causal mask.
const pattern = (): Pattern => ({
  weights: Float32Array.of(1, 0, 0, 0.25, 0.75, 0, 0.5, 0.25, 0.25),
  heads: 1,
  tokens: 3,
  seen: Uint8Array.of(1, 0, 0, 1, 1, 0, 1, 1, 1),
  score: (_, query, key) => (query === 2 && key === 2 ? Math.log(3) : 0),
});
const after = (text: string, change: Partial<Pattern> = {}): number[] =>
  [...apply(parse(text), { ...pattern(), ...change })].map((value) => Math.round(value * 1e4) / 1e4);

test("changes of three causal tokens, on paper", () => {
  expect(after("all off")).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
  expect(after("all uniform")).toEqual([1, 0, 0, 0.5, 0.5, 0, 0.3333, 0.3333, 0.3333]);
  expect(after("all previous")).toEqual([1, 0, 0, 1, 0, 0, 0, 1, 0]);
  // Key 0 has the mean 1.75 / 3, key 1 that of two rows, 0.5, key 2 of one, 0.25.
  expect(after("all mean").slice(3)).toEqual([0.5385, 0.4615, 0, 0.4375, 0.375, 0.1875]);
  expect(after("all hide 2>0")).toEqual([1, 0, 0, 0.25, 0.75, 0, 0, 0.5, 0.5]);
  expect(after("all hide >0")).toEqual([0, 0, 0, 0, 1, 0, 0, 0.5, 0.5]);
  expect(after("all hide 2>0-1")).toEqual([1, 0, 0, 0.25, 0.75, 0, 0, 0, 1]);
  expect(after("all hide 1>")).toEqual([1, 0, 0, 0, 0, 0, 0.5, 0.25, 0.25]);
  expect(after("all scale >1-2 2")).toEqual([1, 0, 0, 0.1429, 0.8571, 0, 0.3333, 0.3333, 0.3333]);
  expect(after("all scale 2>0 0.5")).toEqual([1, 0, 0, 0.25, 0.75, 0, 0.3333, 0.3333, 0.3333]);
  expect(after("all temperature 0.5").slice(3)).toEqual([0.1, 0.9, 0, 0.6667, 0.1667, 0.1667]);
});

test("a row whose visible keys had no weight to speak of takes softmax again", () => {
  expect(after("all hide 2>0", { weights: Float32Array.of(1, 0, 0, 0.25, 0.75, 0, 1, 0, 0) }).slice(6)).toEqual([
    0, 0.25, 0.75,
  ]);
});

test("half floats are the numbers that they stand for", () => {
  expect([0x0000, 0x3c00, 0xc000, 0x3555, 0x0001, 0x7bff].map(half)).toEqual([
    0,
    1,
    -2,
    0.333251953125,
    2 ** -24,
    65504,
  ]);
});

test("the page says what rounding does", () => {
  const told = { kind: "int8" as const, largest: 0.062, mean: 0.0008, same: 0.989, texts: 9, weights: 100 };
  expect(rounding(told, 22.7e6)).toBe(
    "This page holds the model: 22.7 million weights, rounded to int8. Beside float32 its attention weights differ by at most 0.062, on average by 0.001; in 98.9 % of the rows the largest stays the largest (9 texts).",
  );
  expect(rounding({ ...told, kind: "float32" }, 1e6)).toBe(
    "This page holds the model: 1.0 million weights, as they are.",
  );
});
