// A table that is saved: what its columns hold, and its rows. CSV and Parquet are made from the same.

import { parquetWriteBuffer } from "hyparquet-writer";

/** What a column holds: whole numbers, any numbers, text, or true and false. */
export type Kind = "int" | "float" | "text" | "flag";

type Value = string | number | boolean | null;

export interface Table {
  readonly columns: { readonly [name: string]: Kind };
  /** Values in the order of the columns; null (or empty text, or no finite number): there is none. */
  readonly rows: readonly (readonly Value[])[];
}

const there = (value: Value | undefined): value is string | number | boolean =>
  typeof value === "number" ? Number.isFinite(value) : value !== null && value !== undefined && value !== "";

const quoted = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function text(value: Value): string {
  if (!there(value)) return "";
  return typeof value === "boolean" ? (value ? "True" : "False") : quoted(String(value));
}

/** The table as CSV; what is not there is empty. */
export function csv({ columns, rows }: Table): string {
  return `${[Object.keys(columns), ...rows].map((row) => row.map(text).join(",")).join("\n")}\n`;
}

const TYPES = { int: "INT64", float: "DOUBLE", text: "STRING", flag: "BOOLEAN" } as const;

/** The table as Parquet; what is not there is null. */
export function parquet({ columns, rows }: Table): ArrayBuffer {
  const columnData = Object.entries(columns).map(([name, kind], place) => ({
    name,
    type: TYPES[kind],
    nullable: true,
    data: rows.map((row) => {
      const value = row[place];
      if (!there(value)) return null;
      return kind === "int" ? BigInt(value) : value;
    }),
  }));
  return parquetWriteBuffer({ columnData });
}
