// A table: rows that stand for heads open them; its columns sort, and words filter its rows.

import "./blocks.css";
import type { CellInfo, TableBlock } from "../../protocol";
import { plural, whole } from "../../scene/format";
import { h } from "../../ui/dom";
import { type Cell, same } from "../figures";
import { parseFilter, type Searched } from "../filter";
import type { Arranged, Host, Now } from "../host";
import { ofMeasure, opens } from "../reasons";
import { meanings, word } from "../terms";
import type { Block } from "./block";
import { cases } from "./cases";
import { Cells, numeric } from "./cells";
import { type Column, columnsOf, count, headOf, isText, ordered, paperOf, saved, type Value } from "./values";

/** So many rows are all shown; of more, the first few until the rest are asked for, and so many are printed. */
const [MOST, FIRST, PRINTED] = [8, 5, 200];
/** Rows that are made at a time, and how near the last one must be, in pixels, for more of them. */
const [STEP, NEAR] = [100, 800];

export class Rows {
  readonly root: HTMLElement;
  private readonly columns: Map<string, Column>;
  private readonly cells: Cells;
  /** Real inputs of the row that is chosen. */
  readonly list = h("div.cases");
  /** The rows that have been made: a large model has thousands of heads, of which few are looked at. */
  private readonly made = new Map<number, HTMLElement>();
  private readonly rows: readonly number[];
  private readonly head = h("tr");
  private readonly body = h("tbody", { onkeydown: (event: KeyboardEvent) => this.key(event) });
  private readonly below: HTMLElement[];
  private readonly box: HTMLElement;
  private readonly table: HTMLElement;
  private readonly status = h("span.dim", { role: "status" });
  private readonly input: HTMLInputElement;
  private readonly button = h("button.link.allrows.screen", { onclick: () => this.unfold(!this.all) });
  private readonly left = h("p.dim.paper");
  private readonly searched: Searched<number>;
  private arranged: Arranged | null = null;
  private printing = false;
  /** The rows that were asked for, in their order; whether all are to stand there, and how many of them do. */
  private found: readonly number[] = [];
  private all = false;
  private count = 0;

  constructor(
    private readonly info: TableBlock,
    private readonly id: string,
    private readonly host: Host,
  ) {
    this.columns = columnsOf(info);
    this.cells = new Cells(info, this.columns, host);
    const { others = {}, heads = {} } = info;
    this.rows = info.shown ?? Array.from({ length: count(info) }, (_, row) => row);
    this.below = Array.from({ length: Object.values(others)[0]?.length ?? 0 }, (_, row) =>
      h(
        info.off === undefined ? "tr.plain" : "tr.off",
        { title: info.off || null },
        ...this.cells.of(null, (name) => others[name ?? ""]?.[row] ?? null),
      ),
    );
    const figures = [...this.columns.values()].filter((column) => !isText(column) && info.values[column.name]);
    const named = (name: string) => (row: number) => numeric(info.values[name]![row]!) ?? NaN;
    const words = (row: number): Value[] => [
      headOf(info, row)?.name ?? null,
      paperOf(info, row),
      ...Object.values(info.values).map((values) => values[row] ?? null),
      ...Object.values(heads).flatMap((parts) => parts[row]!.map(({ text }) => text)),
    ];
    this.searched = {
      figures: figures.flatMap(({ name, label }) =>
        [name, label].map((each) => [each.toLowerCase(), named(name)] as const),
      ),
      head: (row) => headOf(info, row),
      says: (row, asked) => words(row).some((word) => typeof word === "string" && word.toLowerCase().includes(asked)),
    };
    const example = figures.find(({ format }) => format === "share" || format === "figure");
    this.input = h("input.find.screen", {
      type: "search",
      placeholder: `Filter${example ? `, as ${example.name} > .5` : ""}`,
      "aria-label": `Filter: ${info.title}`,
      spellcheck: "false",
      autocomplete: "off",
      oninput: () => this.arrange({ ...this.now, find: this.input.value }),
    });
    this.table = h("table.heads", h("thead", this.head), this.body, this.below.length > 0 && h("tbody", ...this.below));
    this.box = h(
      "div.tablebox",
      { tabindex: 0, role: "region", "aria-label": info.title, onscroll: () => this.more() },
      this.table,
    );
    const foot = h("div.tablefoot.screen", this.button, this.input, this.status);
    this.show();
    this.root = h(
      "div.block",
      this.box,
      this.rows.length > 1 && foot,
      this.left,
      meanings(this.box),
      info.cases && this.list,
    );
    const first = info.cases?.first ?? null;
    if (first !== null) this.choose(first);
  }

