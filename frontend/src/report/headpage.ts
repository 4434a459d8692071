// The page of a head: what the report holds of it, from its cards and the tables of all sections; nothing is measured.

import "./headpage.css";
import type { Reason, TableBlock } from "../protocol";
import { errorFigure, figure, plural, probability, whole } from "../scene/format";
import { h } from "../ui/dom";
import { numeric } from "./blocks/cells";
import { Rows } from "./blocks/table";
import { columnsOf, count, headOf, interval } from "./blocks/values";
import { cardsIn, examples } from "./card";
import { type Cell, type Figures, tablesOf } from "./figures";
import type { Host } from "./host";
import { ofMeasure, opens } from "./reasons";
import { folded } from "./rows";

/** Of more figures the rest is folded. */
const FIRST = 4;
/** Sections with tables of what a head reads and writes; and with them those that are about two models or groups. */
const FLOW = ["composition", "writes"];
const APART = [...FLOW, "compare", "groups"];

/** A figure for which a head is named, and how sure it is: its interval, what it is over, and q. */
interface Score {
  readonly reason: Reason;
  readonly sure: string;
}

/** The rows of a table that are about a head. */
const rowsOf = (info: TableBlock, name: string): number[] =>
  Array.from({ length: count(info) }, (_, row) => row).filter((row) => headOf(info, row)?.name === name);

const joined = (...parts: (string | false | undefined)[]): string => parts.filter(Boolean).join(", ");

function sure(info: TableBlock, row: number): string {
  const columns = columnsOf(info);
  const value = (name: string | undefined): number | null => numeric((name && info.values[name]?.[row]) ?? null);
  const ends = info.cells.find(({ low, high }) => value(low) !== null && value(high) !== null);
  const [n, documents, q] = ["n", "documents", "q"].map(value);
  return joined(
    ends && interval(columns.get(ends.of)!, value(ends.low)!, value(ends.high)!),
    n !== null && `n ${whole(n!)}`,
    documents !== null && plural(documents!, "document"),
    q !== null && `q ${probability(q!)}`,
  );
}

/** What is known of a head: each row of a table of the page that names it for a figure. */
export function scores({ payload, name }: Figures, cell: Cell): Score[] {
  const sections = payload.sections.flatMap((info) => (info.kind === "blocks" ? [info.name] : []));
  return tablesOf(payload, ...sections.filter((each) => !APART.includes(each))).flatMap((info) =>
    rowsOf(info, name(cell)).flatMap((row) => {
      const reason = info.reasons[row];
      return reason ? [{ reason, sure: sure(info, row) }] : [];
    }),
  );
}

/** Where no role is known of a head: to which it comes nearest; null where roles were not tested. */
function nearest({ payload, name }: Figures, cell: Cell): string | null {
  const [table] = tablesOf(payload, "roles");
  if (!table) return null;
  const [row] = rowsOf(table, name(cell));
  const [role, score] = ["nearest", "nearest_score"].map((column) => table.values[column]?.[row ?? -1]);
  return role ? `No role; nearest to ${role}, ${figure(Number(score))}.` : "No role.";
}

const missing = (what: string, command: string): HTMLElement =>
  h("p.dim", `${what} not measured here: `, h("code", command));

/** The measures in which a head is nearest to the top of all heads, as figures of it. */
export const standings = (figures: Figures, cell: Cell): Score[] =>
  figures.told
    .map((measure) => ({ measure, ...figures.rank(measure, cell) }))
    .filter(({ place }) => place > 0)
    .sort((a, b) => a.place - b.place)
    .slice(0, FIRST)
    .map(({ measure, place, of }) => ({
      reason: ofMeasure(measure, cell),
      sure: joined(
        `${whole(place)} of ${whole(of)}`,
        Number.isFinite(measure.error(cell)) && `± ${errorFigure(measure.error(cell))}`,
      ),
    }));

const line = (host: Host, cell: Cell, { reason, sure }: Score): HTMLElement =>
  h(
    "button.score",
    opens(host, cell, reason),
    h("span", reason.says),
    h("b", reason.figure),
    h("span.dim", [reason.over, sure].filter(Boolean).join(" · ")),
  );

function does(host: Host, cell: Cell): HTMLElement {
  const { figures } = host;
  const known = scores(figures, cell);
  const tables = tablesOf(figures.payload, "roles");
  const roles = tables.flatMap(({ reasons }) => reasons);
  const none = known.some(({ reason }) => roles.includes(reason)) ? null : nearest(figures, cell);
  const lines = known.map((score) => line(host, cell, score));
  const rest = lines.slice(FIRST);
  return h(
    "div",
    h("h3", "What it does"),
    none && h("p.dim", none),
    tables.length === 0 && missing("Its roles were", `headscope roles -m ${figures.payload.model.name}`),
    ...lines.slice(0, FIRST),
    rest.length > 0 && folded(`${rest.length} more`, ...rest),
  );
}

function shown(host: Host, cell: Cell): HTMLElement {
  const { cards, inputs } = cardsIn(host.figures.payload);
  const info = cards.find(
    ({ layer, head }) => layer === host.figures.layerOf(cell) && head === host.figures.headOf(cell),
  );
  return h(
    "div",
    h("h3", "Examples"),
    ...(info
      ? examples(host, cell, info, inputs)
      : [missing("Its strongest inputs were", "headscope report --sections cards")]),
  );
}

/** What a head reads of others, and what it writes: the rows of the tables that are about that. */
function flows(host: Host, cell: Cell): HTMLElement[] {
  const { payload, name } = host.figures;
  const tables = tablesOf(payload, ...FLOW).flatMap((info) => {
    const rows = rowsOf(info, name(cell));
    return info.cells.length > 0 && rows.length > 0
      ? [h("div.wide", h("h3", info.title), new Rows({ ...info, shown: rows }, `page.${info.name}`, host).root)]
      : [];
  });
  const written = payload.sections.some((info) => info.kind === "blocks" && FLOW.includes(info.name));
  return !payload.model.causal || tables.length > 0
    ? tables
    : [
        h(
          "div",
          h("h3", "What it reads and writes"),
          written
            ? h("p.dim", "It is not among the heads that surely read or write what was measured.")
            : missing("This was", `headscope writes -m ${payload.model.name}`),
        ),
      ];
}

/** The parts of the page of a head, but for its picture and its place among all heads. */
export const pageOf = (host: Host, cell: Cell): HTMLElement[] => [
  does(host, cell),
  shown(host, cell),
  h(
    "div.place",
    h("h3", "Where it stands out"),
    ...standings(host.figures, cell).map((score) => line(host, cell, score)),
  ),
  ...flows(host, cell),
];
