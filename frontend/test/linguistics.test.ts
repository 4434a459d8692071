import { expect, it } from "vitest";
import { kinds, saying } from "../src/report/arcs";
import { apart, marks } from "../src/report/blocks/cases";
import { share } from "../src/scene/format";

it("tells what was found, what was missed and what was chosen instead", () => {
  const shown = {
    sentence: 0,
    words: [0],
    pins: [],
    targets: [[2]],
    predicted: [1],
    right: [false],
    arcs: [
      [0, 1, 0.5],
      [0, 2, 0.2],
      [1, 2, 0.3],
    ],
  };
  const found = new Map(kinds(shown, true).map(({ from, to, kind }) => [`${from}${to}`, kind]));
  expect(found).toEqual(
    new Map([
      ["01", "chose"],
      ["02", "missed"],
      ["12", null],
    ]),
  );
  expect(kinds({ ...shown, predicted: [2], right: [true] }, true).map(({ kind }) => kind)).toEqual([
    null,
    null,
    "found",
  ]);
});

it("misses no target where another one was found", () => {
  const shown = {
    sentence: 0,
    words: [0],
    pins: [],
    targets: [[1, 2]],
    predicted: [2],
    right: [true],
    arcs: [
      [0, 1, 0.1],
      [0, 2, 0.6],
    ],
  };
  expect(kinds(shown, true).map(({ kind }) => kind)).toEqual([null, "found"]);
  expect(kinds({ ...shown, predicted: [-1], right: [false] }, true).map(({ kind }) => kind)).toEqual([
    "missed",
    "missed",
  ]);
});

it("draws what is stronger over what is weaker, and the relation over all", () => {
  const shown = {
    sentence: 0,
    words: [0, 1],
    pins: [],
    targets: [[2], [2]],
    predicted: [2, 2],
    right: [true, true],
    arcs: [
      [0, 2, 0.5],
      [3, 0, 0.4],
      [1, 2, 0.3],
      [3, 1, 0.2],
    ],
  };
  expect(kinds(shown, true).map(({ weight }) => weight)).toEqual([0.2, 0.4, 0.3, 0.5]);
});

it("reads attention from the head where the column is asked", () => {
  const shown = {
    sentence: 0,
    words: [0],
    pins: [],
    targets: [[2]],
    predicted: [2],
    right: [true],
    arcs: [
      [0, 2, 0.4],
      [2, 0, 0.6],
    ],
  };
  expect(kinds(shown, false).find(({ kind }) => kind === "found")).toMatchObject({ from: 2, to: 0, weight: 0.6 });
});

it("says words, and spans of several", () => {
  const sentence = { words: ["the", "old", "cat", "sat"], spans: [[0, 2]], second: null, example: null };
  expect([3, 4, -1].map((unit) => saying(sentence, unit))).toEqual(["sat", "the old cat", ""]);
});

it("marks the mention, what it refers to and what was chosen", () => {
  const window = {
    words: ["Anna", "saw", "her", "cat", "."],
    mentions: [
      [0, 1, 0],
      [2, 3, 2],
      [2, 4, 3],
    ],
    example: null,
    spaces: null,
  };
  const shown = {
    window: 0,
    mention: 1,
    predicted: 0,
    weight: 0.1,
    antecedents: [0],
    right: true,
    pin: { side: "from", place: 0 } as const,
  };
  expect(marks(window, shown)).toEqual(["before choice right", "", "mention", "", ""]);
  expect(marks(window, { ...shown, predicted: 3, right: false })).toEqual(["before", "", "mention", "choice", ""]);
});

it("marks a mention in what it refers to as the mention only", () => {
  const window = {
    words: ["the", "cat", "that", "slept"],
    mentions: [
      [0, 4, 1],
      [2, 3, 2],
    ],
    example: null,
    spaces: null,
  };
  const shown = {
    window: 0,
    mention: 1,
    predicted: 1,
    weight: 0.1,
    antecedents: [0],
    right: true,
    pin: { side: "from", place: 0 } as const,
  };
  expect(marks(window, shown)).toEqual(["before", "before choice right", "mention", "before"]);
});

it("sets words apart as the corpus does, or as English does where it does not say", () => {
  const window = { words: ["“", "Do", "n't", "(", "ever", ")", "go", "!"], mentions: [], example: null, spaces: null };
  const joined = (spaces: boolean[] | null): string =>
    apart({ ...window, spaces }).reduce((text, space, i) => text + (space ? " " : "") + window.words[i]!, "");
  expect(joined(null)).toBe("“Don't (ever) go!");
  expect(joined([false, true, true, true, false, false, false, true])).toBe("“Do n't ( ever)go!");
});

it("writes shares as papers do", () => {
  expect([share(0.8664), share(1), share(0), share(null), share(-0.1172)]).toEqual([".866", "1", ".000", "–", "−.117"]);
});
