// Figures as small drawings in the rows of a table.

import "./bars.css";
import { clamp } from "../scene/format";
import { s } from "../ui/dom";

const line = (name: string, x1: number, x2: number, y1: number, y2: number): SVGElement =>
  s("line", { class: name, x1, x2, y1, y2 });

const rect = (name: string, x: number, width: number): SVGElement =>
  s("rect", { class: name, x, y: 4, width, height: 8 });

/** A small drawing of this size, which is not read aloud. */
export const drawing = (name: string, width: number, height: number, ...parts: SVGElement[]): SVGElement =>
  s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: name, "aria-hidden": "true" }, ...parts);

/** From 0 to 1, or to the most that there can be: a bar, its interval, the baseline and chance. */
export function bar(
  value: number | null,
  low: number | null,
  high: number | null,
  base: number | null = null,
  chance: number | null = null,
  most = 1,
): SVGElement {
  const width = 112;
  const at = (x: number): number => 1 + clamp(x / most, 0, 1) * (width - 2);
  const tick = (name: string, x: number | null, reach: number): SVGElement[] =>
    x === null ? [] : [line(name, at(x), at(x), 8 - reach, 8 + reach)];
  const parts = [rect("track", 1, width - 2)];
  if (value !== null) parts.push(rect("value", 1, at(value) - 1));
  if (low !== null && high !== null) parts.push(line("reach", at(low), at(high), 8, 8));
  return drawing("share", width, 16, ...parts, ...tick("base", base, 7), ...tick("chance", chance, 5));
}

/** From −1 to 1: to the right what A has more of, to the left what B has. */
export function change(share: number): SVGElement {
  const width = 72;
  const middle = width / 2;
  const end = middle + clamp(share, -1, 1) * (middle - 1);
  const parts = Number.isFinite(share)
    ? [rect(share < 0 ? "minus" : "plus", Math.min(middle, end), Math.abs(end - middle))]
    : [];
  return drawing("change", width, 16, rect("track", 1, width - 2), ...parts, line("zero", middle, middle, 2, 14));
}
