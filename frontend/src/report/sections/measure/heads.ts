// Every head a row, every measure a column.

import { h } from "../../../dom";
import { errorFigure, figure, plural } from "../../../format";
import type { HeadsSection } from "../../../protocol";
import { type Cell, type Figures, type Measure, same, tidy } from "../../figures";
import { parseFilter } from "./filter";
import type { Component, Drawn, Host, Section } from "../../host";
import { figureTip } from "../../tip";

/** How many measures have room beside one another on paper, and how many heads are printed. */
const ACROSS = 12;
const DOWN = 200;

export interface TableProps {
  printing: boolean;
  figures: Figures;
  cell: Cell;
  measure: Measure;
}

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
const digitsOf = ({ scale }: Measure): number => Math.max(2, 2 - Math.floor(Math.log10(scale.high)));

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

export class Table implements Component<TableProps>, Drawn {
  readonly tables = { heads: () => tidy(this.props.figures) };
  private readonly status = h("span.dim", { role: "status" });
  private readonly input = h("input.find", {
    type: "search",
    placeholder: "L2, 3-10, previous > .5",
    "aria-label": "Filter heads",
    spellcheck: "false",
    autocomplete: "off",
    oninput: () => this.arrange(),
  });
  private readonly errors: HTMLButtonElement = h(
    "button.switch",
    { type: "button", role: "switch", "aria-checked": "false", onclick: () => this.toggleErrors() },
    h("i"),
    "Standard errors",
  );
  private readonly head = h("tr");
  private readonly body = h("tbody");
  private readonly scroll = h(
    "div.tablebox",
    { tabindex: 0, role: "region", "aria-label": "Table of heads" },
    h("table.heads", {}, h("thead", {}, this.head), this.body),
  );
  private readonly root = h("div.tablepart");
  private rows = new Map<Cell, Row>();
  private byElement = new WeakMap<Element, Row>();
  private order: Order = { key: "head", down: false };

  constructor(
    element: HTMLElement,
    private props: TableProps,
    private readonly host: Host,
  ) {
    this.root.append(h("div.ctl", {}, this.input, this.errors, this.status), this.scroll);
    element.append(this.root);
    this.body.addEventListener("click", (event) => {
      const row = this.rowOf(event.target);
      if (row) host.open(row.cell);
    });
    this.body.addEventListener("pointermove", (event) => this.move(event));
    this.body.addEventListener("pointerleave", () => host.tip(null));
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.build();
  }

  update(props: Partial<TableProps>): void {
    const before = this.props;
    this.props = { ...before, ...props };
    if (this.props.figures !== before.figures) this.build();
    else this.select();
    if (this.props.printing !== before.printing) this.print();
  }

  destroy(): void {
    this.root.remove();
  }

  private build(): void {
    const { figures } = this.props;
    const rows = figures.cells.map((cell): Row => {
      const button = h("button.headname", { type: "button", tabindex: -1 }, figures.name(cell));
      const element = h("tr", { id: `row-${figures.name(cell)}` }, h("th", { scope: "row" }, button), h("td.dim", {}, figures.paper(cell)));
      for (const measure of figures.measures) element.append(this.value(measure, cell));
      return { cell, element, button };
    });
    this.rows = new Map(rows.map((row) => [row.cell, row]));
    this.byElement = new WeakMap(rows.map((row) => [row.element, row]));
    this.arrange();
    this.select();
  }

  // On paper every figure of every head, as many columns at a time as have room.
  private print(): void {
    for (const old of this.root.querySelectorAll(".paper")) old.remove();
    if (!this.props.printing) return;
    const { figures } = this.props;
    const cells = figures.cells.slice(0, DOWN);
    const { measures } = figures;
    const starts = measures.flatMap((_, place) => (place % ACROSS === 0 ? [place] : []));
    const blocks = starts.map((start) => {
      const shown = measures.slice(start, start + ACROSS);
      const head = h("tr", {}, h("th", {}, "head"), h("th.dim", {}, "paper"), ...shown.map(({ info }) => h("th.n", {}, info.title)));
      const rows = cells.map((cell) => h("tr", {}, h("th", {}, figures.name(cell)), h("td.dim", {}, figures.paper(cell)), ...shown.map((measure) => this.value(measure, cell))));
      return h("div.allheads", {}, h("table.heads", {}, h("thead", {}, head), h("tbody", {}, ...rows)));
    });
    const left = figures.cells.length - cells.length;
    const note = left > 0 && h("p.note", {}, `The first ${DOWN} heads; the page itself and its tables hold ${left} more.`);
    this.root.append(h("div.paper", {}, ...blocks, note));
  }

