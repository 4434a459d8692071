// Dependency relations: the best head of each against its baseline, and sentences where it is right and where it is
// wrong.

import type { PrintedFigure, SyntaxRow, SyntaxSection } from "../../../protocol";
import { share } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { best, columnsOf, GAINS, parsed, type Terms } from "../../best";
import type { Section } from "../../host";
import { HEAD, records, type Table } from "../../table";

/** Columns between the name of a relation and its figure in the paper. */
const BETWEEN = 7;

const signed = (offset: number): string => (offset < 0 ? `−${-offset}` : `+${offset}`);

function saved({ rows, clusters }: SyntaxSection): Table {
  const columns = {
    relation: "text",
    n: "int",
    ...HEAD,
    direction: "text",
    accuracy: "float",
    ci_low: "float",
    ci_high: "float",
    baseline_offset: "int",
    baseline_accuracy: "float",
  } as const;
  const more = {
    split_accuracy: "float",
    split_low: "float",
    split_high: "float",
    p: "float",
    q: "float",
    few: "flag",
  } as const;
  return records(
    { ...columns, ...more, ...GAINS },
    rows.map((row) => ({ ...columnsOf(row, clusters), relation: row.relation, baseline_offset: row.offset })),
  );
}

function printedCell(printed: PrintedFigure | null): HTMLElement {
  if (!printed) return h("td.n.dim", {}, "–");
  const title = `${printed.label}: head ${printed.head}, best offset ${share(printed.baseline)} at ${signed(printed.offset)}`;
  return h("td.n.dim", { title }, share(printed.value), h("span.range", {}, `${printed.label} ${printed.head}`));
}

// A relation that only the printed table has.
const printedRow = (printed: PrintedFigure): HTMLElement =>
  h(
    "tr.off",
    { title: "No counterpart among these relations" },
    h("th", { scope: "row" }, printed.label),
    ...Array.from({ length: BETWEEN }, () => h("td")),
    printedCell(printed),
  );

export const section: Section<SyntaxSection> = (element, info, host) => {
  const terms: Terms<SyntaxRow> = {
    title: "Relations and their best heads",
    kind: "relation",
    baseline: "offset",
    more: ["in the paper"],
    name: (row) => row.relation,
    arrow: (row) => row.direction?.replace("->", "→") ?? "",
    towards: (row) => row.direction === "dep->head",
    rule: (row) => (row.offset === null ? null : `at ${signed(row.offset)}`),
    best: "the best offset",
    cells: (row) => [printedCell(row.printed)],
    right: (row) => parsed(info, row.right),
    wrong: (row) => parsed(info, row.wrong),
    link: "the relation",
    none: (row) =>
      row.relation.startsWith("all")
        ? "These are all relations together; choose one to see sentences."
        : "No sentence that is short enough for this page was drawn.",
  };
  return { ...best(element, info, host, terms, info.others.map(printedRow)), tables: { relations: () => saved(info) } };
};
