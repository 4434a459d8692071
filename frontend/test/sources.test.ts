import { expect, test } from "vitest";
import type { SourceInfo, SourcesPayload } from "../src/protocol";
import {
  certainty,
  hangs,
  largest,
  lost,
  named,
  reach,
  scale,
  shade,
  stretches,
  told,
  written,
} from "../src/scene/sources";

const span = (start: number, end: number, more: Partial<SourceInfo> = {}): SourceInfo => ({
  level: "sentence",
  text: "",
  start,
  end,
  first: 0,
  last: 0,
  box: null,
  effect: null,
  low: null,
  high: null,
  q: null,
  share: null,
  estimate: 0.5,
  deleted: null,
  lexical: 0,
  attention: 0.1,
  words: [],
  heads: [],
  without: "",
  note: "",
  ...more,
});

const payload: SourcesPayload = {
  kind: "sources",
  version: 1,
  title: "",
  model: "m",
  prompt: "😀 One. Two. Three.",
  answer: [" It", " is.", " So?"],
  against: "",
  origin: "given",
  spans: [
    span(2, 6, { effect: 2, low: 1, high: 3, q: 0.01, share: 1.17, words: [0.25, 0.75, 1] }),
    span(7, 11, { effect: -4, q: 0.6, note: "used without looking", words: [-2, 1, -3] }),
    span(12, 18),
    span(0, 18, { level: "document", effect: 9, words: [1, 2, 6] }),
  ],
  statements: [
    { words: [0, 1], q: [0.01, 0.01, null, 0.2] },
    { words: [2, 2], q: [0.5, 0.9, null, 0.2] },
  ],
  says: [],
  state: { by: "effect", level: "sentence", words: null, span: null, theme: "light" },
};

test("the prompt is cut where Python counts, whatever the characters", () => {
  const found = stretches(payload, "sentence");
  expect(found.map(({ text }) => text)).toEqual(["😀 ", "One.", " ", "Two.", " ", "Three."]);
  expect(found.map(({ span }) => span)).toEqual([null, 0, null, 1, null, 2]);
  const answer = written(payload);
  expect(answer.map(({ text }) => text)).toEqual([" ", "It", " ", "is.", " ", "So?"]);
  expect(answer.map(({ word }) => word)).toEqual([null, 0, null, 1, null, 2]);
});

test("shades are shares of the largest size at the shown level", () => {
  expect(reach(payload, payload.state)).toBe(4);
  expect(shade(2, 4)).toEqual({ strength: 30, tone: "plus" });
  expect(shade(-4, 4)).toEqual({ strength: 60, tone: "minus" });
  expect(scale(payload, payload.state).ticks).toEqual(["−4.00", "0", "4.00"]);
  expect(scale(payload, { ...payload.state, words: [0, 1] }).of).toBe("nats statement 0 loses without it");
  expect(reach(payload, { ...payload.state, level: "document", words: [2, 2] })).toBe(6);
  expect(largest(payload, payload.state)).toEqual([0, 1]);
  expect(lost(payload, 1).map(({ strength }) => strength)).toEqual([20, 10, 30]);
  expect(lost(payload, 2)).toEqual([]);
});

test("a statement hangs on a span by q and a loss, words without q by their loss", () => {
  const hang = (words: number[]) => [0, 1, 2, 3].map((place) => hangs(payload, words, place));
  expect(hang([0, 1])).toEqual([true, false, false, false]); // what span 3 takes may be chance
  expect(hang([1, 1])).toEqual([true, true, false, true]);
  expect([[0, 1], [1, 2], null].map((words) => certainty(payload, words, 1))).toEqual([0.01, null, 0.6]);
  expect([[0, 1], [1, 2], null].map((words) => named(payload, words))).toEqual([
    "statement 0",
    "“is. So?”",
    "the answer",
  ]);
});

test("what is known of a span is said in words", () => {
  const [first, second] = told(payload, 0);
  expect(first).toBe(
    "Without it the answer loses 2.00 nats (95 % interval 1.00 to 3.00), 117% of what the whole context gives.",
  );
  expect(second).toBe("q .010: it matters to this answer more than to other tokens.");
  expect(told(payload, 3)).toContain("Words that need it: “is.” +2.00, “It” +1.00.");
  expect(told({ ...payload, against: "Bergen" }, 1)[0]).toBe("Without it the answer gains 4.00 nats against “Bergen”.");
  expect(told(payload, 1).at(-1)).toBe("Used without looking.");
  expect(told(payload, 2)[0]).toBe("It was not masked: its estimate is not among the largest.");
});
