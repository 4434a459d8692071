// The window of a matrix: what part of it is shown, and how it moves.

import { clamp } from "./format";

/** Cells of a whole matrix are no larger than this, and tokens stand beside cells of at least `LABELLED` pixels. */
export const CELL = 28;
export const LABELLED = 12;

/** First row, rows, first column, columns. */
export type Zoom = readonly [number, number, number, number];

/** A window that lies within the matrix. */
export function within(zoom: readonly number[] | null, rows: number, columns: number): Zoom {
  if (!zoom) return [0, rows, 0, columns];
  const tall = clamp(Math.round(zoom[1] ?? rows), 1, rows);
  const wide = clamp(Math.round(zoom[3] ?? columns), 1, columns);
  return [
    clamp(Math.round(zoom[0] ?? 0), 0, rows - tall),
    tall,
    clamp(Math.round(zoom[2] ?? 0), 0, columns - wide),
    wide,
  ];
}

/** Closer (factor below 1) or farther, about a cell. Null when everything is shown. */
export function zoomed(
  zoom: Zoom,
  factor: number,
  row: number,
  column: number,
  rows: number,
  columns: number,
): number[] | null {
  const least = Math.min(4, rows, columns);
  const tall = clamp(Math.round(zoom[1] * factor), Math.min(least, rows), rows);
  const wide = clamp(Math.round(zoom[3] * factor), Math.min(least, columns), columns);
  if (tall >= rows && wide >= columns) return null;
  const [up, left] = [(row - zoom[0]) / zoom[1], (column - zoom[2]) / zoom[3]];
  return [...within([row - up * tall, tall, column - left * wide, wide], rows, columns)];
}

/** Moved by some cells. */
export const moved = (zoom: Zoom, down: number, right: number, rows: number, columns: number): number[] => [
  ...within([zoom[0] + down, zoom[1], zoom[2] + right, zoom[3]], rows, columns),
];

/** The size of a window's cells: the box of the whole matrix keeps its size, so that closer means larger cells. */
export function cellOf(
  [, tall, , wide]: Zoom,
  { rows, columns }: { readonly rows: number; readonly columns: number },
  width: number,
  height: number,
  most: number,
): number {
  const all = Math.min(width / columns, height / rows, most);
  return Math.min((all * columns) / wide, (all * rows) / tall);
}

/** Which part of a matrix a window is, in words. */
export const windowSaid = (
  [first, tall, left, wide]: Zoom,
  { rows, columns }: { readonly rows: number; readonly columns: number },
): string => `rows ${first + 1}–${first + tall} of ${rows}, columns ${left + 1}–${left + wide} of ${columns}`;
