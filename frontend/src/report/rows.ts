// Tables of the page: rows that stand for heads, buttons that open them, and what is folded below.

import "./rows.css";
import type { Reason } from "../protocol";
import { whole } from "../scene/format";
import { type Child, h } from "../ui/dom";
import { type Cell, same } from "./figures";
import type { Host, Now } from "./host";
import { opens } from "./reasons";

/** So many rows are all shown; of more, the first few until the rest are asked for. */
const [MOST, FIRST] = [8, 5];

/**
 * The button of a table that begins short, and how many rows it shows: `show` puts the first so many into it. On paper
 * it is whole.
 */
export class Shortened {
  readonly button: HTMLButtonElement = h("button.link.allrows.screen", {
    type: "button",
    "aria-expanded": "false",
    onclick: () => this.unfold(!this.all),
  });
  private rows = 0;
  private all = false;

  constructor(private readonly show: (most: number) => void) {}

  /** The rows that it may hide. */
  of(rows: readonly Element[]): void {
    for (const row of rows) shortenedBy.set(row, this);
  }

  /** The table has so many rows now; those that were looked for are all shown. */
  count(rows: number, found = false): void {
    this.rows = found ? 0 : rows;
    this.unfold(this.all);
  }

  /** Only the first rows are shown. */
  get short(): boolean {
    return this.rows > MOST && !this.all;
  }

  /** Show all rows, or the first. */
  unfold(all = true): void {
    this.all = all;
    this.button.hidden = this.rows <= MOST;
    this.button.setAttribute("aria-expanded", String(all));
    this.button.textContent = all ? `The first ${FIRST} rows` : `All ${whole(this.rows)} rows`;
    this.show(this.short ? FIRST : Infinity);
  }
}

const shortenedBy = new WeakMap<Element, Shortened>();

/** Unfold whatever an element stands in. */
export function reveal(element: Element): void {
  if (element.classList.contains("later")) shortenedBy.get(element)?.unfold();
  for (let details = element.closest("details"); details; details = details.parentElement?.closest("details") ?? null)
    details.open = true;
}

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

/** A name in a text that opens its head. */
export function headLink(
  host: Host,
  cell: Cell | null,
  text: string,
  reason: Reason,
  title: string | null = null,
): HTMLElement {
  return cell
    ? h("button.headlink", { type: "button", title, ...opens(host, cell, reason) }, text)
    : h("span", { title }, text);
}

/** What is unfolded by a click. */
export const folded = (summary: string, ...content: Child[]): HTMLElement =>
  h("details.note", {}, h("summary", {}, summary), ...content);

/** The first of several cases; the others are folded. */
export const firstOf = (cases: readonly HTMLElement[], kind: string): HTMLElement[] =>
  cases.length < 2 ? [...cases] : [cases[0]!, folded(`${cases.length - 1} more ${kind}`, ...cases.slice(1))];

/** How the figures were made, folded. */
export const notes = (lines: readonly string[]): HTMLElement =>
  folded("How to read these figures", h("ul.whys", {}, ...lines.map((line) => h("li", {}, line))));

/** A switch, off at first. */
export function toggle(text: string, changed: (on: boolean) => void): HTMLButtonElement {
  const button: HTMLButtonElement = h(
    "button.switch",
    { type: "button", role: "switch", "aria-checked": "false" },
    h("i"),
    text,
  );
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-checked") !== "true";
    button.setAttribute("aria-checked", String(on));
    changed(on);
  });
  return button;
}
