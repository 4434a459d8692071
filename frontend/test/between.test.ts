import { expect, test } from "vitest";
import type { AxisInfo, ExplorerPayload, PartInfo } from "../src/protocol";
import { side } from "../src/scene/axis";
import { along, cut, type Layer, value } from "../src/scene/cut";
import type { Scene } from "../src/scene/scene";
import { DEFAULTS, read, settle, write } from "../src/scene/state";
import { clicked, clickedCell, ranked, reversible } from "../src/ui/between";
import { PART } from "./sample";

const none = { from: null, to: null };

test("a click pins a token beside that of the other side, moves it, or lets it go", () => {
  expect(clicked(null, "from", 3)).toEqual({ from: 3, to: null });
  expect(clicked({ from: 3, to: null }, "from", 3)).toEqual(none);
  expect(clicked({ from: 3, to: null }, "from", 2)).toEqual({ from: 2, to: null });
  expect(clicked({ from: 3, to: null }, "to", 1)).toEqual({ from: 3, to: 1 });
  expect(clicked({ from: null, to: 1 }, "from", 3)).toEqual({ from: 3, to: 1 });
  expect(clicked({ from: 3, to: 1 }, "from", 2)).toEqual({ from: 2, to: 1 });
  expect(clicked({ from: 3, to: 1 }, "to", 1)).toEqual({ from: 3, to: null });
});

test("a cell of the matrix is a row, and of what is chosen a pair", () => {
  expect(clickedCell(null, 2, 1)).toEqual({ from: 2, to: null });
  expect(clickedCell({ from: 2, to: null }, 0, 1)).toEqual({ from: 0, to: null });
  expect(clickedCell({ from: 2, to: null }, 2, 1)).toEqual({ from: 2, to: 1 });
  expect(clickedCell({ from: null, to: 1 }, 2, 1)).toEqual({ from: 2, to: 1 });
  expect(clickedCell({ from: 2, to: 1 }, 0, 0)).toEqual({ from: 0, to: 0 });
  expect(clickedCell({ from: 2, to: 1 }, 2, 1)).toEqual(none);
});

const axis: AxisInfo = {
  pieces: ["a", "b", "##c"],
  special: [false, false, false],
  sequences: null,
  words: { group: [0, 1, 1], texts: ["a", "bc"] },
};
const weights = [
  0.5, 0.25, 0.25, 0.2, 0.4, 0.4, 0.6, 0.1, 0.3, /* head 1 */ 0.1, 0.8, 0.1, 0.3, 0.3, 0.4, 0.3, 0.3, 0.4,
];
const layer: Layer = {
  shape: [2, 3, 3],
  numbers: Float32Array.from(weights),
  encoding: "plain",
  scale: 1,
  signed: false,
};
const part: PartInfo = {
  ...PART,
  query: axis,
  key: axis,
  index: [4, 7],
  heads: [
    [0, 5],
    [0, 5],
  ],
};

test("a pair has what the matrix has there, of the tokens that are shown", () => {
  const begins = { ...axis, special: [true, false, false] };
  for (const unit of ["pieces", "words"] as const) {
    for (const renormalise of [false, true]) {
      for (const special of [false, true]) {
        const shown = side(begins, { sequence: null, special, unit });
        const map = cut(layer, 1, 5, shown, shown, renormalise);
        const found = along(layer, 1, shown.items, shown.items, shown, renormalise);
        expect(found).toHaveLength(shown.items.length ** 2);
        found.forEach((each, at) => expect(each).toBeCloseTo(value(map, at), 5));
      }
    }
  }
});

function scene(over: object = {}, unit: "pieces" | "words" = "pieces"): Scene {
  const shown = side(axis, { sequence: null, special: true, unit });
  const data = { layer: (_: PartInfo, index: number) => (index === 4 ? layer : undefined), unseen: () => false };
  return {
    part,
    data,
    state: { ...DEFAULTS, unit },
    against: null,
    rows: shown,
    columns: shown,
    pair: { from: 0, to: 1 },
    ...over,
  } as unknown as Scene;
}

test("heads are ranked in both directions, of the layers that are there", () => {
  const short = (way: "there" | "back", found = scene()): unknown =>
    ranked(found, way).map((each) => [each.layer, each.head, Number(each.value.toFixed(3))]);
  expect(short("there")).toEqual([
    [4, 5, 0.8],
    [4, 0, 0.25],
  ]);
  expect(short("back")).toEqual([
    [4, 5, 0.3],
    [4, 0, 0.2],
  ]);
  // To a word the sum over its pieces, from it their mean.
  expect(short("there", scene({}, "words"))).toEqual([
    [4, 5, 0.9],
    [4, 0, 0.5],
  ]);
  expect(short("back", scene({}, "words"))).toEqual([
    [4, 0, 0.4],
    [4, 5, 0.3],
  ]);
});

test("a difference is ranked by its size, and heads that see nothing come last", () => {
  const other: Layer = {
    ...layer,
    numbers: Float32Array.from([0, 0.9, ...weights.slice(2, 9), 0.1, 0.7, ...weights.slice(11)]),
  };
  const against = scene({ data: { layer: () => other, unseen: () => false } });
  expect(ranked(scene({ against }), "there").map((each) => [each.head, Number(each.value.toFixed(2))])).toEqual([
    [0, -0.65],
    [5, 0.1],
  ]);
  const data = {
    layer: (_: PartInfo, index: number) => (index === 4 ? layer : undefined),
    unseen: (_: PartInfo, __: number, head: number) => head === 5,
  };
  expect(ranked(scene({ data }), "there").map((each) => [each.head, each.hidden])).toEqual([
    [0, false],
    [5, true],
  ]);
  expect(ranked(scene({ pair: null }), "there")).toEqual([]);
});

test("between a decoder and an encoder there is one direction", () => {
  expect(reversible(scene())).toBe(true);
  expect(reversible(scene({ part: { ...part, kind: "cross" } }))).toBe(false);
});

test("a pair is part of the state and of the address", () => {
  const payload: ExplorerPayload = {
    kind: "explorer",
    version: 1,
    title: "",
    model: "m",
    exact: false,
    offers: [],
    state: {},
    inputs: [{ label: "", parts: [part] }],
  };
  const state = settle({ between: [2, 0], pin: ["from", 1] }, payload);
  expect([state.between, state.pin]).toEqual([[2, 0], null]);
  for (const pin of [
    ["from", 2],
    ["to", 0],
  ])
    expect(settle({ between: [2, 0], pin }, payload).pin).toEqual(pin); // the first of the two
  expect(settle({ between: [2, 3] }, payload).between).toBeNull();
  expect(write(state, settle({}, payload))).toBe("between=2,0");
  expect(read("#between=2,0").between).toEqual([2, 0]);
  expect(read("#between=null").between).toBeNull();
  expect(read("#between=2").between).toBeUndefined();
  expect(read("#between=2,x").between).toBeUndefined();
});
