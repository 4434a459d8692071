// Two groups of labelled texts: the heads that differ, or that none is known to.

import { h } from "../../../dom";
import { code, errorFigure, figure, paper, probability, whole } from "../../../format";
import type { GroupRow, GroupsSection } from "../../../protocol";
import { change } from "../../change";
import { type Cell, HEAD, same } from "../../figures";
import type { Drawn, Host, Now, Section } from "../../host";
import { notes, number, table } from "../../rows";
import type { Table } from "../../table";

const COLUMNS = ["head", "measure", "A", "B", "A − B", "Hedges' g", "", "p", "q", "n"];
/** What fills half of a bar: 0.8 is called a large effect. */
const LARGE = 2;

class Groups implements Drawn {
  readonly tables = { groups: () => this.table() };
  private readonly rows: { cell: Cell; element: HTMLElement }[] = [];

  constructor(
    element: HTMLElement,
    private readonly info: GroupsSection,
    private readonly host: Host,
  ) {
    const rows = info.rows.map((row) => this.row(row));
    element.append(h("p.told", {}, info.told));
    if (rows.length > 0) element.append(h("p.about", {}, this.listed(rows.length)), table("Heads of two groups", COLUMNS, new Set(COLUMNS.slice(2)), [rows]));
    element.append(notes(info.notes));
    this.update(host.now);
  }

  update(now: Now): void {
    for (const { cell, element } of this.rows) element.setAttribute("aria-selected", String(same(cell, now.cell)));
  }

  private listed(count: number): string {
    const { differ, level } = this.info;
    if (differ === 0) return `The ${count} smallest q, none of them at most ${level}:`;
    return differ > count ? `The ${count} largest effects of ${whole(differ)} with q ≤ ${level}:` : `All with q ≤ ${level}, the largest effects first:`;
  }

  private row(row: GroupRow): HTMLElement {
    const cell = this.host.figures.find(row.layer, row.head);
    const digits = row.units === "share" ? 3 : 2;
    const effect = row.effect ?? NaN;
    const element = h(
      this.info.differ > 0 ? "tr" : "tr.off",
      { onclick: () => cell && this.host.open(cell, row.example ?? undefined), "data-example": row.example },
      h("th", { scope: "row" }, h("button.headname", { type: "button" }, code(row.layer, row.head)), h("span.dim", {}, `  ${paper(row.layer, row.head)}`)),
      h("td", {}, row.title, row.units !== "share" && h("span.dim", {}, ` ${row.units}`)),
      number(figure(row.a, digits)),
      number(figure(row.b, digits)),
      h("td.n.strong", {}, figure(row.difference, digits), row.se !== null && h("span.range", {}, `± ${errorFigure(row.se)}`)),
      number(figure(effect, 2)),
      h("td.graph", {}, change(effect / LARGE)),
      number(probability(row.p)),
      number(probability(row.q)),
      number(`${whole(row.n_a)} + ${whole(row.n_b)}`),
    );
    if (cell) this.rows.push({ cell, element });
    return element;
  }

  private table(): Table {
    const columns = { measure: "text", group_a: "float", group_b: "float", difference: "float", se: "float", effect: "float", p: "float", q: "float", n_a: "int", n_b: "int" } as const;
    return {
      columns: { ...HEAD, ...columns },
      rows: this.info.rows.map((row) => [
        ...[row.layer, row.head, paper(row.layer, row.head), row.measure, row.a, row.b],
        ...[row.difference, row.se, row.effect, row.p, row.q, row.n_a, row.n_b],
      ]),
    };
  }
}

export const section: Section<GroupsSection> = (element, info, host) => new Groups(element, info, host);
