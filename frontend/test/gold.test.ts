import { expect, test } from "vitest";
import type { Pen } from "../src/draw/canvas";
import { drawRegions, drawThumbLinks } from "../src/draw/golddraw";
import type { AxisInfo, LinkInfo, PartInfo } from "../src/protocol";
import type { Box } from "../src/scene/areas";
import { type Choice, side } from "../src/scene/axis";
import { fromValues, type Shown } from "../src/scene/cut";
import {
  concerns,
  ends,
  type Gold,
  instead,
  inWords,
  type Judged,
  judge,
  ofOpen,
  placed,
  runs,
  verdict,
} from "../src/scene/gold";
import { PART } from "./sample";

// The same axis, links and figures as in tests/views/test_gold.py: the two sides agree.
const axis: AxisInfo = {
  pieces: ["[CLS]", "it", "##s", "cat", "[SEP]", "<b>&", "ab", "[SEP]"],
  special: [true, false, false, false, true, false, false, true],
  sequences: [-1, 0, 0, 0, -1, 1, 1, -1],
  words: { group: [0, 1, 1, 2, 3, 4, 5, 6], texts: ["[CLS]", "its", "cat", "[SEP]", "<b>&", "ab", "[SEP]"] },
};
const info = (
  source: number[],
  targets: number[][],
  units: LinkInfo["units"],
  over: Partial<LinkInfo> = {},
): LinkInfo => ({ label: "x", side: "from", source, targets, candidates: null, units, ...over });
const part = (links: LinkInfo[], kind = "self"): PartInfo => ({
  ...PART,
  kind,
  query: axis,
  key: axis,
  index: [0],
  heads: [[0]],
  links,
});
const all: Choice = { sequence: null, special: true, unit: "pieces" };
const shown = (links: LinkInfo[], choice: Partial<Choice> = {}, kind = "self") => {
  const one = side(axis, { ...all, ...choice });
  return placed(part(links, kind), one, one).map(({ source, targets, groups }) => [source, targets, groups]);
};

test("links stand on the shown axes, and heads choose among what is shown", () => {
  const links = [info([3], [[1, 2]], "words"), info([3], [[0]], "tokens"), info([2], [[3]], "tokens")];
  const [words, every] = [
    [[1, 2], [5], [6]],
    [[0], [1], [2], [4], [5], [6], [7]],
  ];
  expect(shown(links).slice(0, 2)).toEqual([
    [[3], [[1, 2]], words],
    [[3], [[0]], every],
  ]);
  expect(shown(links, { special: false })).toEqual([
    [[2], [[0, 1]], [[0, 1], [3], [4]]],
    [[1], [[2]], [[0], [2], [3], [4]]],
  ]);
  expect(shown(links, { unit: "words" })[0]).toEqual([[2], [[1]], [[1], [4], [5]]]);
  expect(shown(links, { unit: "words" })[2]).toEqual([[1], [[2]], [[0], [2], [3], [4], [5], [6]]]);
  expect(shown(links, { sequence: 1 })).toEqual([]);
  expect(shown([info([3], [[5]], "words", { candidates: [[5], [2, 3], [6]] })])).toEqual([[[3], [[5]], [[5], [6]]]]);
  expect(shown([info([3], [[5]], "words")], {}, "cross")[0]![2]).toEqual([[1, 2], [3], [5], [6]]);
});

const matrix = (values: number[], columns: number): Shown =>
  fromValues(
    0,
    values.length / columns,
    columns,
    Float32Array.from(values),
    1,
    values.some((v) => v < 0),
  );
const square = [0.1, 0.2, 0.2, 0.5, 0.1, 0.6, 0.1, 0.2, 0.9, 0, 0.05, 0.05];

test("the strongest candidate is chosen", () => {
  const map = matrix(square, 4);
  const gold: Gold = { label: "x", side: "from", source: [0], targets: [[1, 2]], groups: [[0], [1, 2], [3]] };
  expect(verdict(gold, map)).toEqual({ right: false, chosen: [3] });
  expect(verdict({ ...gold, source: [0, 1] }, map)).toEqual({ right: true, chosen: [1, 2] });
  expect(verdict({ ...gold, groups: [[0], [1]] }, map)).toEqual({ right: true, chosen: [1] });
  expect(verdict({ ...gold, groups: [] }, map)).toEqual({ right: false, chosen: null });
  expect(verdict({ ...gold, side: "to", targets: [[1]], groups: [[0], [1]] }, map)).toEqual({
    right: false,
    chosen: [0],
  });
  expect(verdict({ ...gold, side: "to", source: [3], targets: [[1]], groups: [[0, 1], [0]] }, map)).toEqual({
    right: false,
    chosen: [0],
  });
  const negative = matrix(
    square.map((v) => -v),
    4,
  );
  expect(verdict({ ...gold, side: "to", targets: [[2]], groups: [[0, 2], [1]] }, negative)).toEqual({
    right: true,
    chosen: [0, 2],
  });
});

