// What heads write: those that copy and that suppress by their weights, and what heads add to a token that is said.

import "./writes.css";
import type { Term, WritesRow, WritesSection } from "../../../protocol";
import { code, figure, paper, probability, range, share, shown } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { bar, change } from "../../bars";
import type { Host, Section } from "../../host";
import { opens } from "../../reasons";
import { HeadRows, number, table } from "../../rows";
import { HEAD, records, type Table } from "../../table";

const COLUMNS = ["head", "paper", "0 – 1", "itself", "copying", "q", "positive", "looks at", "and raises"];
/** So many of the tokens that are raised have room in a row. */
const SHOWN = 3;
const TERMS = ["head", "paper", "adds", "to the logit", "mostly from"];

function scores({ rows }: WritesSection): Table {
  const columns = {
    copying: "float",
    copying_chance: "float",
    copying_q: "float",
    positive: "float",
    itself: "float",
    itself_low: "float",
    itself_high: "float",
    token: "text",
    promotes: "text",
  } as const;
  return records(
    { ...HEAD, ...columns },
    rows.map((row) => ({
      ...row,
      copying_chance: row.chance,
      copying_q: row.q,
      itself_low: row.low,
      itself_high: row.high,
      promotes: row.promotes.join(" "),
    })),
  );
}

function terms({ said }: WritesSection): Table {
  const rows = said?.terms ?? [];
  return records(
    { ...HEAD, contribution: "float", token: "text" },
    rows.map((row) => ({ ...row, contribution: row.adds, token: row.source })),
  );
}

export const section: Section<WritesSection> = (element, info, host: Host) => {
  const marked = new HeadRows();
  const named = (row: WritesRow | Term, ...cells: HTMLElement[]): HTMLElement => {
    const cell = host.figures.find(row.layer, row.head);
    const first = [
      h("th", { scope: "row" }, h("button.headname", { type: "button" }, code(row.layer, row.head))),
      h("td.dim", {}, paper(row.layer, row.head)),
    ];
    return marked.add(cell, h("tr", cell ? opens(host, cell, row.reason) : {}, ...first, ...cells));
  };
  const rowOf = (row: WritesRow): HTMLElement =>
    named(
      row,
      h("td.graph", {}, bar(row.itself, row.low, row.high)),
      h(
        "td.n.strong",
        {},
        share(row.itself),
        row.low !== null && row.high !== null && h("span.range", {}, range(row.low, row.high)),
      ),
      number(figure(row.copying, 2)),
      number(probability(row.q)),
      number(share(row.positive, 2)),
      h("td", {}, shown(row.token)),
      h(
        "td.wraps.dim",
        {},
        row.promotes
          .slice(0, SHOWN)
          .map((each) => shown(each))
          .join("  "),
      ),
    );
  if (info.rows.length > 0)
    element.append(
      table(host, "Heads that copy or suppress", COLUMNS, new Set(["itself", "copying", "q", "positive"]), [
        info.rows.map(rowOf),
      ]),
    );
  else
    element.append(h("p.note", {}, "No head is known to raise or lower the tokens that it looks at, by its weights."));
  const { said } = info;
  if (said) {
    const most = Math.max(...said.terms.map(({ adds }) => Math.abs(adds)), 1e-9);
    const rows = said.terms.map((row) =>
      named(
        row,
        h("td.graph", {}, change(row.adds / most)),
        number(figure(row.adds, 2), true),
        h("td", {}, shown(row.source)),
      ),
    );
    const rest = h(
      "tr.plain",
      {},
      h("th", { scope: "row" }, "all else"),
      h("td"),
      h("td"),
      number(figure(said.rest, 2)),
      h("td"),
    );
    element.append(
      h(
        "p.says",
        {},
        "After ",
        h("b", {}, shown(said.after)),
        " the model says ",
        h("b", {}, shown(said.token)),
        `, whose logit is ${figure(said.logit, 2)}. Heads that add most to it, for and against:`,
      ),
    );
    element.append(table(host, "What heads add to the logit", TERMS, new Set(["to the logit"]), [[...rows, rest]]));
  }
  return { update: marked.update, tables: { writes: () => scores(info), ...(said && { logit: () => terms(info) }) } };
};
