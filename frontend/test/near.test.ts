import { expect, test } from "vitest";
import { levelsOf, near, shownUnits, together, unitSays, withQ } from "../src/draw/near";
import { SvgPen } from "../src/draw/svg";
import type { NearTexts, NearUnit, SimilarPayload } from "../src/protocol";

const unit = (text: string, effect: number, level = "word", q: number | null = null): NearUnit => ({
  level,
  text,
  effect,
  q,
});

const pair: NearTexts = {
  name: "B",
  similarity: 0.7,
  says: "cosine 0.7",
  units: [
    [unit("late bill", 0.3, "sentence"), unit("late", 0.1, "word", 0.02), unit("bill", -0.05)],
    [unit("delayed", 0.2), unit("was", 0)],
  ],
  interactions: [
    [0.3, 0.1],
    [0.11, -0.02],
    [-0.4, 0.01],
  ],
  q: [
    [null, null],
    [0.03, 0.9],
    [0.0004, null],
  ],
};

const state = { input: 0, level: "word", pin: null, theme: "light" } as const;
const drawn = (level: string, pin: number[] | null = null): string => {
  const block = near(pair, { ...state, level, pin }, "light", 600);
  const pen = new SvgPen(600, block.height);
  block.draw(pen);
  return pen.document();
};

test("units of a level are shown, of a text without it those of its last", () => {
  expect(levelsOf({ pairs: [pair] } as unknown as SimilarPayload)).toEqual(["sentence", "word"]);
  expect(shownUnits(pair, "word")).toEqual([
    [1, 2],
    [0, 1],
  ]);
  expect(shownUnits(pair, "sentence")).toEqual([[0], [0, 1]]);
});

test("pairs are listed by the size of what they give together, with their q", () => {
  const every = together(pair, "word");
  expect(every.map(({ a, b }) => [a, b])).toEqual([
    [2, 0],
    [1, 0],
    [1, 1],
    [2, 1],
  ]);
  expect(withQ(every[0]!.value, every[0]!.q)).toBe("−0.400, q < .001");
  expect(withQ(0.11, null)).toBe("+0.110");
});

test("of a unit it is said what is left without it, and whom it acts together with", () => {
  expect(unitSays(pair, "word", [0, 1])).toBe(
    "Without “late” it is 0.600 (−0.100, q .020). It acts together with “delayed” +0.110, q .030; “was” −0.020, q .900.",
  );
  expect(unitSays(pair, "word", [1, 0])).toContain("“bill” −0.400, q < .001; “late” +0.110, q .030");
});

test("faint lines are left out at rest; of a pinned unit all lines are there, with their numbers", () => {
  const lines = (svg: string): number => svg.match(/<path[^>]*fill="none"/g)?.length ?? 0;
  const rest = drawn("word");
  const pinned = drawn("word", [0, 1]);
  expect([lines(rest), lines(pinned), lines(drawn("word", [1, 1]))]).toEqual([2, 2, 2]);
  expect(rest).not.toContain("+0.110");
  expect(pinned).toContain("+0.110");
  expect(pinned).toContain("−0.020");
  expect(drawn("sentence")).toContain("late bill");
});
