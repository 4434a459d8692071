// The values of a table: how they are written, put in order and saved.

import type { ColumnInfo, TableBlock } from "../../protocol";
import { code, figure, fixed, paper, probability, range, share, shown, whole } from "../../scene/format";
import type { Table } from "../table";

export type Value = TableBlock["values"][string][number];
type Format = NonNullable<ColumnInfo["format"]>;
export type Column = ColumnInfo & { readonly label: string; readonly format: Format };

/** So many of the tokens of a cell have room. */
const TOKENS = 3;

const KINDS: Partial<Record<Format, "int" | "flag" | "text">> = {
  ...{ whole: "int", head: "int", flag: "flag" },
  ...{ text: "text", token: "text", tokens: "text" },
};

export const isText = ({ format }: Pick<Column, "format">): boolean => KINDS[format] === "text" || format === "flag";

/** Decimals of the figures of a row, by their units. */
export const digitsOf = ({ units, values }: TableBlock, row: number | null): number | undefined =>
  units === undefined || row === null ? undefined : values[units]![row] === "share" ? 3 : 2;

/** A value as its column writes it. */
export function written({ format, label, digits = 3 }: Column, value: Value | undefined): string {
  if (typeof value === "boolean") return value ? label : "";
  if (typeof value === "string") {
    if (format === "tokens") return Array.from(value.split(" ").slice(0, TOKENS), (each) => shown(each)).join("  ");
    return format === "token" ? shown(value) : value;
  }
  if (value === null || value === undefined) return isText({ format }) ? "" : "–";
  if (format === "share") return share(value, digits);
  if (format === "probability") return probability(value);
  if (format === "whole") return whole(value);
  return (format === "fixed" ? fixed : figure)(value, digits);
}

/** An interval below a figure of a column. */
export const interval = ({ format, digits = 3 }: Column, low: number, high: number): string =>
  format === "share" ? range(low, high, digits) : `${figure(low, digits)} to ${figure(high, digits)}`;

/** The columns of a table by name, those that are only shown among them. */
export const columnsOf = ({ columns, more }: TableBlock): Map<string, Column> =>
  new Map(
    [...columns, ...more].map((column) => [
      column.name,
      { label: column.name.replaceAll("_", " "), format: "figure", ...column },
    ]),
  );

/** The head of a row by the model's own indices, and by its name; null where a row is about none. */
export function headOf({ values }: TableBlock, row: number): { layer: number; head: number; name: string } | null {
  const [layer, head] = [values.layer?.[row], values.head?.[row]];
  return typeof layer === "number" && typeof head === "number" ? { layer, head, name: code(layer, head) } : null;
}

/** The label of a row's head in papers. */
export const paperOf = (info: TableBlock, row: number): string | null => {
  const head = headOf(info, row);
  return head && paper(head.layer, head.head);
};

export const count = ({ values }: TableBlock): number =>
  Math.max(0, ...Object.values(values).map(({ length }) => length));

/** The places of rows in the order of a column, as `-score` for the largest first; what has no value comes last. */
export function ordered(info: TableBlock, sort: string): number[] {
  const rows = Array.from({ length: count(info) }, (_, row) => row);
  const name = sort.replace(/^-/, "");
  const sign = sort === name ? 1 : -1;
  const key = (row: number): Value => {
    const head = name === "head" ? headOf(info, row) : null;
    return name === "head" ? head && 1e6 * head.layer + head.head : (info.values[name]![row] ?? null);
  };
  if (name !== "head" && !info.values[name]) return rows;
  return rows.sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return sign * (typeof x === "string" ? x.localeCompare(String(y)) : Number(x) - Number(y));
  });
}

/** The table that is saved: its columns in their order, whatever the page shows. */
export const saved = (info: TableBlock): Table => ({
  columns: Object.fromEntries(info.columns.map(({ name, format }) => [name, KINDS[format ?? "figure"] ?? "float"])),
  rows: Array.from({ length: count(info) }, (_, row) =>
    info.columns.map(({ name }) => (name === "paper" ? paperOf(info, row) : (info.values[name]?.[row] ?? null))),
  ),
});
