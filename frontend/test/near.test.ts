import { expect, test } from "vitest";
import { levelsOf, near, shownUnits, together, unitBoxes, unitSays, withQ } from "../src/draw/near";
import { SvgPen } from "../src/draw/svg";
import type { NearTexts, NearUnit, SimilarPayload } from "../src/protocol";

const unit = (text: string, effect: number, level = "word", q: number | null = null): NearUnit => ({
  level,
  text,
  first: 0,
  last: 0,
  effect,
  q,
  box: null,
  heads: [],
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
  picture: null,
};

const state = { input: 0, drawn: "lines", level: "word", pin: null, theme: "light" } as const;
const drawn = (level: string, pin: number[] | null = null, of = pair, as: "lines" | "matrix" = "lines"): string => {
  const block = near(of, { ...state, drawn: as, level, pin }, "light", 600);
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

test("a picture has its patches shaded, by what they give with a word that is pointed at", () => {
  const patch = (box: number[], effect: number): NearUnit => ({ ...unit("box", effect, "image"), box });
  const seen: NearTexts = {
    ...pair,
    picture: { kind: "picture", src: "data:,", width: 200, height: 100, name: "p" },
    units: [pair.units[0]!, [patch([0, 0, 100, 100], 0.3), patch([100, 0, 200, 100], 0)]],
  };
  expect(levelsOf({ pairs: [seen] } as unknown as SimilarPayload)).toEqual(["sentence", "word"]);
  const shades = (svg: string): number[] => [...svg.matchAll(/<g opacity="([\d.]+)"/g)].map(([, x]) => Number(x));
  expect(shades(drawn("word", null, seen))).toEqual([0.6, 0]);
  const pointed = drawn("word", [0, 2], seen);
  expect(shades(pointed)[0]).toBe(0.6);
  expect(shades(pointed)[1]).toBeCloseTo((0.6 * 0.01) / 0.4, 1);
  expect(pointed).not.toContain("<path");
  expect(drawn("word", [1, 0], seen)).toContain("−0.400"); // a word beside the patch that is pointed at
  const scale = (0.58 * 600) / 200;
  const [, , , patchBox] = unitBoxes(seen, state, 600);
  const { x, y, width, height } = patchBox!;
  expect([x - 252, y, width, height].map(Math.round)).toEqual(
    [100 * scale, 24, 100 * scale, 100 * scale].map(Math.round),
  );
});

test("a matrix has a cell a pair, and the figures of the unit that is pinned", () => {
  const cells = drawn("word", null, pair, "matrix");
  expect(cells.match(/<rect/g)).toHaveLength(4 + 3); // and the words that have an effect
  expect(cells).not.toContain("−0.400");
  expect(drawn("word", [0, 2], pair, "matrix")).toContain("−0.400");
  const boxes = unitBoxes(pair, { ...state, drawn: "matrix" }, 600);
  expect(boxes.map(({ side, place }) => [side, place])).toEqual([
    [0, 1],
    [0, 2],
    [1, 0],
    [1, 1],
  ]);
  expect(boxes[1]!.y - boxes[0]!.y).toBe(boxes[0]!.height);
  expect(boxes[3]!.x - boxes[2]!.x).toBeCloseTo(boxes[2]!.width);
});

test("words that are struck out are crossed, one or several, in lines and in a matrix", () => {
  for (const as of ["lines", "matrix"] as const) {
    const crossed = (struck: number[][]): number => {
      const block = near(pair, { ...state, drawn: as }, "light", 600, struck.at(-1) ?? null, struck);
      const pen = new SvgPen(600, block.height);
      block.draw(pen);
      return pen.document().match(/height="1\.5"/g)?.length ?? 0;
    };
    expect(
      [
        [],
        [[0, 1]],
        [
          [0, 1],
          [1, 0],
          [0, 2],
        ],
      ].map(crossed),
    ).toEqual([0, 1, 3]);
  }
});
