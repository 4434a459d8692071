// Two groups of labelled texts: the heads that differ, or that none is known to.

import "./groups.css";
import type { GroupRow, GroupsSection } from "../../../protocol";
import { code, errorFigure, figure, paper, probability, whole } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { change } from "../../bars";
import type { Section } from "../../host";
import { opens } from "../../reasons";
import { digitsOf, HeadRows, number, table, unitsOf } from "../../rows";
import { HEAD, records, type Table } from "../../table";

const COLUMNS = ["head", "measure", "A", "B", "A − B", "Hedges' g", "", "p", "q", "n"];
/** What fills half of a bar: 0.8 is called a large effect. */
const LARGE = 2;

function listed({ differ, level, rows }: GroupsSection): string {
  if (differ === 0) return `The ${rows.length} smallest q, none of them at most ${level}:`;
  return differ > rows.length
    ? `The ${rows.length} largest effects of ${whole(differ)} with q ≤ ${level}:`
    : `All with q ≤ ${level}, the largest effects first:`;
}

function saved({ rows }: GroupsSection): Table {
  const columns = {
    measure: "text",
    group_a: "float",
    group_b: "float",
    difference: "float",
    se: "float",
    effect: "float",
    p: "float",
    q: "float",
    n_a: "int",
    n_b: "int",
    ci_low: "float",
    ci_high: "float",
  } as const;
  return records(
    { ...HEAD, ...columns },
    rows.map((row) => ({ ...row, group_a: row.a, group_b: row.b })),
  );
}

/** The interval of a difference, or its error where there is none. */
function rangeOf({ ci_low, ci_high, se }: GroupRow, digits: number): string {
  if (ci_low !== null && ci_high !== null) return `${figure(ci_low, digits)} to ${figure(ci_high, digits)}`;
  return se === null ? "" : `± ${errorFigure(se)}`;
}

export const section: Section<GroupsSection> = (element, info, host) => {
  const marked = new HeadRows();
  const rowOf = (row: GroupRow): HTMLElement => {
    const cell = host.figures.find(row.layer, row.head);
    const digits = digitsOf(row.units);
    const effect = row.effect ?? NaN;
    const cells = [
      h(
        "th",
        { scope: "row" },
        h("button.headname", { type: "button" }, code(row.layer, row.head)),
        h("span.dim", {}, `  ${paper(row.layer, row.head)}`),
      ),
      h("td", {}, row.title, unitsOf(row.units)),
      number(figure(row.a, digits)),
      number(figure(row.b, digits)),
      h("td.n.strong", {}, figure(row.difference, digits), h("span.range", {}, rangeOf(row, digits))),
      number(figure(effect, 2)),
      h("td.graph", {}, change(effect / LARGE)),
      number(probability(row.p)),
      number(probability(row.q)),
      number(`${whole(row.n_a)} + ${whole(row.n_b)}`),
    ];
    return marked.add(
      cell,
      h(
        info.differ > 0 ? "tr" : "tr.off",
        { ...(cell && opens(host, cell, row.reason)), "data-example": row.example },
        ...cells,
      ),
    );
  };
  element.append(h("p.told", {}, info.told));
  if (info.rows.length > 0) {
    element.append(
      h("p.about", {}, listed(info)),
      table(host, "Heads of two groups", COLUMNS, new Set(COLUMNS.slice(2)), [info.rows.map(rowOf)]),
    );
  }
  return { update: marked.update, tables: { groups: () => saved(info) } };
};