  readonly update = (now: Now): void => {
    const printing = this.printing !== now.printing;
    this.printing = now.printing;
    if (this.now !== this.arranged) this.show();
    else if (printing) this.unfold(this.all);
    else this.fill(this.count);
  };

  /** The row of a head, which is in sight then; null where it was not asked for. */
  readonly find = (cell: Cell): HTMLElement | null => {
    const at = this.found.findIndex((row) => this.stands(row, cell));
    if (at < 0) return null;
    if (at >= this.count && this.short) this.unfold(true);
    if (at >= this.count) this.fill(STEP * Math.ceil((at + 1) / STEP));
    return this.made.get(this.found[at]!)!;
  };

  private stands(row: number, cell: Cell): boolean {
    const own = this.cells.cellOf(row);
    return own !== null && same(own, cell);
  }

  private choose(row: number): void {
    const [cell, reason] = [this.cells.cellOf(row), this.info.reasons[row]];
    if (!this.info.cases || !cell || !reason) return;
    for (const [other, element] of this.made) {
      element.classList.toggle("chosen", other === row);
      element.querySelector("[aria-expanded]")?.setAttribute("aria-expanded", String(other === row));
    }
    this.list.replaceChildren(...cases(this.info.cases, row, cell, reason, this.host));
  }

  private get now(): Arranged {
    return this.host.now.arranged[this.id] ?? NONE;
  }

  private arrange(arranged: Arranged): void {
    this.host.set({ arranged: { ...this.host.now.arranged, [this.id]: arranged } });
  }

  // The rows that are asked for, in their order.
  private show(): void {
    const { sort, find } = (this.arranged = this.now);
    const test = parseFilter(find, this.searched);
    const there = new Set(this.rows);
    this.found = ordered(this.info, sort).filter((row) => there.has(row) && (test?.(row) ?? true));
    if (this.input.value !== find) this.input.value = find;
    this.input.setAttribute("aria-invalid", String(test === null));
    this.head.replaceChildren(...this.info.cells.map((cell, at) => this.heading(cell, at, sort)));
    const { length } = this.found;
    const all = plural(this.rows.length, "row");
    this.status.textContent = find === "" ? "" : test === null ? "no such column" : `${length} of ${all}`;
    this.table.setAttribute("aria-rowcount", String(length + 1));
    this.box.scrollTop = 0;
    this.unfold(this.all);
  }

  /** Only the first rows are shown. */
  private get short(): boolean {
    return this.found.length + this.below.length > MOST && !this.all && this.now.find === "" && !this.printing;
  }

  // Show all rows, or the first; on paper all.
  private unfold(all: boolean): void {
    this.all = all;
    const total = this.found.length + this.below.length;
    this.button.hidden = total <= MOST || this.now.find !== "";
    this.button.setAttribute("aria-expanded", String(all));
    this.button.textContent = all ? `The first ${FIRST} rows` : `All ${whole(total)} rows`;
    const left = this.printing ? this.found.length - PRINTED : 0;
    this.left.textContent = left > 0 ? `The first ${PRINTED}; the page itself and its tables hold ${left} more.` : "";
    for (const row of this.below) row.hidden = this.now.find !== "" || this.short;
    this.fill(this.short ? FIRST : this.printing ? PRINTED : STEP);
  }

  // So many rows, and the first of the open head where it is not among them; those that stand there already stay.
  private fill(count: number): void {
    this.count = Math.min(count, this.found.length);
    const { cell } = this.host.now;
    const rows = this.found.slice(0, this.count);
    const open = (row: number): boolean => this.stands(row, cell);
    if (this.short && !rows.some(open)) rows.push(...this.found.filter(open).slice(0, 1));
    let next = this.body.firstElementChild;
    for (const row of rows) {
      const element = this.made.get(row) ?? this.row(row);
      this.made.set(row, element);
      if (element === next) next = next.nextElementSibling;
      else this.body.insertBefore(element, next);
    }
    while (next) {
      const after = next.nextElementSibling;
      next.remove();
      next = after;
    }
    // The open head's rows are marked; the Tab key reaches the first of them, or else the first row.
    const stop = rows.find(open) ?? rows[0];
    for (const row of rows) {
      const element = this.made.get(row)!;
      if (this.cells.cellOf(row)) element.setAttribute("aria-selected", String(open(row)));
      const button = element.querySelector<HTMLElement>("th .headname");
      if (button) button.tabIndex = row === stop ? 0 : -1;
    }
  }

