// A table that is saved: what its columns hold, and its rows. CSV and Parquet are made from the same.

import { parquetWriteBuffer } from "hyparquet-writer";
import { paper } from "../scene/format";

/** What a column holds: whole numbers, any numbers, text, or true and false. */
type Kind = "int" | "float" | "text" | "flag";

type Value = string | number | boolean | null;

export interface Table {
  readonly columns: { readonly [name: string]: Kind };
  /** Values in the order of the columns; null (or empty text, or no finite number): there is none. */
  readonly rows: readonly (readonly Value[])[];
}

/** The columns that say which head a row is about. */
export const HEAD = { layer: "int", head: "int", paper: "text" } as const;

/** A table of rows that name their values; `paper` follows from the layer and the head. */
export function records<Columns extends Table["columns"]>(
  columns: Columns,
  rows: readonly { readonly [Name in Exclude<keyof Columns, "paper">]: Value | undefined }[],
): Table {
  const valueIn = (row: { readonly [name: string]: Value | undefined }, name: string): Value => {
    if (name !== "paper") return row[name] ?? null;
    return typeof row.layer === "number" && typeof row.head === "number" ? paper(row.layer, row.head) : null;
  };
  return { columns, rows: rows.map((row) => Object.keys(columns).map((name) => valueIn(row, name))) };
}

const hasValue = (value: Value | undefined): value is string | number | boolean =>
  typeof value === "number" ? Number.isFinite(value) : value !== null && value !== undefined && value !== "";

const quoted = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function text(value: Value): string {
  if (!hasValue(value)) return "";
  return typeof value === "boolean"
    ? value
      ? "True"
      : "False"
    : quoted(typeof value === "string" ? calm(value) : String(value));
}

/** A cell that no spreadsheet runs: behind a quote mark what is no figure and begins as a formula. */
const calm = (cell: string): string =>
  /^[=+\-@\t\r＝＋－＠]/.test(cell) && Number.isNaN(Number(cell)) ? `'${cell}` : cell;

/** The table as CSV; what is missing is empty. */
export function csv({ columns, rows }: Table): string {
  return `${[Object.keys(columns), ...rows].map((row) => row.map(text).join(",")).join("\n")}\n`;
}

const TYPES = { int: "INT64", float: "DOUBLE", text: "STRING", flag: "BOOLEAN" } as const;

/** The table as Parquet; what is missing is null. */
export function parquet({ columns, rows }: Table): ArrayBuffer {
  const columnData = Object.entries(columns).map(([name, kind], column) => ({
    name,
    type: TYPES[kind],
    nullable: true,
    data: rows.map((row) => {
      const value = row[column];
      if (!hasValue(value)) return null;
      return kind === "int" ? BigInt(value) : value;
    }),
  }));
  return parquetWriteBuffer({ columnData });
}
