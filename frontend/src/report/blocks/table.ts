// A table: rows that stand for heads open them; its columns sort, and words filter its rows.

import "./blocks.css";
import type { CellInfo, TableBlock } from "../../protocol";
import { errorFigure, plural, whole } from "../../scene/format";
import { type Child, h } from "../../ui/dom";
import { bar, change, interval as scored } from "../bars";
import { parseFilter, type Searched } from "../filter";
import type { Arranged, Host, Now } from "../host";
import { firstHeads } from "../parts";
import { opens } from "../reasons";
import { HeadRows, Shortened } from "../rows";
import { explained, meanings, word } from "../terms";
import type { Block } from "./block";
import { cases } from "./cases";
import {
  type Column,
  columnsOf,
  count,
  digitsOf,
  headOf,
  interval,
  isText,
  ordered,
  paperOf,
  saved,
  type Value,
  written,
} from "./values";

/** The values of a row by column. */
type Values = (name: string | undefined) => Value;

const numeric = (value: Value): number | null => (typeof value === "number" ? value : null);

class Rows {
  readonly root: HTMLElement;
  private readonly columns: Map<string, Column>;
  private readonly marked = new HeadRows();
  /** Real inputs of the row that is chosen. */
  readonly list = h("div.cases");
  private readonly rows: readonly (HTMLElement | null)[];
  private readonly head = h("tr");
  private readonly body = h("tbody");
  private readonly below: HTMLElement[];
  private readonly status = h("span.dim", { role: "status" });
  private readonly input: HTMLInputElement;
  private readonly shortened: Shortened;
  private readonly searched: Searched<number>;
  private arranged: Arranged | null = null;

