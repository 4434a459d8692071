import { expect, test } from "vitest";
import type { TableBlock } from "../src/protocol";
import { places } from "../src/report/blocks/graph";
import { type Column, ordered, saved, written } from "../src/report/blocks/values";
import { csv } from "../src/report/table";

const info: TableBlock = {
  ...{ kind: "table", name: "scores", title: "Scores", cells: [], reasons: [] },
  columns: [
    { name: "layer", label: "layer", format: "whole" },
    { name: "head", label: "head", format: "head" },
    { name: "paper", label: "paper", format: "text" },
    { name: "score", label: "share found", format: "share" },
    { name: "best", label: "aligns best", format: "flag" },
  ],
  more: [{ name: "said", label: "said", format: "text" }],
  values: {
    layer: [1, 0, null],
    head: [2, 3, null],
    score: [0.25, null, 0.5],
    best: [true, false, false],
    said: ["b", "a", "c"],
  },
};

test("a table is saved by the names of its columns, with the label in papers, without what is shown alone", () => {
  expect(csv(saved(info))).toBe("layer,head,paper,score,best\n1,2,2-3,0.25,True\n0,3,1-4,,False\n,,,0.5,False\n");
});

test("rows are put in order by a column, those without a value last either way", () => {
  expect(ordered(info, "")).toEqual([0, 1, 2]);
  expect(ordered(info, "score")).toEqual([0, 2, 1]);
  expect(ordered(info, "-score")).toEqual([2, 0, 1]);
  expect(ordered(info, "head")).toEqual([1, 0, 2]);
  expect(ordered(info, "-head")).toEqual([0, 1, 2]);
  expect(ordered(info, "said")).toEqual([1, 0, 2]);
  expect(ordered(info, "nothing")).toEqual([0, 1, 2]);
});

test("a value is written as its column says", () => {
  const as = (format: Column["format"], value: string | number | boolean | null, digits?: number) =>
    written({ name: "x", label: "aligns best", format, ...(digits !== undefined && { digits }) }, value);
  expect([as("share", 0.25), as("share", 1), as("share", null), as("share", 0.25, 2)]).toEqual([
    ".250",
    "1",
    "–",
    ".25",
  ]);
  expect([as("figure", 12.345), as("fixed", 12.345, 2), as("probability", 2e-30)]).toEqual([
    "12.35",
    "12.35",
    "< .001",
  ]);
  expect([as("whole", 12345), as("flag", true), as("flag", false)]).toEqual(["12,345", "aligns best", ""]);
  expect([as("token", "Ġcat"), as("tokens", "Ġa Ġb c d"), as("text", null)]).toEqual(["␣cat", "␣a  ␣b  c", ""]);
});

test("heads of a graph stand by layer, none upon another, each beside those that feed it", () => {
  const head = (layer: number, head: number) => ({ text: "", layer, head, reason: null });
  const edge = (writer: number, reader: number) =>
    ({ writer, reader, kind: "K", share: 0.5, reason: { says: "", figure: "" } }) as const;
  const heads = [head(5, 2), head(5, 0), head(7, 0), head(7, 1), head(2, 3)];
  const at = places({ heads, edges: [edge(1, 3), edge(0, 2), edge(4, 1)] });
  expect([at[4]!.x < at[0]!.x, at[0]!.x === at[1]!.x, at[1]!.x < at[2]!.x]).toEqual([true, true, true]);
  expect(new Set(at.map(({ x, y }) => `${x} ${y}`)).size).toBe(heads.length);
  expect(Math.sign(at[0]!.y - at[1]!.y)).toBe(Math.sign(at[2]!.y - at[3]!.y)); // so the two edges do not cross
});
