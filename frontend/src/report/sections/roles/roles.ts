// What heads do: a row a role, with its score, interval and bar; the heads without any; what was not tested.

import "./roles.css";
import type { RoleRow, RolesSection, Without } from "../../../protocol";
import { code, figure, fixed, paper, plural, probability, whole } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { interval } from "../../bars";
import type { Host, Section } from "../../host";
import { opens } from "../../reasons";
import { definitions, digitsOf, folded, HeadRows, headLink, number, table, unitsOf } from "../../rows";
import { HEAD, records, type Table } from "../../table";

const COLUMNS = ["head", "paper", "role", "score", "95 % interval", "", "bar", "chance", "offsets", "p", "q", "n"];
const NUMBERS = new Set(["score", "95 % interval", "bar", "chance", "offsets", "p", "q", "n"]);
/** The bars that can be chosen: lowest, highest, step. */
const BARS = [0.25, 0.95, 0.05] as const;

function saved({ rows, without }: RolesSection): Table {
  const columns = {
    role: "text",
    score: "float",
    ci_low: "float",
    ci_high: "float",
    threshold: "float",
    chance: "float",
    p: "float",
    q: "float",
    n: "int",
    offsets: "float",
    se: "float",
    documents: "float",
    family: "text",
    copying: "float",
    nearest: "text",
    nearest_score: "float",
  } as const;
  const roles = rows.map((row) => ({ ...row, ci_low: row.low, ci_high: row.high, nearest: null, nearest_score: null }));
  const none = without.map(({ layer, head, nearest, score }) => ({
    nearest,
    nearest_score: score,
    layer,
    head,
    role: "none",
    score: null,
    ci_low: null,
    ci_high: null,
    threshold: null,
    chance: null,
    p: null,
    q: null,
    n: 0,
    offsets: null,
    se: null,
    documents: null,
    family: null,
    copying: null,
  }));
  const sorted = [...roles, ...none].sort(
    (a, b) => Number(a.layer) - Number(b.layer) || Number(a.head) - Number(b.head),
  );
  return records({ ...HEAD, ...columns }, sorted);
}

function without({ without: heads, rows }: RolesSection, host: Host): HTMLElement {
  if (heads.length === 0) return h("p.note", {}, "Every head has one of these roles.");
  const groups = new Map<string, Without[]>();
  for (const head of heads) {
    const nearest = head.nearest ?? "nothing that is tested";
    groups.set(nearest, [...(groups.get(nearest) ?? []), head]);
  }
  const entries = [...groups].flatMap(([nearest, members]) => {
    const sorted = [...members].sort((a, b) => (b.score ?? 0) - (a.score ?? 0));
    const links = sorted.flatMap(({ layer, head, score, reason }, i) => {
      const cell = host.figures.find(layer, head);
      const said = score === null ? undefined : figure(score);
      return [i > 0 && ", ", cell ? headLink(host, cell, code(layer, head), reason, said) : code(layer, head)];
    });
    return [h("dt", {}, `nearest to ${nearest} (${members.length})`), h("dd.headlist", {}, ...links)];
  });
  const roles = rows.length > 0 ? "none of these roles" : "no role";
  return folded(
    `${plural(heads.length, "head")} ${heads.length === 1 ? "has" : "have"} ${roles}`,
    h("dl.notes", {}, ...entries),
  );
}

/** The heads that stay where the bar is moved: those whose interval lies above it. */
function moved({ scores }: RolesSection, host: Host): HTMLElement {
  const list = h("dl.notes", {});
  const output = h("output", {});
  const show = (bar: number): void => {
    output.textContent = fixed(bar, 2);
    const rows = scores.flatMap(({ role, heads }) => {
      const there = heads.filter(({ low }) => low > bar);
      if (there.length === 0) return [];
      const links = there.flatMap(({ layer, head, score, reason }, i) => {
        const cell = host.figures.find(layer, head);
        return [
          i > 0 && ", ",
          cell ? headLink(host, cell, code(layer, head), reason, figure(score)) : code(layer, head),
        ];
      });
      return [h("dt", {}, `${role} (${there.length})`), h("dd", {}, ...links)];
    });
    list.replaceChildren(...(rows.length > 0 ? rows : [h("dd", {}, "No head stays.")]));
  };
  const [min, max, step] = BARS;
  const slider: HTMLInputElement = h("input", {
    type: "range",
    min,
    max,
    step,
    value: 0.5,
    "aria-label": "Bar",
    oninput: () => show(slider.valueAsNumber),
  });
  show(0.5);
  const label = h("label.showing", {}, h("span.cap", {}, "Bar"), slider, output);
  const note =
    "Bars of 0.5 are a convention. These heads have an interval above the bar that is chosen here, whatever chance is; no q is in this.";
  return folded("Move the bar", h("p.note", {}, note), label, list);
}

export const section: Section<RolesSection> = (element, info, host) => {
  const marked = new HeadRows();
  // Of pictures and sounds there are none.
  const offsets = info.rows.some((row) => row.offsets !== null);
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
      ...(offsets ? [number(row.offsets === null ? "–" : figure(row.offsets, digits))] : []),
      number(probability(row.p)),
      number(probability(row.q)),
      number(whole(row.n)),
    ];
    return marked.add(cell, h("tr", cell ? opens(host, cell, row.reason) : {}, ...cells));
  };
  if (info.rows.length > 0)
    element.append(
      table(
        host,
        "Roles of heads",
        COLUMNS.filter((name) => offsets || name !== "offsets"),
        NUMBERS,
        [info.rows.map(rowOf)],
        "roles",
      ),
    );
  const folds = h("div.folds", {}, without(info, host));
  element.append(folds);
  if (info.scores.length > 0) folds.append(moved(info, host));
  const why = Object.entries(info.why);
  if (why.length > 0) folds.append(folded("Where the bars come from", definitions(why)));
  const best = info.not_found.map(({ measure, reason }) => [measure, reason] as const);
  if (best.length > 0)
    folds.append(folded(`${plural(best.length, "role")} tested that no head is known to have`, definitions(best)));
  const untested = info.untested.map(({ measure, reason }) => [measure, reason] as const);
  if (untested.length > 0) folds.append(folded(`${plural(untested.length, "role")} not tested`, definitions(untested)));
  return { update: marked.update, tables: { roles: () => saved(info) } };
};