test("a link is right where an open head is, and is said in words", () => {
  const one = side(axis, all);
  const [gold] = placed(part([info([3], [[1, 2], [5]], "words", { label: "nsubj" })]), one, one);
  const said = (link: Judged) => inWords(one.items, one.items, link);
  const row = (strong: number): Shown =>
    matrix(
      Array.from({ length: 64 }, (_, at) => (at === 24 + strong ? 0.9 : 0.01)),
      8,
    );
  const hit = judge(gold!, [row(5)]);
  expect([hit.right, instead(hit)]).toEqual([true, []]);
  expect(said(hit)).toEqual({ label: "nsubj", pair: "cat → it ##s or <b>&", verdict: "right" });
  const miss = judge(gold!, [row(6)]);
  expect([miss.right, instead(miss)]).toEqual([false, [[6]]]);
  expect(said(miss).verdict).toBe("looks at ab");
  const both = judge(gold!, [row(1), row(6)]);
  expect([both.right, said(both).verdict]).toEqual([true, "right in 1 of 2 heads"]);
  expect(ofOpen(both).right).toBe(false);
});

test("what is pointed at has the links of its token or pair", () => {
  const gold: Gold = { label: "x", side: "from", source: [3], targets: [[1, 2], [5]], groups: [] };
  expect(ends(gold)).toEqual({ rows: [3], columns: [1, 2, 5] });
  expect(ends({ ...gold, side: "to" })).toEqual({ rows: [1, 2, 5], columns: [3] });
  const focuses = [null, { from: 3, to: null }, { from: null, to: 5 }, { from: 3, to: 4 }, { from: 1, to: null }];
  expect(focuses.map((focus) => concerns(gold, focus))).toEqual([true, true, true, false, false]);
});

test("neighbours are outlined together", () => {
  expect(runs([5, 1, 2, 7, 3])).toEqual([
    [1, 4],
    [5, 6],
    [7, 8],
  ]);
  expect(runs([])).toEqual([]);
});

test("a region is an area of the picture, and its patches are counted", () => {
  const outline = { side: "to" as const, points: [0, 0, 20, 0, 20, 10, 0, 10, 0, 0] };
  const one = side(axis, all);
  const patches = [[1], [2], [3], [5]];
  const [gold, plain] = placed(
    part([info([0], [[1, 2, 3]], "tokens", { candidates: patches, outlines: [outline] }), info([0], [[1]], "tokens")]),
    one,
    one,
  );
  expect([gold!.outlines, plain!.outlines]).toEqual([[outline], undefined]);
  const map = matrix(
    Array.from({ length: 64 }, (_, at) => (at === 2 ? 0.9 : at === 4 ? 0.95 : 0.01)),
    8,
  );
  expect(inWords(one.items, one.items, judge(gold!, [map]))).toEqual({
    label: "x",
    pair: "[CLS] → 3 patches",
    verdict: "right",
  });
});

test("a link of a thumbnail goes from the middle of its row to that of its column", () => {
  const ends: number[][] = [];
  const put = (x: number, y: number) => ends.push([x, y]);
  const pen = new Proxy({} as Record<string, unknown>, {
    get: (_, name) => (name === "moveTo" || name === "lineTo" ? put : () => {}),
    set: () => true,
  });
  const gold: Gold = { label: "", side: "from", source: [1, 2], targets: [[0]], groups: [] };
  const link: Judged = { gold, verdicts: [], right: false };
  drawThumbLinks(pen as unknown as Pen, () => "", { x: 10, y: 100, size: 40, rows: 4, columns: 2 }, [link]);
  expect(ends.slice(0, 2)).toEqual([
    [10, 120],
    [50, 110],
  ]);
});

test("a region is drawn on its side of its own picture alone", () => {
  const strokes: [string, number][] = [];
  const pen = {
    beginPath: () => {},
    stroke: () => strokes.push(["stroke", pen.lineWidth]),
    moveTo: () => {},
    lineTo: (x: number) => strokes.push(["to", x]),
    lineWidth: 0,
    strokeStyle: "",
    globalAlpha: 1,
  };
  const gold: Gold = {
    label: "x",
    side: "from",
    source: [0],
    targets: [[1]],
    groups: [[1], [2]],
    outlines: [{ side: "to", points: [0, 0, 20, 0, 20, 10] }],
  };
  const link: Judged = { gold, verdicts: [{ right: true, chosen: [1] }], right: true };
  const draw = (side: "from" | "to", part: Box): void =>
    drawRegions(pen as unknown as Pen, () => "", part, 2, side, [null, [0, 0, 10, 10]], [link]);
  draw("from", [0, 0, 40, 40]);
  draw("to", [60, 0, 100, 40]);
  expect(strokes).toEqual([]);
  draw("to", [0, 0, 40, 40]);
  expect(strokes.slice(0, 2)).toEqual([
    ["to", 40],
    ["to", 40],
  ]);
  const ticks = strokes.slice(6).filter(([what]) => what === "to");
  expect(ticks.every(([, x]) => Math.abs(x - 10) < 5)).toBe(true);
  expect(ticks.length).toBeGreaterThan(0);
});