  // More rows as the last of them comes near.
  private more(): void {
    const { scrollHeight, scrollTop, clientHeight } = this.box;
    if (this.short || this.count >= this.found.length || scrollHeight - scrollTop - clientHeight > NEAR) return;
    this.fill(this.count + STEP);
  }

  // Up and down walk the rows as they stand.
  private key(event: KeyboardEvent): void {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const own = (event.target as Element).closest("tr");
    const at = this.found.findIndex((row) => this.made.get(row) === own);
    const cell = by && at >= 0 && at + by in this.found ? this.cells.cellOf(this.found[at + by]!) : null;
    if (!cell) return;
    event.preventDefault();
    event.stopPropagation();
    this.host.set({ cell });
    if (at + by! >= this.count) this.find(cell);
    this.made
      .get(this.found[at + by!]!)!
      .querySelector<HTMLElement>(".headname")
      ?.focus();
  }

  private heading(cell: CellInfo, at: number, sort: string): HTMLElement {
    const column = this.columns.get(cell.of)!;
    const text = cell.label ?? column.label;
    const flag = column.format === "flag";
    const name = h("span", { class: flag || !text ? "hidden" : null }, text || "picture");
    const classed =
      at > 0 &&
      (!cell.draw || cell.draw === "range" || cell.draw === "tint") &&
      !isText(column) &&
      column.format !== "head"
        ? "n"
        : null;
    if ((cell.draw && cell.draw !== "measure" && cell.draw !== "tint") || cell.of === "paper")
      return h("th", { scope: "col", class: classed }, name);
    const [up, down] = [cell.of, `-${cell.of}`];
    // The largest first, then the smallest, then as the rows were.
    const turns = isText(column) || column.format === "head" ? [up, down, ""] : [down, up, ""];
    const next = (): void => {
      this.arrange({ ...this.now, sort: turns[(turns.indexOf(sort) + 1) % turns.length]! });
      this.head.children[at]?.querySelector("button")?.focus();
    };
    const arrow = h("span.arrow", { "aria-hidden": "true" }, sort === up ? "↑" : sort === down ? "↓" : "");
    const button = column.help
      ? word(text, column.help, this.host, next, arrow)
      : h("button", { onclick: next }, name, arrow);
    const sorted = sort === up ? "ascending" : sort === down ? "descending" : null;
    return h("th", { scope: "col", "aria-sort": sorted, class: classed }, button);
  }

  private row(row: number): HTMLElement {
    const { info, host } = this;
    const head = headOf(info, row);
    const [cell, reason] = [this.cells.cellOf(row), info.reasons[row]];
    const look = head && info.look;
    const show =
      look &&
      (() => {
        const { layer, head: own } = head;
        host.look(look.example, { scale: "head", part: look.part, layer, heads: [own], pin: null, between: null });
      });
    const attributes = show
      ? { "data-looks": head.name, onclick: show }
      : cell && reason
        ? opens(host, cell, reason, ({ target }) => {
            this.choose(row);
            const name = (target as Element).closest<HTMLElement>("[data-measure]")?.dataset.measure;
            const { figures, now } = host;
            if (this.tinted) return ofMeasure(name ? figures.measure(name) : now.measure, cell);
          })
        : {};
    const faint = info.faint !== undefined && info.values[info.faint]?.[row] === true;
    const title = faint ? this.columns.get(info.faint!)?.help : null;
    return h(
      faint ? "tr.off" : head ? "tr" : "tr.plain",
      { title, ...attributes },
      ...this.cells.of(row, (name) => info.values[name ?? ""]?.[row] ?? null),
    );
  }

  /** Its figures are of measures of the page: each opens its head for itself. */
  private get tinted(): boolean {
    return this.info.cells.some(({ draw }) => draw === "tint");
  }
}

const NONE: Arranged = { sort: "", find: "" };

export const table: Block<TableBlock> = (info, { host, section }) => {
  const tables = info.columns.length > 0 && { [info.name]: () => saved(info) };
  if (info.cells.length === 0) return { root: h("div", { hidden: true }), ...(tables && { tables }) };
  const { root, update, list } = new Rows(info, `${section}.${info.name}`, host);
  return { root, update, ...(info.cases?.link && { picture: list }), ...(tables && { tables }) };
};
