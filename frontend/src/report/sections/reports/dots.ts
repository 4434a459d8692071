// The figures behind a finding: a row for each thing it is about, a dot for each head, a tick for what it is held against.

import type { Chart, Reason, SummarySection } from "../../../protocol";
import { percent } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { columnsOf } from "../../blocks/values";
import { Charted, redrawn } from "../../chart";
import { type Cell, tablesOf } from "../../figures";
import type { Host, Now } from "../../host";
import { headTip } from "../../tip";

/** Of a section's table the columns of a row's name (by default its head's), of its share, and of that beside it. */
const COLUMNS: { readonly [about: string]: { name?: string; value: string; against?: string } } = {
  roles: { name: "role", value: "score", against: "threshold" },
  syntax: { name: "relation", value: "accuracy", against: "baseline_accuracy" },
  links: { name: "label", value: "accuracy", against: "baseline_accuracy" },
  coref: { name: "system", value: "all" },
  probes: { name: "probe", value: "uas" },
  retrieval: { value: "score" },
  artefacts: { value: "attention", against: "chance" },
  writes: { value: "itself" },
};

const [MOST, WIDEST] = [3, 360];

interface Dot {
  readonly name: string;
  readonly value: number;
  readonly against: number;
  readonly cell: Cell | null;
  readonly reason: Reason | null;
}

function dotsOf(about: string, { figures }: Host): { rows: Dot[][]; against: string } | null {
  const columns = COLUMNS[about];
  const table = columns && tablesOf(figures.payload, about).find(({ values }) => values[columns.value]);
  if (!table) return null;
  const { values, reasons } = table;
  const number = (name: string | undefined, row: number): number => Number((name && values[name]?.[row]) ?? NaN);
  const dots = values[columns.value]!.flatMap((_, row): Dot[] => {
    const cell = figures.find(values.layer?.[row] as number, values.head?.[row] as number);
    const [name, value] = [
      columns.name
        ? String(values.meaning?.[row] ?? values[columns.name]![row]).trim()
        : cell
          ? figures.name(cell)
          : "",
      number(columns.value, row),
    ];
    const other =
      name.startsWith("all") ||
      (values.units && values.units[row] !== "share") ||
      (cell && values.candidates && values.candidates[row] !== values.candidates[0]);
    if (other || !Number.isFinite(value) || (table.faint && values[table.faint]?.[row])) return [];
    return [{ name, value, against: number(columns.against, row), cell, reason: reasons[row] ?? null }];
  });
  const rows = new Map<string, Dot[]>();
  for (const dot of dots.sort((a, b) => b.value - a.value)) rows.set(dot.name, [...(rows.get(dot.name) ?? []), dot]);
  const label = columns.against ? columnsOf(table).get(columns.against)!.label.replaceAll("\n", " ") : "";
  return { rows: [...rows.values()].slice(0, MOST), against: label };
}

/** The dots of a finding, and what their ticks are; null where it has no table of shares. */
export function dots(
  { about }: SummarySection["findings"][number],
  host: Host,
): { readonly root: HTMLElement; readonly against: string; readonly update: (now: Now) => void } | null {
  const found = about === null ? null : dotsOf(about, host);
  if (!found || found.rows.length === 0) return null;
  const { rows, against } = found;
  const all = rows.flat();
  const tip = (row: number): Node => {
    const { name, value, cell } = all[row]!;
    return headTip(host.figures.name(cell!), host.figures.paper(cell!), h("div", `${name} ${percent(value)}`));
  };
  const open = (row: number): void => {
    const { reason, cell } = all[row]!;
    if (reason && cell) host.open(cell, reason);
  };
  const charted = new Charted(host, (row) => all[row]!.cell, tip, open);
  const said = rows.map(([best]) => `${best!.name} ${percent(best!.value)}`);
  const chart: Chart = {
    kind: "strips",
    title: "",
    x: { title: "", ticks: false, low: 0, high: 1 },
    y: { title: "", names: rows.map(([best]) => best!.name), opposite: rows.map(([best]) => percent(best!.value)) },
    rows: {
      x: all.map(({ value }) => value),
      y: rows.flatMap((row, at) => row.map(() => at)),
      link: all.map(({ cell }) => (cell ? host.figures.name(cell) : "")),
      against: all.map((dot) => (Number.isFinite(dot.against) ? dot.against : null)),
    },
  };
  const root = h("div.figuredots", charted.root);
  const draw = redrawn(
    ({ theme, cell }, width) => charted.show(chart, { width, theme }, said.join(", "), cell),
    charted,
  );
  const update = (now: Now): void =>
    draw(now, Math.min(WIDEST, Math.floor(root.getBoundingClientRect().width) || WIDEST));
  return { root, against, update };
}
