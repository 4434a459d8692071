// Every head a row, every measure a column.

import type { HeadsSection } from "../../../protocol";
import { errorFigure, figure, plural } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { type Cell, type Figures, type Measure, same, tidy } from "../../figures";
import { allHeads, parseFilter } from "../../filter";
import type { Host, Now, Section } from "../../host";
import { ofMeasure } from "../../reasons";
import { Shortened, toggle } from "../../rows";
import { figureTip, pointing } from "../../tip";

/** How many measures have room beside one another on paper, and how many heads are printed. */
const ACROSS = 12;
const DOWN = 200;
/** Rows that are made at a time, and how near the last one must be, in pixels, for more of them. */
const [STEP, NEAR] = [100, 800];

interface Row {
  readonly cell: Cell;
  readonly element: HTMLTableRowElement;
  readonly button: HTMLButtonElement;
}

interface Order {
  readonly key: "head" | Measure;
  readonly down: boolean;
}

// So many that the largest has three digits that count.
const decimals = ({ scale }: Measure): number => Math.max(2, 2 - Math.floor(Math.log10(scale.high)));

/** Heads in an order; those without a value come last either way. */
export function ordered(figures: Figures, { key, down }: Order): Cell[] {
  const cells = [...figures.cells];
  if (key === "head") return down ? cells.reverse() : cells;
  const sign = down ? -1 : 1;
  return cells.sort((a, b) => {
    const [x, y] = [key.value(a), key.value(b)];
    if (!Number.isFinite(x) || !Number.isFinite(y)) return Number(!Number.isFinite(x)) - Number(!Number.isFinite(y));
    return sign * (x - y);
  });
}

/** A figure of a head, with its error and a wash of colour. */
function figureCell(measure: Measure, cell: Cell): HTMLElement {
  const [value, error] = [measure.value(cell), measure.error(cell)];
  const text = measure.isShare ? figure(value).replace(/^(<?)0\./, "$1.") : figure(value, decimals(measure));
  const style = Number.isFinite(value) ? `--v:${Math.round(100 * measure.scale.tint(value))}%` : null;
  const spread = Number.isFinite(error) ? `±${errorFigure(error)}` : "";
  return h(measure.isShare && value > 0.5 ? "td.n.strong" : "td.n", { style }, text, h("small", {}, spread));
}

/** On paper every figure of every head, as many columns at a time as have room. */
function printed(figures: Figures): HTMLElement {
  const cells = figures.cells.slice(0, DOWN);
  const blocks: HTMLElement[] = [];
  for (let start = 0; start < figures.told.length; start += ACROSS) {
    const measures = figures.told.slice(start, start + ACROSS);
    const head = h(
      "tr",
      {},
      h("th", {}, "head"),
      h("th.dim", {}, "paper"),
      ...measures.map(({ info }) => h("th.n", {}, info.title)),
    );
    const rows = cells.map((cell) =>
      h(
        "tr",
        {},
        h("th", {}, figures.name(cell)),
        h("td.dim", {}, figures.paper(cell)),
        ...measures.map((measure) => figureCell(measure, cell)),
      ),
    );
    blocks.push(h("div.allheads", {}, h("table.heads", {}, h("thead", {}, head), h("tbody", {}, ...rows))));
  }
  const left = figures.cells.length - cells.length;
  return h(
    "div.paper",
    {},
    ...blocks,
    left > 0 && h("p.note", {}, `The first ${DOWN} heads; the page itself and its tables hold ${left} more.`),
  );
}

class HeadTable {
  private readonly status = h("span.dim", { role: "status" });
  private readonly input: HTMLInputElement = h("input.find", {
    type: "search",
    placeholder: "L2, 3-10, previous > .5",
    "aria-label": "Filter heads",
    spellcheck: "false",
    autocomplete: "off",
    oninput: () => this.arrange(),
  });
  private readonly head = h("tr");
  private readonly body: HTMLElement;
  private readonly root: HTMLElement;
  /** The rows that have been made: a large model has thousands of figures, of which few are looked at. */
  private readonly rows = new Map<Cell, Row>();
  private readonly scroll: HTMLElement;
  private readonly table: HTMLElement;
  private readonly shortened = new Shortened((most) => this.show(Math.min(most, STEP)));
  /** The heads that were asked for, in their order, and how many of them stand in the table. */
  private cells: readonly Cell[] = [];
  private made = 0;
  private order: Order = { key: "head", down: false };
  private print: HTMLElement | null = null;

  constructor(
    element: HTMLElement,
    private readonly host: Host,
  ) {
    const listeners = pointing(
      host,
      (event) => this.rowOf(event.target),
      (row, event) => this.tip(row, event),
      (row, event) => host.open(row.cell, ofMeasure(this.measureOf(row, event) ?? host.now.measure, row.cell)),
    );
    this.body = h("tbody", { ...listeners, onkeydown: (event: KeyboardEvent) => this.key(event) });
    this.table = h("table.heads", {}, h("thead", {}, this.head), this.body);
    const scroll = h(
      "div.tablebox",
      { tabindex: 0, role: "region", "aria-label": "Table of heads", onscroll: () => this.more() },
      this.table,
    );
    this.scroll = scroll;
    const errors = toggle("Standard errors", (on) => scroll.classList.toggle("errors", on));
    this.root = h(
      "div.tablepart",
      {},
      h("div.ctl", {}, this.input, errors, this.status),
      scroll,
      this.shortened.button,
    );
    element.append(this.root);
    this.arrange();
  }

  readonly update = (now: Now): void => {
    if (this.shortened.short) this.show(this.made);
    else this.mark();
    if (now.printing === (this.print !== null)) return;
    this.print?.remove();
    this.print = now.printing ? printed(this.host.figures) : null;
    if (this.print) this.root.append(this.print);
  };

