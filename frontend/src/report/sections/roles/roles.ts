// What heads do: a row a role, with its score, interval and bar; the heads without any; what was not tested.

import "./roles.css";
import { h } from "../../../dom";
import { code, figure, paper, plural, probability, whole } from "../../../format";
import type { RoleRow, RolesSection } from "../../../protocol";
import { interval } from "../../bars";
import type { Host, Section } from "../../host";
import { definitions, digitsOf, folded, headLink, HeadRows, number, table, unitsOf } from "../../rows";
import { HEAD, records, type Table } from "../../table";

const COLUMNS = ["head", "paper", "role", "score", "95 % interval", "", "bar", "chance", "p", "q", "n"];
const NUMBERS = new Set(["score", "95 % interval", "bar", "chance", "p", "q", "n"]);

function saved({ rows, without }: RolesSection): Table {
  const columns = { role: "text", score: "float", ci_low: "float", ci_high: "float", threshold: "float", chance: "float", p: "float", q: "float", n: "int" } as const;
  const roles = rows.map((row) => ({ ...row, ci_low: row.low, ci_high: row.high }));
  const none = without.map(({ layer, head }) => ({ layer, head, role: "none", score: null, ci_low: null, ci_high: null, threshold: null, chance: null, p: null, q: null, n: 0 }));
  const sorted = [...roles, ...none].sort((a, b) => Number(a.layer) - Number(b.layer) || Number(a.head) - Number(b.head));
  return records({ ...HEAD, ...columns }, sorted);
}

function without({ without: heads, rows }: RolesSection, host: Host): HTMLElement {
  if (heads.length === 0) return h("p.note", {}, "Every head has one of these roles.");
  const links = heads.flatMap(({ text, layer, head }, i) => {
    const cell = host.figures.find(layer, head);
    return [i > 0 && ", ", cell ? headLink(host, cell, text) : text];
  });
  const roles = rows.length > 0 ? "none of these roles" : "no role";
  return folded(`${plural(heads.length, "head")} ${heads.length === 1 ? "has" : "have"} ${roles}`, h("p.headlist", {}, ...links));
}

export const section: Section<RolesSection> = (element, info, host) => {
  const marked = new HeadRows();
  const rowOf = (row: RoleRow): HTMLElement => {
    const cell = host.figures.find(row.layer, row.head);
    const digits = digitsOf(row.units);
    const cells = [
      h("th", { scope: "row" }, h("button.headname", { type: "button" }, code(row.layer, row.head))),
      h("td.dim", {}, paper(row.layer, row.head)),
      h("td", { title: info.why[row.role] ?? null }, row.role, unitsOf(row.units)),
      number(figure(row.score, digits), true),
      number(`${figure(row.low, digits)} – ${figure(row.high, digits)}`),
      h("td.graph", {}, interval(row)),
      number(figure(row.threshold, digits)),
      number(figure(row.chance, digits)),
      number(probability(row.p)),
      number(probability(row.q)),
      number(whole(row.n)),
    ];
    return marked.add(cell, h("tr", { onclick: () => cell && host.open(cell) }, ...cells));
  };
  if (info.rows.length > 0) element.append(table("Roles of heads", COLUMNS, NUMBERS, [info.rows.map(rowOf)], "roles"));
  element.append(without(info, host));
  const why = Object.entries(info.why);
  if (why.length > 0) element.append(folded("Where the bars come from", definitions(why)));
  const untested = info.untested.map(({ measure, reason }) => [measure, reason] as const);
  if (untested.length > 0) element.append(folded(`${plural(untested.length, "role")} not tested`, definitions(untested)));
  return { update: marked.update, tables: { roles: () => saved(info) } };
};