  private value(measure: Measure, cell: Cell): HTMLElement {
    const [value, error] = [measure.value(cell), measure.error(cell)];
    const text = measure.isShare ? figure(value).replace(/^(<?)0\./, "$1.") : figure(value, digitsOf(measure));
    const strong = measure.isShare && value > 0.5;
    const style = Number.isFinite(value) ? `--v:${Math.round(100 * measure.scale.tint(value))}%` : null;
    const spread = Number.isFinite(error) ? `±${errorFigure(error)}` : "";
    return h(strong ? "td.n.strong" : "td.n", { style }, text, h("small", {}, spread));
  }

  // Rows are put in order and filtered; the elements stay the same.
  private arrange(): void {
    const { figures } = this.props;
    const test = parseFilter(this.input.value, figures);
    this.input.setAttribute("aria-invalid", String(test === null));
    const cells = ordered(figures, this.order).filter((cell) => test?.(cell) ?? true);
    this.body.replaceChildren(...cells.flatMap((cell) => this.rows.get(cell)?.element ?? []));
    const all = figures.cells.length;
    this.status.textContent =
      test === null ? "no such measure" : cells.length === all ? plural(all, "head") : `${cells.length} of ${plural(all, "head")}`;
    this.head.replaceChildren(
      this.heading("head", "head", false),
      h("th", { scope: "col" }, h("span.dim", {}, "paper")),
      ...figures.measures.map((measure) => this.heading(measure, measure.info.title, true)),
    );
  }

  private heading(key: "head" | Measure, text: string, down: boolean): HTMLElement {
    const on = this.order.key === key;
    const sort = on ? (this.order.down ? "descending" : "ascending") : null;
    const click = (): void => {
      this.order = { key, down: on ? !this.order.down : down };
      this.arrange();
      const place = key === "head" ? 0 : this.props.figures.measures.indexOf(key) + 2;
      this.head.children[place]?.querySelector("button")?.focus();
    };
    const arrow = h("span.arrow", { "aria-hidden": "true" }, on ? (this.order.down ? "↓" : "↑") : "");
    const title = key === "head" ? null : key.info.description || null;
    return h("th", { scope: "col", "aria-sort": sort, class: key === "head" ? null : "n" }, h("button", { type: "button", title, onclick: click }, text, arrow));
  }

  private select(): void {
    for (const row of this.rows.values()) {
      const on = same(row.cell, this.props.cell);
      if (on !== (row.element.getAttribute("aria-selected") === "true")) {
        row.element.setAttribute("aria-selected", String(on));
        row.button.tabIndex = on ? 0 : -1;
      }
    }
  }

  private rowOf(target: EventTarget | null): Row | null {
    const element = target instanceof Element ? target.closest("tr") : null;
    return (element && this.byElement.get(element)) ?? null;
  }

  private move(event: PointerEvent): void {
    const row = this.rowOf(event.target);
    const cell = event.target instanceof Element ? event.target.closest("td.n") : null;
    const place = row && cell ? [...row.element.children].indexOf(cell) - 2 : -1;
    const measure = this.props.figures.measures[place];
    const content = row && measure ? figureTip(this.props.figures, measure, row.cell) : null;
    this.host.tip(content, event.clientX, event.clientY);
  }

  // Up and down walk the rows as they stand.
  private key(event: KeyboardEvent): void {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = this.rowOf(event.target);
    if (!by || !row) return;
    event.preventDefault();
    event.stopPropagation();
    const next = this.rowOf(by > 0 ? row.element.nextElementSibling : row.element.previousElementSibling);
    if (!next) return;
    this.host.set({ cell: next.cell });
    next.button.focus();
  }

  private toggleErrors(): void {
    const on = this.errors.getAttribute("aria-checked") !== "true";
    this.errors.setAttribute("aria-checked", String(on));
    this.scroll.classList.toggle("errors", on);
  }
}

export const section: Section<HeadsSection> = (element, _, host) => new Table(element, { ...host.now, figures: host.figures }, host);