  /** The row of a head, which is in sight then; null where it was not asked for. */
  readonly find = (cell: Cell): HTMLElement | null => {
    const at = this.cells.findIndex((other) => same(other, cell));
    if (at < 0) return null;
    if (this.shortened.short && at >= this.made) this.shortened.unfold();
    if (at >= this.made) this.show(STEP * Math.ceil((at + 1) / STEP));
    return this.row(this.cells[at]!).element;
  };

  private row(cell: Cell): Row {
    const known = this.rows.get(cell);
    if (known) return known;
    const { figures } = this.host;
    const button = h("button.headname", { type: "button", tabindex: -1 }, figures.name(cell));
    const values = figures.told.map((measure) => figureCell(measure, cell));
    const element = h(
      "tr",
      { id: `row-${figures.name(cell)}` },
      h("th", { scope: "row" }, button),
      h("td.dim", {}, figures.paper(cell)),
      ...values,
    );
    const made = { cell, element, button };
    this.rows.set(cell, made);
    return made;
  }

  // The first rows, and the open head's where it is not among them; those that stand there already stay.
  private show(count: number): void {
    this.made = Math.min(count, this.cells.length);
    const cells = this.cells.slice(0, this.made);
    if (this.shortened.short)
      cells.push(...this.cells.slice(this.made).filter((cell) => same(cell, this.host.now.cell)));
    let next = this.body.firstElementChild;
    for (const { element } of cells.map((cell) => this.row(cell))) {
      if (element === next) next = next.nextElementSibling;
      else this.body.insertBefore(element, next);
    }
    while (next) {
      const after = next.nextElementSibling;
      next.remove();
      next = after;
    }
    this.mark();
  }

  // More rows as the last of them comes near.
  private more(): void {
    const { scroll } = this;
    if (
      this.shortened.short ||
      this.made >= this.cells.length ||
      scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight > NEAR
    )
      return;
    this.show(this.made + STEP);
  }

  // The open head's row is marked, and is the one that the Tab key reaches; where it is not there it is the first.
  private mark(): void {
    const { cell: open } = this.host.now;
    const there = [...this.rows.values()].filter(({ element }) => element.isConnected);
    const stop = there.find(({ cell }) => same(cell, open))?.element ?? this.body.firstElementChild;
    for (const { cell, element, button } of there) {
      const on = String(same(cell, open));
      if (element.getAttribute("aria-selected") !== on) element.setAttribute("aria-selected", on);
      button.tabIndex = element === stop ? 0 : -1;
    }
  }

  // Heads are put in order and filtered.
  private arrange(): void {
    const { figures } = this.host;
    const test = parseFilter(this.input.value, allHeads(figures));
    this.input.setAttribute("aria-invalid", String(test === null));
    this.cells = ordered(figures, this.order).filter((cell) => test?.(cell) ?? true);
    const { cells } = this;
    this.scroll.scrollTop = 0;
    this.table.setAttribute("aria-rowcount", String(cells.length + 1));
    this.shortened.count(cells.length, this.input.value !== "");
    const all = plural(figures.cells.length, "head");
    this.status.textContent =
      test === null ? "no such measure" : cells.length === figures.cells.length ? all : `${cells.length} of ${all}`;
    this.head.replaceChildren(
      this.heading("head", "head"),
      h("th", { scope: "col" }, h("span.dim", {}, "paper")),
      ...figures.told.map((measure) => this.heading(measure, measure.info.title, measure.info.description || null)),
    );
  }

  private heading(key: "head" | Measure, text: string, title: string | null = null): HTMLElement {
    const { down } = this.order;
    const on = this.order.key === key;
    const sort = (): void => {
      this.order = { key, down: on ? !down : key !== "head" };
      this.arrange();
      const column = key === "head" ? 0 : this.host.figures.told.indexOf(key) + 2;
      this.head.children[column]?.querySelector("button")?.focus();
    };
    const arrow = h("span.arrow", { "aria-hidden": "true" }, on ? (down ? "↓" : "↑") : "");
    const sorted = on ? (down ? "descending" : "ascending") : null;
    return h(
      "th",
      { scope: "col", "aria-sort": sorted, class: key === "head" ? null : "n" },
      h("button", { type: "button", title, onclick: sort }, text, arrow),
    );
  }

  private rowOf(target: EventTarget | null): Row | undefined {
    const element = target instanceof Element ? target.closest("tr") : null;
    return [...this.rows.values()].find((row) => row.element === element);
  }

  private tip(row: Row, event: MouseEvent): Node | null {
    const measure = this.measureOf(row, event);
    return measure ? figureTip(this.host.figures, measure, row.cell) : null;
  }

  // Whose figure is pointed at.
  private measureOf({ element }: Row, event: MouseEvent): Measure | undefined {
    const column = [...element.children].findIndex((child) => child.contains(event.target as Node));
    return this.host.figures.told[column - 2];
  }

  // Up and down walk the rows as they stand.
  private key(event: KeyboardEvent): void {
    const row = this.rowOf(event.target);
    if (!row || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
    event.preventDefault();
    event.stopPropagation();
    const next = this.cells[this.cells.indexOf(row.cell) + (event.key === "ArrowDown" ? 1 : -1)];
    if (!next) return;
    this.find(next);
    this.host.set({ cell: next });
    this.row(next).button.focus();
  }
}

export const section: Section<HeadsSection> = (element, _, host) => {
  const { update, find } = new HeadTable(element, host);
  return { update, row: find, tables: { heads: () => tidy(host.figures) } };
};
