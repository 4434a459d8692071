import { parquetReadObjects } from "hyparquet";
import { expect, test } from "vitest";
import { csv, HEAD, parquet, records, type Table } from "../src/report/table";

const table: Table = {
  columns: { head: "int", name: "text", value: "float", few: "flag" },
  rows: [
    [3, 'a "b", c', 0.1, true],
    [null, null, NaN, null],
    [2 ** 40, "", 1, false],
  ],
};

test("csv: what is not there is empty, text is quoted where it must be", () => {
  expect(csv(table)).toBe('head,name,value,few\n3,"a ""b"", c",0.1,True\n,,,\n1099511627776,,1,False\n');
});

test("csv: a spreadsheet runs nothing of it, and figures stay figures", () => {
  const cells = ["=1+1", "+x", "-", "@A1", "\t=1", "＝1", "a=b", "-0.5", "+3"];
  const lines = csv({ columns: { "=label": "text", value: "float" }, rows: cells.map((cell) => [cell, -0.5]) });
  const calm = cells.map((cell, place) => `${place < 6 ? "'" : ""}${cell},-0.5`);
  expect(lines).toBe(`${["'=label,value", ...calm].join("\n")}\n`);
});

test("parquet: the same values, whole numbers whole, what is not there null", async () => {
  const rows = await parquetReadObjects({ file: parquet(table) });
  expect(rows).toEqual([
    { head: 3n, name: 'a "b", c', value: 0.1, few: true },
    { head: null, name: null, value: null, few: null },
    { head: 1099511627776n, name: null, value: 1, few: false },
  ]);
});

test("a table without rows has its columns", async () => {
  const empty = { ...table, rows: [] };
  expect(csv(empty)).toBe("head,name,value,few\n");
  expect(await parquetReadObjects({ file: parquet(empty) })).toEqual([]);
});

test("a number that is not whole is no whole number", () => {
  expect(() => parquet({ columns: { n: "int" }, rows: [[0.5]] })).toThrow();
});

test("rows that name their values become columns: the label in papers follows from the head, what is missing is null", () => {
  const rows = [
    { layer: 7, head: 9, value: 0.5, units: "share" },
    { layer: null, head: null, value: undefined },
  ];
  const { columns, rows: values } = records({ ...HEAD, value: "float" }, rows);
  expect(Object.keys(columns)).toEqual(["layer", "head", "paper", "value"]);
  expect(values).toEqual([
    [7, 9, "8-10", 0.5],
    [null, null, null, null],
  ]);
});
