// Tokens as text: a column of them, copyable and readable in any script.

import { THUMB } from "../draw/tokens";
import type { PictureInfo } from "../protocol";
import { type Item, name, withId } from "../scene/axis";
import { around, arrange, h } from "./dom";
import { thumbnail } from "./fold";

/** A token's text; the direction is that of its own script. A picture within a text, and each patch of it, is seen. */
export function tokenText(item: Item, picture?: PictureInfo): HTMLElement {
  const long = Array.from(name(item)).length > 18;
  return h(
    "span.t",
    { dir: "auto", title: item.id !== null || long ? withId(item) : null },
    item.image && thumbnail(item.image, picture, THUMB),
    item.mark ? h("i", item.mark) : null,
    item.text,
  );
}

interface Row {
  readonly key: string;
  place: number;
}

const rows = new WeakMap<Element, Row>();

/** Show these tokens in a column. Rows that are there already stay: to build them is what a filter costs. */
export function fill(element: HTMLElement, items: readonly Item[], picture?: PictureInfo): void {
  const role = element.getAttribute("role") === "listbox" ? "option" : "listitem";
  const before = new Map<string, HTMLElement>();
  for (const row of element.children as Iterable<HTMLElement>) before.set(rows.get(row)?.key ?? "", row);
  const wanted = items.map((item, place) => {
    const key = `${item.start} ${item.end} ${item.special} ${withId(item)}`;
    const row =
      before.get(key) ??
      h(`div.tok${item.special ? ".sp" : ""}${item.changed ? ".changed" : ""}`, { role }, tokenText(item, picture));
    rows.set(row, { key, place });
    return row;
  });
  arrange(element, wanted);
}

/** Let an element stand for a token of its side. */
export const remember = (element: HTMLElement, place: number): unknown => rows.set(element, { key: "", place });

/** The place of the token under an event. */
export function placeOf(event: Event): number | null {
  const row = around(event, ".tok, .word");
  return (row && rows.get(row)?.place) ?? null;
}

/** Give one row of a column a class, and take it from the others. */
export function mark(column: HTMLElement, place: number | null, className: string): void {
  const before = column.querySelector(`.${className}`);
  const now = place === null ? null : (column.children[place] ?? null);
  if (before === now) return;
  before?.classList.remove(className);
  now?.classList.add(className);
}

let columns = 0;

/** Tell a screen reader which row of a listbox is pointed at, and which is pinned. */
export function tell(column: HTMLElement, at: number | null, pinned: number | null): void {
  column.id ||= `tokens-${columns++}`;
  const id = `${column.id}-at`;
  const row = at === null ? null : (column.children[at] ?? null);
  const before = column.querySelector(`#${id}`);
  if (before !== row) before?.removeAttribute("id");
  if (row) row.id = id;
  if (row) column.setAttribute("aria-activedescendant", id);
  else column.removeAttribute("aria-activedescendant");
  const chosen = pinned === null ? null : (column.children[pinned] ?? null);
  for (const other of column.querySelectorAll("[aria-selected]"))
    if (other !== chosen) other.removeAttribute("aria-selected");
  chosen?.setAttribute("aria-selected", "true");
}

/** Where a key leads from a row of `count`; null for keys that do not move. */
export function step(key: string, at: number, count: number): number | null {
  const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: count - 1, PageUp: at - 10, PageDown: at + 10 }[key];
  return to === undefined ? null : Math.min(count - 1, Math.max(0, to));
}
