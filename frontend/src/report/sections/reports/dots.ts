// The figures behind a finding: a row for each thing it is about, a dot for each head, a tick for what it is held against.

import type { Reason, SummarySection } from "../../../protocol";
import { percent, shortened } from "../../../scene/format";
import { h, s } from "../../../ui/dom";
import { columnsOf } from "../../blocks/values";
import { type Cell, tablesOf } from "../../figures";
import type { Host, Now } from "../../host";
import { type Point, Points } from "../../points";
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

const [MOST, ROW, RIGHT, WIDEST] = [3, 16, 46, 360];
/** A letter of a name, about; names have at most so much of the width. */
const [LETTER, NAMES] = [6, 0.5];

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
  const tip = ({ index }: Point): Node => {
    const { name, value, cell } = all[index]!;
    return headTip(host.figures.name(cell!), host.figures.paper(cell!), h("div", {}, `${name} ${percent(value)}`));
  };
  const open = ({ index, cell }: Point): void => {
    const { reason } = all[index]!;
    if (reason) host.open(cell, reason);
  };
  const points = new Points(host, tip, open);
  const said = rows.map(([best]) => `${best!.name} ${percent(best!.value)}`).join(", ");
  const root = h("div.figuredots", { role: "img", "aria-label": said }, points.box);
  let drawn = 0;
  const update = ({ cell }: Now): void => {
    const width = Math.min(WIDEST, Math.floor(points.box.getBoundingClientRect().width) || WIDEST);
    if (width === drawn) return points.select(cell);
    drawn = width;
    const letters = Math.min(
      Math.max(...rows.map(([best]) => best!.name.length)),
      Math.floor((NAMES * width) / LETTER),
    );
    const left = LETTER * letters + 8;
    const x = (share: number): number => left + Math.max(0, Math.min(1, share)) * (width - left - RIGHT);
    const marks: SVGElement[] = [];
    const places: Point[] = [];
    rows.forEach((row, i) => {
      const y = (i + 0.5) * ROW;
      const [best] = row;
      marks.push(
        s("text", { x: 0, y, dy: "0.32em" }, shortened(best!.name, letters)),
        s("line", { x1: x(0), x2: x(1), y1: y, y2: y }),
        s("text", { x: width, y, dy: "0.32em", "text-anchor": "end" }, percent(best!.value)),
      );
      for (const dot of row) {
        const { value, cell } = dot;
        if (Number.isFinite(dot.against))
          marks.push(s("line", { class: "against", x1: x(dot.against), x2: x(dot.against), y1: y - 5, y2: y + 5 }));
        marks.push(s("circle", { cx: x(value), cy: y, r: 3.4, class: cell ? "" : "rule" }));
        if (cell) places.push({ cell, x: x(value), y, index: all.indexOf(dot) });
      }
    });
    const height = rows.length * ROW;
    points.show(
      s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "dots" }, ...marks) as SVGSVGElement,
      places,
      cell,
    );
  };
  return { root, against, update };
}
