// Dependency relations: the best head of each against its baseline, and sentences where it is right and where it is wrong.

import { h } from "../../../dom";
import { code, paper, plural, probability, range, share, whole } from "../../../format";
import type { PrintedFigure, SyntaxRow, SyntaxSection, TreeShown } from "../../../protocol";
import { bar } from "../../bars";
import type { Cell } from "../../figures";
import type { Host, Section } from "../../host";
import { HeadRows, notes, number, table } from "../../rows";
import { HEAD, records, type Table } from "../../table";
import { key, picture } from "./arcs";

const ACCURACY = "accuracy,\ngiven the\nchoice";
const SPLIT = "split,\nchoice\nincluded";
const COLUMNS = ["relation", "n", "best head", "0 – 1", ACCURACY, SPLIT, "offset", "q", "in the paper"];
const NUMBERS = new Set(["n", ACCURACY, SPLIT, "offset", "q", "in the paper"]);

const signed = (offset: number): string => (offset < 0 ? `−${-offset}` : `+${offset}`);

function saved({ rows, clusters }: SyntaxSection): Table {
  const columns = { relation: "text", n: "int", ...HEAD, direction: "text", accuracy: "float", ci_low: "float", ci_high: "float", baseline_offset: "int", baseline_accuracy: "float" } as const;
  const more = { split_accuracy: "float", split_low: "float", split_high: "float", p: "float", q: "float", few: "flag" } as const;
  const gains = { difference: "float", difference_low: "float", difference_high: "float", times: "int", choices: "int", effective: "float", clusters: "text" } as const;
  const named = rows.map((row) => ({ ...row, clusters, difference: row.gain, difference_low: row.gain_low, difference_high: row.gain_high, ci_low: row.low, ci_high: row.high, baseline_offset: row.offset, baseline_accuracy: row.baseline, split_accuracy: row.split }));
  return records({ ...columns, ...more, ...gains }, named);
}

/** The head of a row by its name, its label in papers, and how it is read; null where there is none. */
function headOf({ layer, head, direction }: SyntaxRow): { name: string; label: string; arrow: string } | null {
  if (layer === null || head === null || direction === null) return null;
  return { name: code(layer, head), label: paper(layer, head), arrow: direction.replace("->", "→") };
}

function printedCell(printed: PrintedFigure | null): HTMLElement {
  if (!printed) return h("td.n.dim", {}, "–");
  const title = `${printed.label}: head ${printed.head}, best offset ${share(printed.baseline)} at ${signed(printed.offset)}`;
  return h("td.n.dim", { title }, share(printed.value), h("span.range", {}, `${printed.label} ${printed.head}`));
}

// A relation that only the printed table has.
const printedRow = (printed: PrintedFigure): HTMLElement =>
  h("tr.off", { title: "No counterpart among these relations" }, h("th", { scope: "row" }, printed.label), ...COLUMNS.slice(2).map(() => h("td")), printedCell(printed));

/** Sentences with what the head of a row attends to, right and wrong. */
function cases(row: SyntaxRow, cell: Cell, info: SyntaxSection, host: Host): HTMLElement[] {
  const head = headOf(row);
  if (!head) return [];
  const sentence = (reading: TreeShown, kind: string): HTMLElement[] => {
    const tree = info.sentences[reading.sentence];
    if (!tree) return [];
    const towards = row.direction === "dep->head";
    const answers = reading.words.map((word, i) => `${tree.words[word]} ${towards ? "to" : "from"} ${tree.words[reading.predicted[i]!]}`);
    const attributes = {
      type: "button",
      "data-kind": kind,
      "data-example": tree.example,
      "aria-label": `${kind}: ${tree.words.join(" ")}. ${answers.join(", ")}. Open ${host.figures.name(cell)} here.`,
      onclick: () => host.open(cell, tree.example),
    };
    return [h("button.sentence", attributes, picture(tree, reading, towards, host))];
  };
  const group = (kind: string, readings: readonly TreeShown[]): HTMLElement[] => {
    const none = h("p.say", {}, `None among the ${plural(row.looked, "sentence")} that were drawn.`);
    return [h("h4.cap", {}, kind), ...(readings.length === 0 ? [none] : readings.flatMap((reading) => sentence(reading, kind)))];
  };
  const how = `${head.label} in papers, ${head.arrow}, right in ${(100 * (row.accuracy ?? 0)).toFixed(1)}\u00a0% of ${whole(row.n)}`;
  const title = h("h3", {}, `${row.relation}: ${head.name} `, h("span.dim", {}, how));
  if (row.right.length + row.wrong.length > 0) return [title, key(), ...group("right", row.right), ...group("wrong", row.wrong)];
  const all = row.relation.startsWith("all");
  return [title, h("p.say", {}, all ? "These are all relations together; choose one to see sentences." : "No sentence that is short enough for this page was drawn.")];
}

export const section: Section<SyntaxSection> = (element, info, host) => {
  const marked = new HeadRows();
  const list = h("div.cases");
  const choose = (row: SyntaxRow, cell: Cell, tr: HTMLElement): void => {
    marked.choose(tr);
    list.replaceChildren(...cases(row, cell, info, host));
  };
  const rowOf = (row: SyntaxRow): HTMLElement => {
    const cell = host.figures.find(row.layer, row.head);
    const head = headOf(row);
    const open = (): void => {
      choose(row, cell!, tr);
      host.set({ cell: cell! });
    };
    const split = `${head?.name} was the choice ${row.times} times of ${row.choices}; beside the best offset, chosen alike: ${share(row.gain)}, 95\u00a0% ${range(row.gain_low, row.gain_high)}`;
    const tr: HTMLElement = h(
      cell ? "tr" : "tr.off",
      { onclick: cell ? open : null, title: row.few ? "Too few instances for a best head" : null },
      h("th", { scope: "row" }, cell ? h("button.headname", { type: "button", "aria-pressed": "false" }, row.relation) : row.relation),
      number(whole(row.n)),
      head ? h("td", {}, h("b", {}, head.name), h("span.dim", {}, `  ${head.label}`), h("span.range", {}, head.arrow)) : h("td", {}, "–"),
      h("td.graph", {}, bar(row.accuracy, row.low, row.high, row.baseline)),
      h("td.n.strong", {}, share(row.accuracy), row.low !== null && h("span.range", {}, range(row.low, row.high))),
      h("td.n", { title: row.split === null ? null : split }, share(row.split), row.split_low !== null && h("span.range", {}, range(row.split_low, row.split_high))),
      h("td.n", {}, share(row.baseline), row.offset !== null && h("span.range", {}, `at ${signed(row.offset)}`)),
      h("td.n", { title: row.p === null ? null : `p = ${probability(row.p)}` }, row.q === null ? "–" : probability(row.q)),
      printedCell(row.printed),
    );
    return marked.add(cell, tr);
  };
  const rows = info.rows.map(rowOf);
  element.append(table("Relations and their best heads", COLUMNS, NUMBERS, [rows, info.others.map(printedRow)]), list, notes(info.notes));
  const accuracy = (i: number): number => info.rows[i]!.accuracy ?? 0;
  const [first] = rows.map((_, i) => i).filter((i) => info.rows[i]!.right.length + info.rows[i]!.wrong.length > 0).sort((i, j) => accuracy(j) - accuracy(i));
  const cell = first === undefined ? null : host.figures.find(info.rows[first]!.layer, info.rows[first]!.head);
  if (cell) choose(info.rows[first!]!, cell, rows[first!]!);
  return { update: marked.update, picture: list, tables: { relations: () => saved(info) } };
};
