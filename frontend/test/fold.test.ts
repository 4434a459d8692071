import { expect, test } from "vitest";
import type { AxisInfo } from "../src/protocol";
import { count, length, side } from "../src/scene/axis";
import { cut, type Layer, value } from "../src/scene/cut";
import { choices, DEFAULTS, read } from "../src/scene/state";
import { turned } from "../src/ui/fold";

/** A text with two pictures in it: one of three patches, one of two. */
const axis: AxisInfo = {
  pieces: ["<s>", "p0", "p1", "p2", "Wh", "at", "q0", "q1", "?"],
  special: [true, ...Array.from({ length: 8 }, () => false)],
  sequences: null,
  words: { group: [0, 1, 2, 3, 4, 4, 5, 6, 7], texts: ["<s>", "p0", "p1", "p2", "What", "q0", "q1", "?"] },
  boxes: [null, [0, 0, 10, 10], [10, 0, 20, 10], [0, 10, 10, 20], null, null, [30, 0, 40, 5], [30, 5, 40, 10], null],
  images: [
    { start: 1, end: 4, name: "picture 1" },
    { start: 6, end: 8, name: "picture 2" },
  ],
};
const all = { sequence: null, special: true, unit: "pieces", unfolded: [] as number[] } as const;
const names = (unfolded: readonly number[] | undefined, unit: "pieces" | "words" = "pieces"): string[] =>
  side(axis, { ...all, unit, ...(unfolded ? { unfolded } : { unfolded: [0, 1] }) }).items.map((item) => item.text);

test("each picture within a text is one token, or its tokens stand on their own", () => {
  expect(names([])).toEqual(["<s>", "picture 1", "Wh", "at", "picture 2", "?"]);
  expect(names([1])).toEqual(["<s>", "picture 1", "Wh", "at", "q0", "q1", "?"]);
  expect(names([0, 1])).toEqual(axis.pieces);
  expect(names([], "words")).toEqual(["<s>", "picture 1", "What", "picture 2", "?"]);
  expect(side(axis, { sequence: null, special: true, unit: "pieces" }).items).toHaveLength(9);
  expect([length(axis, []), length(axis, [1]), length(axis, [0, 1])]).toEqual([6, 7, 9]);
  expect(count(axis, { ...all, special: false })).toBe(5);
});

test("a token of a picture knows what of it it is", () => {
  const [, picture, , , other] = side(axis, all).items;
  expect(picture!.image).toEqual({ number: 0, count: 3, folded: true, first: true, area: [0, 0, 20, 20] });
  expect(other!.image).toEqual({ number: 1, count: 2, folded: true, first: true, area: [30, 0, 40, 10] });
  const patches = side(axis, { ...all, unfolded: [0] }).items;
  expect(patches[2]!.image).toEqual({ number: 0, count: 3, folded: false, first: false, area: [10, 0, 20, 10] });
  expect([...side(axis, all).of]).toEqual([0, 1, 1, 1, 2, 3, 4, 4, 5]);
  expect(side(axis, all).folded).toBe(true);
  expect(side(axis, { ...all, unfolded: [0, 1] }).folded).toBe(false);
});

test("to a picture is the sum over its tokens, from it the mean, by hand", () => {
  const three: AxisInfo = {
    pieces: ["p", "q", "a"],
    special: [false, false, false],
    sequences: null,
    words: null,
    images: [{ start: 0, end: 2, name: "picture" }],
  };
  const folded = side(three, all);
  const numbers = Float32Array.from([0.5, 0.3, 0.2, 0.1, 0.5, 0.4, 0.25, 0.25, 0.5]);
  const layer: Layer = { shape: [1, 3, 3], numbers, encoding: "plain", scale: 1, signed: false };
  const map = cut(layer, 0, 0, folded, folded, false);
  [0.7, 0.3, 0.5, 0.5].forEach((wanted, at) => expect(value(map, at)).toBeCloseTo(wanted, 6));
  // Blocks of patches count as many times as they have patches.
  const blocks = cut({ ...layer, counts: [3, 1, 1] }, 0, 0, folded, folded, false);
  [(3 * 0.8 + 0.6) / 4, (3 * 0.2 + 0.4) / 4].forEach((wanted, at) => expect(value(blocks, at)).toBeCloseTo(wanted, 6));
});

test("patches stand on their own on the picture and beside q and k", () => {
  expect(choices({ ...DEFAULTS, scale: "head", picture: "image" }).rows.unfolded).toBeUndefined();
  expect(choices({ ...DEFAULTS, scale: "neuron" }).rows.unfolded).toBeUndefined();
  expect(choices({ ...DEFAULTS, scale: "model", picture: "image", unfolded: [1] }).columns.unfolded).toEqual([1]);
  expect(choices(DEFAULTS).rows.unfolded).toEqual([]);
});

test("what is unfolded stands in the address", () => {
  expect(turned([], 1)).toEqual([1]);
  expect(turned([1], 0)).toEqual([0, 1]);
  expect(turned([0, 1], 1)).toEqual([0]);
  expect(read("#unfolded=0,2")).toEqual({ unfolded: [0, 2] });
  expect(read("#unfolded=")).toEqual({ unfolded: [] });
  expect(read("#unfolded=x")).toEqual({});
});
