// Links of any kind: the best head of each label against its baseline, and inputs where it is right and where it is
// wrong.

import type { LinksRow, LinksSection } from "../../../protocol";
import { figure, share } from "../../../scene/format";
import { best, columnsOf, GAINS, linked, type Terms } from "../../best";
import type { Section } from "../../host";
import { number } from "../../rows";
import { HEAD, records, type Table } from "../../table";

function saved({ rows, clusters }: LinksSection): Table {
  const columns = {
    label: "text",
    n: "int",
    ...HEAD,
    direction: "text",
    accuracy: "float",
    ci_low: "float",
    ci_high: "float",
    split_accuracy: "float",
  } as const;
  const more = {
    mass: "float",
    rank: "float",
    baseline: "text",
    baseline_accuracy: "float",
    p: "float",
    q: "float",
    average_precision: "float",
    split_low: "float",
    split_high: "float",
    few: "flag",
  } as const;
  const named = rows.map((row) => ({
    ...columnsOf(row, clusters),
    label: row.label,
    mass: row.mass,
    rank: row.rank,
    average_precision: row.average_precision,
    baseline: row.rule,
  }));
  return records({ ...columns, ...more, ...GAINS }, named);
}

export const section: Section<LinksSection> = (element, info, host) => {
  const terms: Terms<LinksRow> = {
    title: "Labels and their best heads",
    kind: "label",
    baseline: "baseline",
    more: ["mass", "rank"],
    name: (row) => row.label,
    arrow: (row) => row.direction ?? "",
    towards: (row) => row.direction === "row",
    rule: (row) => row.rule?.replace(/^-/, "at −").replace(/^\+/, "at +") ?? null,
    best: "the best simple rule",
    cells: (row) => [number(share(row.mass)), number(row.rank === null ? "–" : figure(row.rank, 1))],
    right: (row) => linked(info, row.right),
    wrong: (row) => linked(info, row.wrong),
    link: "the link",
    none: (row) =>
      row.label === "all" && info.rows.length > 1
        ? "These are all labels together; choose one to see sentences."
        : "No input that is short enough for this page was drawn.",
  };
  return { ...best(element, info, host, terms), tables: { links: () => saved(info) } };
};
