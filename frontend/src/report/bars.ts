// Figures as small drawings in the rows of a table.

import "./bars.css";
import { clamp } from "../scene/format";
import { s } from "../ui/dom";

const line = (name: string, x1: number, x2: number, y1: number, y2: number): SVGElement =>
  s("line", { class: name, x1, x2, y1, y2 });

const rect = (name: string, x: number, width: number): SVGElement =>
  s("rect", { class: name, x, y: 4, width, height: 8 });

const drawing = (name: string, width: number, ...parts: SVGElement[]): SVGElement =>
  s("svg", { width, height: 16, viewBox: `0 0 ${width} 16`, class: name, "aria-hidden": "true" }, ...parts);

/** From 0 to 1: a bar, its interval, and the baseline. */
export function bar(
  value: number | null,
  low: number | null,
  high: number | null,
  base: number | null = null,
): SVGElement {
  const width = 112;
  const at = (x: number): number => 1 + x * (width - 2);
  const parts = [rect("track", 1, width - 2)];
  if (value !== null) parts.push(rect("value", 1, value * (width - 2)));
  if (low !== null && high !== null) parts.push(line("reach", at(low), at(high), 8, 8));
  if (base !== null) parts.push(line("base", at(base), at(base), 1, 15));
  return drawing("share", width, ...parts);
}

/** From −1 to 1: to the right what A has more of, to the left what B has. */
export function change(share: number): SVGElement {
  const width = 72;
  const middle = width / 2;
  const end = middle + clamp(share, -1, 1) * (middle - 1);
  const parts = Number.isFinite(share)
    ? [rect(share < 0 ? "minus" : "plus", Math.min(middle, end), Math.abs(end - middle))]
    : [];
  return drawing("change", width, rect("track", 1, width - 2), ...parts, line("zero", middle, middle, 2, 14));
}

interface Scored {
  readonly units: string;
  readonly score: number;
  readonly low: number;
  readonly high: number;
  readonly threshold: number;
  readonly chance: number;
}

/** From 0 to the most that there can be: the interval, the score, the bar it passed and chance. */
export function interval({ units, score, low, high, threshold, chance }: Scored): SVGElement {
  const width = 116;
  const most = units === "share" ? 1 : Math.max(chance, high);
  const at = (x: number): number => 4 + clamp(x / most, 0, 1) * (width - 8);
  const tick = (x: number, name: string, reach: number): SVGElement => line(name, at(x), at(x), 8 - reach, 8 + reach);
  const parts = [
    line("axis", 4, width - 4, 8, 8),
    tick(chance, "chance", 3),
    tick(threshold, "bar", 6),
    line("reach", at(low), at(high), 8, 8),
  ];
  return drawing("interval", width, ...parts, s("circle", { class: "score", cx: at(score), cy: 8, r: 3.4 }));
}