  constructor(
    private readonly info: TableBlock,
    private readonly id: string,
    private readonly host: Host,
  ) {
    this.columns = columnsOf(info);
    const { others = {} } = info;
    const shown = info.shown && new Set(info.shown);
    this.rows = Array.from({ length: count(info) }, (_, row) => (shown?.has(row) === false ? null : this.row(row)));
    this.below = Array.from({ length: Object.values(others)[0]?.length ?? 0 }, (_, row) =>
      h(
        info.off === undefined ? "tr.plain" : "tr.off",
        { title: info.off || null },
        ...this.cells(null, (name) => others[name ?? ""]?.[row] ?? null),
      ),
    );
    const figures = [...this.columns.values()].filter((column) => !isText(column) && info.values[column.name]);
    const named = (name: string) => (row: number) => numeric(info.values[name]![row]!) ?? NaN;
    this.searched = {
      figures: figures.flatMap(({ name, label }) =>
        [name, label].map((each) => [each.toLowerCase(), named(name)] as const),
      ),
      head: (row) => headOf(info, row),
      says: (row, asked) => this.rows[row]!.textContent!.toLowerCase().includes(asked),
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
    const box = h(
      "div.tablebox.tables",
      { tabindex: 0, role: "region", "aria-label": info.title },
      h(
        "table.heads",
        {},
        h("thead", {}, this.head),
        this.body,
        this.below.length > 0 && h("tbody", {}, ...this.below),
      ),
    );
    this.shortened = new Shortened((most) => {
      const all = [...this.body.children, ...this.below];
      for (const [i, row] of all.entries()) row.classList.toggle("later", i >= most);
    });
    const there = this.rows.filter((row) => row !== null);
    this.shortened.of(there);
    const foot = h("div.tablefoot.screen", {}, this.shortened.button, this.input, this.status);
    this.show();
    this.root = h("div.block", {}, box, there.length > 1 && foot, meanings(box), info.cases && this.list);
    const first = info.cases?.first ?? null;
    if (first !== null) this.choose(first);
  }

  readonly update = (now: Now): void => {
    if (this.now !== this.arranged) this.show();
    this.marked.update(now);
  };

  private choose(row: number): void {
    const head = headOf(this.info, row);
    const cell = head && this.host.figures.find(head.layer, head.head);
    const reason = this.info.reasons[row];
    if (!this.info.cases || !cell || !reason) return;
    this.marked.choose(this.rows[row]!);
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
    const rows = ordered(this.info, sort).filter((row) => this.rows[row] && (test?.(row) ?? true));
    if (this.input.value !== find) this.input.value = find;
    this.input.setAttribute("aria-invalid", String(test === null));
    this.body.replaceChildren(...rows.map((row) => this.rows[row]!));
    for (const row of this.below) row.hidden = find !== "";
    this.head.replaceChildren(...this.info.cells.map((cell, at) => this.heading(cell, at, sort)));
    const all = plural(this.rows.filter(Boolean).length, "row");
    this.status.textContent = find === "" ? "" : test === null ? "no such column" : `${rows.length} of ${all}`;
    this.shortened.count(rows.length + this.below.length, find !== "");
  }

  private heading(cell: CellInfo, at: number, sort: string): HTMLElement {
    const column = this.columns.get(cell.of)!;
    const text = cell.label ?? column.label;
    const flag = column.format === "flag";
    const name = h("span", { class: flag || !text ? "hidden" : null }, text || "picture");
    const classed =
      at > 0 && (!cell.draw || cell.draw === "range") && !isText(column) && column.format !== "head" ? "n" : null;
    if ((cell.draw && cell.draw !== "measure") || cell.of === "paper")
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
      : h("button", { type: "button", onclick: next }, name, arrow);
    const sorted = sort === up ? "ascending" : sort === down ? "descending" : null;
    return h("th", { scope: "col", "aria-sort": sorted, class: classed }, button);
  }

  private row(row: number): HTMLElement {
    const { info, host } = this;
    const head = headOf(info, row);
    const cell = head && host.figures.find(head.layer, head.head);
    const reason = info.reasons[row];
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
        ? opens(host, cell, reason, () => this.choose(row))
        : {};
    const faint = info.faint !== undefined && info.values[info.faint]?.[row] === true;
    const title = faint ? this.columns.get(info.faint!)?.help : null;
    const element = h(
      faint ? "tr.off" : head ? "tr" : "tr.plain",
      { title, ...attributes },
      ...this.cells(row, (name) => info.values[name ?? ""]?.[row] ?? null),
    );
    // A head of a part without figures has the name of another one that has some.
    return this.marked.add(look ? null : cell, element);
  }

  private cells(row: number | null, value: Values): HTMLElement[] {
    return this.info.cells.map((cell, at) => (at === 0 ? this.first(cell, row, value) : this.cell(cell, row, value)));
  }

  private first({ of, draw, name, aside }: CellInfo, row: number | null, value: Values): HTMLElement {
    const { info, host } = this;
    const head = row === null ? null : headOf(info, row);
    const text = of === "head" && head ? head.name : String(value(name ?? of) ?? "");
    const pressed = head && (info.look !== undefined || host.figures.find(head.layer, head.head));
    const measure = draw === "measure" ? String(value(name)) : null;
    const beside = aside === "paper" && row !== null ? `  ${paperOf(info, row)}` : value(aside);
    return h(
      row === null ? "th.wraps" : "th",
      { scope: "row" },
      ...(measure !== null
        ? [this.shows(measure, String(value(of)))]
        : pressed
          ? [h("button.headname", { type: "button", "aria-pressed": info.cases ? "false" : null }, text)]
          : explained(text, host)),
      beside !== null && h("span.dim", {}, String(beside)),
    );
  }

  // Asks the section to show a measure, which is called what it is in the rest of the report.
  private shows(name: string, title: string): HTMLElement {
    const { figures } = this.host;
    const text = figures.has(name) ? figures.measure(name).info.title : title;
    const onclick = (event: Event): void => {
      event.stopPropagation();
      this.root.dispatchEvent(new CustomEvent("measure", { detail: name, bubbles: true }));
    };
    return h("button.link", { type: "button", title: "Show in the map", onclick }, text);
  }

  private cell(cell: CellInfo, row: number | null, value: Values): HTMLElement {
    const { of, draw, low, high, base, chance, name, under, aside, error, title, digits, tone } = cell;
    const column = this.columns.get(of)!;
    const own = value(of);
    const [from, to] = [numeric(value(low)), numeric(value(high))];
    const ranged = from !== null && to !== null;
    if (row === null && (draw || !this.info.others?.[of])) return h("td");
    if (draw === "heads") return h("td.links", {}, ...firstHeads(this.info.heads![of]![row!]!, this.host));
    if (of === "paper") return h("td.dim", {}, row === null ? "" : paperOf(this.info, row));
    if (draw === "bar") return h("td.graph", {}, bar(numeric(own), from, to, numeric(value(base))));
    if (draw === "change") return h("td.graph", {}, change((numeric(own) ?? NaN) / (cell.most ?? this.most(of))));
    const places = digitsOf(this.info, row);
    const figured = column.format === "figure" && places ? { digits: places, ...column } : column;
    if (draw === "range") return h("td.n", {}, ranged ? `${written(figured, from)} – ${written(figured, to)}` : "–");
    if (draw === "interval") {
      const [score, threshold, even] = [own, value(base), value(chance)].map((each) => numeric(each) ?? NaN);
      const units = value(this.info.units) === "share" ? "share" : "";
      const drawn = { units, score: score!, low: from ?? NaN, high: to ?? NaN, threshold: threshold!, chance: even! };
      return h("td.graph", {}, scored(drawn));
    }
    const head = column.format === "head" && row !== null ? headOf(this.info, row) : null;
    const beside = value(under);
    const [plus, spread] = [numeric(value(name)), numeric(value(error))];
    const rounded = { ...column, digits: digits ?? column.digits };
    const classed = ["td", !isText(column) && column.format !== "head" && "n", tone].filter(Boolean).join(".");
    const texts: Child[] = [
      ...(head
        ? this.info.cells[0]!.draw === "measure"
          ? [h("button.headname", { type: "button" }, head.name)]
          : [h("b", {}, head.name), h("span.dim", {}, `  ${paperOf(this.info, row!)}`)]
        : [written(row === null ? rounded : figured, own)]),
      value(aside) !== null && h("span.dim", {}, String(value(aside))),
      plus !== null && ` + ${whole(plus)}`,
      ranged && h("span.range", {}, interval({ ...figured, digits: digits ?? figured.digits }, from, to)),
      !ranged && spread !== null && h("span.range", {}, `± ${errorFigure(spread)}`),
      beside !== null && own !== null && h("span.range", {}, String(beside)),
    ];
    return h(classed as "td", { title: this.titleOf(title, value) }, ...texts);
  }

  // What a text says, or a figure: `p = .001`.
  private titleOf(name: string | undefined, value: Values): string | null {
    const [column, own] = [name && this.columns.get(name), value(name)];
    if (!column || own === null) return null;
    return typeof own === "string" ? own : `${column.label} = ${written(column, own)}`;
  }

  // What fills half of the drawing of a change.
  private most(name: string): number {
    return Math.max(1e-9, ...(this.info.values[name] ?? []).map((each) => Math.abs(numeric(each) ?? 0)));
  }
}

const NONE: Arranged = { sort: "", find: "" };

export const table: Block<TableBlock> = (info, { host, section }) => {
  const tables = info.columns.length > 0 && { [info.name]: () => saved(info) };
  if (info.cells.length === 0) return { root: h("div", { hidden: true }), ...(tables && { tables }) };
  const { root, update, list } = new Rows(info, `${section}.${info.name}`, host);
  return { root, update, ...(info.cases?.link && { picture: list }), ...(tables && { tables }) };
};
