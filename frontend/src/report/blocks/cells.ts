// What stands in the columns of a table's row: figures and texts, and what is drawn in their place.

import type { CellInfo, TableBlock } from "../../protocol";
import { errorFigure, whole } from "../../scene/format";
import { type Child, h } from "../../ui/dom";
import { bar, change } from "../bars";
import type { Cell } from "../figures";
import type { Host } from "../host";
import { firstHeads } from "../parts";
import { explained } from "../terms";
import { figureTip, tipOn } from "../tip";
import { type Column, digitsOf, headOf, interval, isText, paperOf, type Value, written } from "./values";

/** The values of a row by column. */
export type Values = (name: string | undefined) => Value;

export const numeric = (value: Value): number | null => (typeof value === "number" ? value : null);

/** The name of a row's head, which links to its page where it has one. */
function named(info: TableBlock, name: string, text = name): HTMLElement {
  const cases = info.cases ? "false" : null;
  return info.look ? h("button.headname", text) : h("a.headname", { href: `#${name}`, "aria-expanded": cases }, text);
}

export class Cells {
  constructor(
    private readonly info: TableBlock,
    private readonly columns: Map<string, Column>,
    private readonly host: Host,
  ) {}

  /** The head of a row that the page has figures of. */
  cellOf(row: number): Cell | null {
    const head = headOf(this.info, row);
    // A head of a part without figures has the name of another one that has some.
    return head && !this.info.look ? this.host.figures.find(head.layer, head.head) : null;
  }

  /** The cells of a row; null: of one that stands below. */
  of(row: number | null, value: Values): HTMLElement[] {
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
          ? [named(info, head.name, text)]
          : explained(text, host)),
      beside !== null && h("span.dim", String(beside)),
    );
  }

  // Asks the section to show a measure, which is called what it is in the rest of the report.
  private shows(name: string, title: string): HTMLElement {
    const { figures } = this.host;
    const text = figures.has(name) ? figures.measure(name).info.title : title;
    const onclick = (event: Event): void => {
      event.stopPropagation();
      event.currentTarget!.dispatchEvent(new CustomEvent("measure", { detail: name, bubbles: true }));
    };
    return h("button.link", { title: "Show in the map", onclick }, text);
  }

  private cell(cell: CellInfo, row: number | null, value: Values): HTMLElement {
    const { of, draw, low, high, base, chance, name, under, aside, error, title, digits, tone } = cell;
    const column = this.columns.get(of)!;
    const own = value(of);
    const [from, to] = [numeric(value(low)), numeric(value(high))];
    const ranged = from !== null && to !== null;
    if (row === null && (draw || !this.info.others?.[of])) return h("td");
    if (draw === "heads") return h("td.links", ...firstHeads(this.info.heads![of]![row!]!, this.host));
    if (of === "paper") return h("td.dim", row === null ? "" : paperOf(this.info, row));
    if (draw === "bar") {
      const even = numeric(value(chance));
      const most = even === null || value(this.info.units) === "share" ? 1 : Math.max(even, to ?? 0);
      return h("td.graph", bar(numeric(own), from, to, numeric(value(base)), even, most));
    }
    if (draw === "change") return h("td.graph", change((numeric(own) ?? NaN) / (cell.most ?? this.most(of))));
    const places = digitsOf(this.info, row);
    const figured = column.format === "figure" && places ? { digits: places, ...column } : column;
    if (draw === "range") return h("td.n", ranged ? `${written(figured, from)} – ${written(figured, to)}` : "–");
    const head = column.format === "head" && row !== null ? headOf(this.info, row) : null;
    const beside = value(under);
    const [plus, spread] = [numeric(value(name)), numeric(value(error))];
    const rounded = { ...column, digits: digits ?? column.digits };
    const classed = ["td", !isText(column) && column.format !== "head" && "n", tone].filter(Boolean).join(".");
    const texts: Child[] = [
      ...(head
        ? this.info.cells[0]!.draw === "measure"
          ? [named(this.info, head.name)]
          : [h("b", head.name), h("span.dim", `  ${paperOf(this.info, row!)}`)]
        : [written(row === null ? rounded : figured, own)]),
      value(aside) !== null && h("span.dim", String(value(aside))),
      plus !== null && ` + ${whole(plus)}`,
      ranged && h("span.range", interval({ ...figured, digits: digits ?? figured.digits }, from, to)),
      !ranged && spread !== null && h("span.range", `± ${errorFigure(spread)}`),
      beside !== null && own !== null && h("span.range", String(beside)),
    ];
    const shown = draw === "tint" && row !== null && this.tint(of, this.cellOf(row)!);
    return h(classed as "td", { title: this.titleOf(title, value), ...shown }, ...texts);
  }

  // A wash of colour by the scale of a measure of the page, and all that is known of the figure.
  private tint(name: string, cell: Cell) {
    const { figures } = this.host;
    const measure = figures.measure(name);
    const value = measure.value(cell);
    return {
      "data-measure": name,
      style: Number.isFinite(value) ? `--v:${Math.round(100 * measure.scale.tint(value))}%` : null,
      ...tipOn(this.host, () => figureTip(figures, measure, cell)),
    };
  }

  // What a text says, or a figure: `p .041`.
  private titleOf(name: string | undefined, value: Values): string | null {
    const [column, own] = [name && this.columns.get(name), value(name)];
    if (!column || own === null) return null;
    return typeof own === "string" ? own : `${column.label} ${written(column, own)}`;
  }

  // What fills half of the drawing of a change.
  private most(name: string): number {
    return Math.max(1e-9, ...(this.info.values[name] ?? []).map((each) => Math.abs(numeric(each) ?? 0)));
  }
}
