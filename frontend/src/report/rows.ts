// What the sections on syntax, coreference and probes have in common.

import "./linguistics.css";
import { h, s } from "../dom";

const WIDE = 112;

/** From 0 to 1: a bar, its interval, and the baseline. */
export function bar(value: number | null, low: number | null, high: number | null, base: number | null = null): SVGElement {
  const at = (x: number): number => 1 + x * (WIDE - 2);
  const parts: SVGElement[] = [s("rect", { class: "track", x: 1, y: 4, width: WIDE - 2, height: 8 })];
  if (value !== null) parts.push(s("rect", { class: "value", x: 1, y: 4, width: value * (WIDE - 2), height: 8 }));
  if (low !== null && high !== null) parts.push(s("line", { class: "reach", x1: at(low), x2: at(high), y1: 8, y2: 8 }));
  if (base !== null) parts.push(s("line", { class: "base", x1: at(base), x2: at(base), y1: 1, y2: 15 }));
  return s("svg", { width: WIDE, height: 16, viewBox: `0 0 ${WIDE} 16`, class: "share", "aria-hidden": "true" }, ...parts);
}

/** A table whose columns named in `numbers` are set to the right. */
export function table(title: string, columns: readonly string[], numbers: ReadonlySet<string>, bodies: readonly (readonly HTMLElement[])[]): HTMLElement {
  const head = h("tr", {}, ...columns.map((name) => h("th", { scope: "col", class: numbers.has(name) ? "n" : null }, h("span", {}, name))));
  const filled = bodies.filter((rows) => rows.length > 0).map((rows) => h("tbody", {}, ...rows));
  return h("div.tablebox.tables", { tabindex: 0, role: "region", "aria-label": title }, h("table.heads", {}, h("thead", {}, head), ...filled));
}

export const number = (text: string, strong = false): HTMLElement => h(strong ? "td.n.strong" : "td.n", {}, text);

/** How the figures were made, folded. */
export function notes(lines: readonly string[]): HTMLElement {
  return h("details.note", {}, h("summary", {}, "How to read these figures"), h("ul.whys", {}, ...lines.map((line) => h("li", {}, line))));
}
