// Heads that copy from far back: a row a head, and how many answers are right without the top of them.

import "./retrieval.css";
import type { RetrievalRow, RetrievalSection } from "../../../protocol";
import { code, figure, paper, probability, range, share } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { bar } from "../../bars";
import type { Section } from "../../host";
import { opens } from "../../reasons";
import { HeadRows, number, table } from "../../rows";
import { HEAD, records, type Table } from "../../table";

const COLUMNS = ["head", "paper", "0 – 1", "share of copied tokens", "p", "q"];
const ANSWERS = ["answers with", "0 – 1", "right"];

function saved({ rows }: RetrievalSection): Table {
  const columns = { score: "float", ci_low: "float", ci_high: "float", p: "float", q: "float" } as const;
  return records(
    { ...HEAD, ...columns },
    rows.map((row) => ({ ...row, ci_low: row.low, ci_high: row.high })),
  );
}

export const section: Section<RetrievalSection> = (element, info, host) => {
  const marked = new HeadRows();
  const value = (score: number, low: number | null, high: number | null): HTMLElement[] => [
    h("td.graph", {}, bar(score, low, high)),
    h("td.n.strong", {}, share(score), low !== null && high !== null && h("span.range", {}, range(low, high))),
  ];
  const rowOf = (row: RetrievalRow): HTMLElement => {
    const cell = host.figures.find(row.layer, row.head);
    const cells = [
      h("th", { scope: "row" }, h("button.headname", { type: "button" }, code(row.layer, row.head))),
      h("td.dim", {}, paper(row.layer, row.head)),
      ...value(row.score, row.low, row.high),
      number(probability(row.p)),
      number(probability(row.q)),
    ];
    return marked.add(cell, h("tr", cell ? opens(host, cell, row.reason) : {}, ...cells));
  };
  if (info.rows.length > 0)
    element.append(table(host, "Heads that retrieve", COLUMNS, new Set(COLUMNS.slice(3)), [info.rows.map(rowOf)]));
  else
    element.append(h("p.note", {}, `No head looks at more than ${figure(info.bar, 1)} of the tokens that are copied.`));
  const named = (condition: string): string =>
    condition
      .replace("top k", info.k === 1 ? "top head" : `top ${info.k} heads`)
      .replace("k others", info.k === 1 ? "another head" : `${info.k} other heads`);
  const answers = info.answers.map((row) =>
    h("tr.plain", {}, h("th", { scope: "row" }, named(row.condition)), ...value(row.accuracy, row.low, row.high)),
  );
  if (answers.length > 0)
    element.append(h("div.answers", {}, table(host, "Answers without heads", ANSWERS, new Set(["right"]), [answers])));
  return { update: marked.update, tables: { retrieval: () => saved(info) } };
};
