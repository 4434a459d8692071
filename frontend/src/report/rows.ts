// Tables of the page: rows that stand for heads, buttons that open them, and what is folded below.

import "./rows.css";
import { type Child, h } from "../dom";
import { type Cell, same } from "./figures";
import type { Host, Now } from "./host";

/** A table whose columns named in `numbers` are set to the right. */
export function table(title: string, columns: readonly string[], numbers: ReadonlySet<string>, bodies: readonly (readonly HTMLElement[])[], kind = ""): HTMLElement {
  const head = h("tr", {}, ...columns.map((name) => h("th", { scope: "col", class: numbers.has(name) ? "n" : null }, h("span", {}, name))));
  const filled = bodies.filter((rows) => rows.length > 0).map((rows) => h("tbody", {}, ...rows));
  return h("div.tablebox", { class: `tablebox tables ${kind}`.trim(), tabindex: 0, role: "region", "aria-label": title }, h("table.heads", {}, h("thead", {}, head), ...filled));
}

export const number = (text: string, strong = false): HTMLElement => h(strong ? "td.n.strong" : "td.n", {}, text);

/** Rows that stand for heads: that of the open head is marked. */
export class HeadRows {
  private readonly rows: { readonly cell: Cell; readonly element: HTMLElement }[] = [];

  add<Row extends HTMLElement>(cell: Cell | null, element: Row): Row {
    if (cell) this.rows.push({ cell, element });
    return element;
  }

  /** Mark the row whose cases are listed below the table. */
  choose(row: HTMLElement): void {
    for (const { element } of this.rows) {
      element.classList.toggle("chosen", element === row);
      element.querySelector("[aria-pressed]")?.setAttribute("aria-pressed", String(element === row));
    }
  }

  readonly update = (now: Now): void => {
    for (const { cell, element } of this.rows) element.setAttribute("aria-selected", String(same(cell, now.cell)));
  };
}

/** A name in a text that opens its head, on an example if one is named. */
export function headLink(host: Host, cell: Cell | null, text: string, example?: number | null, title: string | null = null): HTMLElement {
  const open = (event: Event): void => {
    event.stopPropagation();
    if (cell) host.open(cell, example);
  };
  return h("button.headlink", { type: "button", title, onclick: open }, text);
}

/** Units behind a name, where they are not shares. */
export const unitsOf = (units: string): Child => units !== "share" && h("span.dim", {}, ` ${units}`);

/** Decimals of a figure in a table. */
export const digitsOf = (units: string): number => (units === "share" ? 3 : 2);

/** What is unfolded by a click. */
export const folded = (summary: string, ...content: Child[]): HTMLElement => h("details.note", {}, h("summary", {}, summary), ...content);

/** How the figures were made, folded. */
export const notes = (lines: readonly string[]): HTMLElement => folded("How to read these figures", h("ul.whys", {}, ...lines.map((line) => h("li", {}, line))));

/** Names, and what is said of each. */
export const definitions = (entries: readonly (readonly [name: string, text: string])[]): HTMLElement =>
  h("dl.notes", {}, ...entries.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]));

/** A switch, off at first. */
export function toggle(text: string, changed: (on: boolean) => void): HTMLButtonElement {
  const button: HTMLButtonElement = h("button.switch", { type: "button", role: "switch", "aria-checked": "false" }, h("i"), text);
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-checked") !== "true";
    button.setAttribute("aria-checked", String(on));
    changed(on);
  });
  return button;
}
