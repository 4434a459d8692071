import { expect, test } from "vitest";
import type { AxisInfo, PartInfo } from "../src/protocol";
import { side } from "../src/scene/axis";
import { fromValues } from "../src/scene/cut";
import { bare, onto, spaced, sumOf, talks, words } from "../src/scene/wordsbeside";

const axisOf = (pieces: string[], more: Partial<AxisInfo> = {}): AxisInfo => ({
  pieces,
  special: pieces.map((piece) => piece.startsWith("<")),
  sequences: null,
  words: null,
  ...more,
});
const all = { sequence: null, special: true, unit: "pieces" } as const;

/** What is read of an axis, with spaces where they are put. */
function read(axis: AxisInfo): string {
  const { items } = side(axis, all);
  return items.map((item, at) => (at > 0 && spaced(axis, items[at - 1]!, item) ? " " : "") + bare(item)).join("");
}

test("a text is read as its tokenizer's marks say", () => {
  expect(read(axisOf(["<s>", "ĠThe", "Ġc", "up", ".", "ĠIt"]))).toBe("<s> The cup. It");
  expect(read(axisOf(["▁A", "▁la", "mp", ","]))).toBe("A lamp,");
  // Without marks of spaces, as one writes.
  expect(read(axisOf(["the", "lamp", "##s", ",", "(", "two", ")"]))).toBe("the lamps, ( two)");
});

test("words are the queries that are no part of the picture", () => {
  const query = axisOf(["<s>", "p", "q", "Ġa"], {
    boxes: [null, [0, 0, 1, 1], [1, 0, 2, 1], null],
    images: [{ start: 1, end: 3, name: "picture" }],
  });
  const part = { kind: "self", query, key: query } as PartInfo;
  expect(words({ part, rows: side(query, all) }).map(bare)).toEqual(["<s>", "a"]);
  expect(talks(part)).toBe(true);
  const patches = axisOf(["p"], { boxes: [[0, 0, 1, 1]] });
  expect(talks({ ...part, query: patches, key: patches })).toBe(false);
  expect(talks({ ...part, kind: "cross", query: axisOf(["a"]), key: patches })).toBe(true);
  expect(talks({ ...part, query: axisOf(["a"]), key: axisOf(["a"]) })).toBe(false);
});

test("what stands by one side's places is put by another's", () => {
  const axis = axisOf(["<s>", "a", "b"]);
  const [whole, few] = [side(axis, all), side(axis, { ...all, special: false })];
  expect([...onto(few, whole, Float64Array.of(1, 2))]).toEqual([NaN, 1, 2]);
  expect([...onto(whole, few, Float64Array.of(1, 2, 3))]).toEqual([2, 3]);
  expect(sumOf(fromValues(0, 2, 3, Float32Array.of(1, 2, 4, 8, 16, 32), 64, false), 1, [true, false, true])).toBe(40);
});
