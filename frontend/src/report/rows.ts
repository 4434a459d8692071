// Links that open heads, and what is folded.

import "./rows.css";
import type { Reason } from "../protocol";
import { type Child, h } from "../ui/dom";
import type { Cell } from "./figures";
import type { Host } from "./host";
import { opens } from "./reasons";

/** A name in a text that opens its head. */
export function headLink(
  host: Host,
  cell: Cell | null,
  text: string,
  reason: Reason,
  title: string | null = null,
): HTMLElement {
  return cell
    ? h("a.headlink", { href: `#${host.figures.name(cell)}`, title, ...opens(host, cell, reason) }, text)
    : h("span", { title }, text);
}

/** What is unfolded by a click. */
export const folded = (summary: string, ...content: Child[]): HTMLElement =>
  h("details.note", h("summary", summary), ...content);

/** The first of several cases; the others are folded. */
export const firstOf = (cases: readonly HTMLElement[], kind: string): HTMLElement[] =>
  cases.length < 2 ? [...cases] : [cases[0]!, folded(`${cases.length - 1} more ${kind}`, ...cases.slice(1))];

/** How the figures were made, folded. */
export const notes = (lines: readonly string[]): HTMLElement =>
  folded("How to read these figures", h("ul.whys", ...lines.map((line) => h("li", line))));

/** A switch, off at first. */
export function toggle(text: string, changed: (on: boolean) => void): HTMLButtonElement {
  const button: HTMLButtonElement = h("button.switch", { role: "switch", "aria-checked": "false" }, h("i"), text);
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-checked") !== "true";
    button.setAttribute("aria-checked", String(on));
    changed(on);
  });
  return button;
}
