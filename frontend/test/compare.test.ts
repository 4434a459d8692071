import { expect, it } from "vitest";
import { short } from "../src/draw/chart";
import type { ExplorerPayload, ExplorerState, TableBlock } from "../src/protocol";
import { type Measure, signed } from "../src/report/figures";
import { kept, SIDES } from "../src/report/sides";
import { Two } from "../src/report/two";
import { DEFAULTS } from "../src/scene/state";
import { figures } from "./sample";

const table = (name: string, values: TableBlock["values"]): TableBlock => ({
  ...{ kind: "table", name, title: "", columns: [], more: [], cells: [], reasons: [] },
  values,
});

const tables = [
  table("heads", {
    layer: [0, 0, 4],
    head: [0, 1, 0],
    measure: ["next", "next", "previous"],
    a: [0.5, 0.1, 0.4],
    b: [0.3, 0.5, 0.4],
    difference: [0.2, -0.4, 0],
    se: [0.1, null, null],
    js: [0.1, 0.5, 0.3],
    js_se: [0.01, null, 0.02],
    cosine: [0.9, 0.5, 0.7],
  }),
  table("layers", { layer: [0, 4], js: [0.3, 0.3], ci_low: [0.28, null], ci_high: [0.32, null] }),
  table("changed", { measure: ["next"], title: ["next token"], units: ["share"] }),
];

it("shows drift on a scale from 0, and differences on one with 0 in its middle", async () => {
  const all = await figures();
  tables[0]!.values.layer = [3, 3, 5];
  const two = new Two(all, tables);
  const [drift, next] = two.measures as [Measure, Measure];
  expect([drift.name, drift.scale.diverging, drift.scale.low]).toEqual(["js", false, 0]);
  expect(all.cells.map(drift.error)).toEqual([0.01, NaN, NaN, 0.02, NaN]);
  const { title, units } = next.info;
  const { diverging, tint } = next.scale;
  expect([title, units, diverging, tint(0), tint(-0.4), tint(0.4)]).toEqual([
    ...["next token, A − B", "share", true],
    ...[0.5, 0, 1],
  ]);
  expect(all.cells.map(next.value)).toEqual([0.2, -0.4, NaN, NaN, NaN]);
  expect(two.told(next, all.cells[1]!).map(([, text]) => text)).toEqual(["0.100", "0.500", "0.500 nats"]);
  expect(two.told(drift, all.cells[3]!)).toEqual([["cosine of the rows", "0.700"]]);
  // Nothing above 0, or nothing at all: 0 is still the middle.
  expect(signed([0.1, 0.3]).tint(0)).toBe(0.5);
  expect(signed([0, 0]).tint(0)).toBe(0.5);
});

it("writes small numbers in cells", () => {
  expect([0.664, -0.12, 0.004, -0.004, 1, 3.14, -34.67, 0.997].map((value) => short(value))).toEqual([
    ".66",
    "−.12",
    "·",
    "·",
    "1.0",
    "3.1",
    "−35",
    "1.0",
  ]);
});

const payload = (inputs: number, state: ExplorerState): ExplorerPayload => ({
  kind: "explorer",
  version: 1,
  title: "",
  model: "",
  inputs: Array.from({ length: inputs }, () => ({ label: "", parts: [] })),
  state,
  exact: false,
  offers: [],
});

it("lets go of the switch and of what either example begins with, between one model and two", () => {
  const [one, two] = [payload(1, {}), payload(2, { side: "difference", unit: "words" })];
  const state: ExplorerState = { side: "one", input: 1, unit: "pieces", threshold: 0.3 };
  expect(kept(state, one, two)).toEqual({ threshold: 0.3 });
  expect(kept(state, two, one)).toEqual({ threshold: 0.3 });
  expect(kept(state, two, two)).toEqual(state);
  expect(kept(state, undefined, two)).toEqual(state);
});

it("has one side on at a time", () => {
  for (const { state } of SIDES) {
    expect(SIDES.filter(({ on }) => on({ ...DEFAULTS, ...state })).map((side) => side.state)).toEqual([state]);
  }
});
