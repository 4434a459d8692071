// Two models on the same inputs: how far each head moved, what changed most, and what became of roles.

import { Of } from "../../../scene/made";
import "./compare.css";
import type { ComparedMeasure, CompareSection, Reason, RoleChange } from "../../../protocol";
import { code, errorFigure, figure, fixed, probability, whole } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { change } from "../../bars";
import type { Host, Now, Section } from "../../host";
import { because, opens } from "../../reasons";
import { digitsOf, folded, HeadRows, headLink, number as numberCell, table, unitsOf } from "../../rows";
import { became, number, type Quantity, quantities, ranked, tables, told } from "./data";
import { CompareMap } from "./map";

const NEXT = 2;
/** Heads of a role that are named before the rest are asked for. */
const NAMED = 6;
const CHANGES = ["kept", "lost", "gained", "unclear"] as const;

type NamedHead = Pick<RoleChange, "layer" | "head"> & Partial<RoleChange>;

/** Heads by their names, which open them; where there are many, the rest are folded. */
function named(heads: readonly NamedHead[], of: string, info: CompareSection, host: Host): (Node | string)[] {
  const link = (head: NamedHead): HTMLElement => {
    const score = (text: string, value: number | null | undefined, q: number | null | undefined): string =>
      value === null || value === undefined
        ? ""
        : `${text} ${figure(value)}${q === null || q === undefined ? "" : ` (q ${q < 0.001 ? probability(q) : fixed(q, 3)})`}`;
    const apart = score("A − B", head.difference, head.q);
    const title = [score("A", head.a, head.q_a), score("B", head.b, head.q_b), apart].filter(Boolean).join(", ");
    const index = info.layer.findIndex((layer, i) => layer === head.layer && info.head[i] === head.head);
    const reason = because(
      of,
      title || "",
      index < 0 ? {} : { example: info.example[index] ?? null, pin: info.pin[index] ?? null },
    );
    return headLink(host, host.figures.find(head.layer, head.head), code(head.layer, head.head), reason, title || null);
  };
  if (heads.length === 0) return ["–"];
  const [first, rest] = [heads.slice(0, NAMED), heads.slice(NAMED)].map((some) => separated(some.map(link)));
  return heads.length <= NAMED
    ? first!
    : [...first!, h("details.rest", {}, h("summary", {}, `and ${heads.length - NAMED} more`), ...rest!)];
}

const separated = (links: readonly HTMLElement[]): (Node | string)[] =>
  links.flatMap((link, i) => (i > 0 ? [", ", link] : [link]));

function roles(info: CompareSection, host: Host): HTMLElement {
  const paired = info.layer.length > 0;
  const [a, b] = info.of.map((count) => `of ${count}`);
  const columns = ["role", `A, ${a}`, `B, ${b}`, ...(paired ? CHANGES : ["best of A", "best of B", "heads of A"])];
  const rows = info.counts.map((row) => {
    const links = (heads: readonly NamedHead[]): HTMLElement =>
      h("td.links", {}, ...named(heads, row.role, info, host));
    const changes = became(info, row.role);
    const best = [row.best_a, row.best_b].map((score) => numberCell(figure(number(score), digitsOf(row.units))));
    const heads = row.heads.map(([layer, head]) => ({ layer: layer!, head: head! }));
    const rest = paired ? CHANGES.map((kind) => links(changes[kind])) : [...best, links(heads)];
    return h(
      "tr.plain",
      {},
      h("th", { scope: "row" }, row.role, unitsOf(row.units)),
      numberCell(whole(row.a), true),
      numberCell(whole(row.b), true),
      ...rest,
    );
  });
  return table(host, "Roles of both models", columns, new Set(columns.filter((name) => /^([AB],|best)/.test(name))), [
    rows,
  ]);
}

export const section: Section<CompareSection> = (element, given, host) => {
  // Measures are called what they are called in the rest of the report.
  const { figures } = host;
  const info = {
    ...given,
    measures: told(given).map((measure) => ({
      ...measure,
      title: figures.has(measure.name) ? figures.measure(measure.name).info.title : measure.title,
    })),
  };
  const marked = new HeadRows();
  const kinds = quantities(info);
  const cells = info.layer.map((layer, i) => host.figures.find(layer, info.head[i]!));
  let quantity = kinds[0]!;
  let map: CompareMap | null = null;
  const drawn = new Of();

  const update = (now: Now): void => {
    if (drawn.renewed(now.width, now.theme, quantity.name)) map?.draw(quantity, now);
    else map?.select(now.cell);
    marked.update(now);
  };
  const select: HTMLSelectElement = h("select.kinds", {
    "aria-label": "What the map shows",
    onchange: () => show(select.value),
  });
  const show = (name: string): void => {
    quantity = kinds.find((kind) => kind.name === name) ?? kinds[0]!;
    select.value = quantity.name;
    update(host.now);
  };
  // A head opens on the example that has the maps of both models.
  const why = (index: number, { title, units, values }: Pick<Quantity, "title" | "units" | "values">): Reason =>
    because(title, `${figure(values[index] ?? NaN, digitsOf(units))}${units === "share" ? "" : ` ${units}`}`, {
      example: info.example[index] ?? null,
      pin: info.pin[index] ?? null,
    });
  const open = (index: number): void => void (cells[index] && host.open(cells[index], why(index, quantity)));
  const nameOf = (index: number): string => code(info.layer[index]!, info.head[index]!);

  const measureRow = (measure: ComparedMeasure): HTMLElement => {
    const { title, units, n } = measure;
    const [index = 0, ...rest] = ranked(measure);
    const [a, difference, error] = [
      number(measure.a[index]),
      number(measure.difference[index]),
      number(measure.se[index]),
    ];
    const digits = digitsOf(units);
    const showMap = (event: Event): void => {
      event.stopPropagation();
      show(measure.name);
      map?.root.scrollIntoView({ behavior: "smooth", block: "nearest" });
    };
    const changed = { title: `${title}, A − B`, units, values: measure.difference.map(number) };
    const next = rest
      .slice(0, NEXT)
      .map((other) => headLink(host, cells[other] ?? null, nameOf(other), why(other, changed)));
    const row = [
      h(
        "th",
        { scope: "row" },
        h("button.link", { type: "button", title: "Show in the map", onclick: showMap }, title),
        unitsOf(units),
      ),
      h("td", {}, h("button.headname", { type: "button" }, nameOf(index))),
      numberCell(figure(a, digits)),
      numberCell(figure(a - difference, digits)),
      h(
        "td.n.strong",
        {},
        figure(difference, digits),
        Number.isFinite(error) && h("span.range", {}, `± ${errorFigure(error)}`),
      ),
      h(
        "td.graph",
        {},
        change(units === "share" ? difference : difference / Math.max(Math.abs(a), Math.abs(a - difference), 1e-12)),
      ),
      h("td.links", {}, ...separated(next)),
      numberCell(whole(n)),
    ];
    return marked.add(
      cells[index] ?? null,
      h("tr", cells[index] ? opens(host, cells[index], why(index, changed)) : {}, ...row),
    );
  };

  if (info.layer.length > 0) {
    map = new CompareMap(info, cells, quantity, host, open);
    select.append(...kinds.map(({ name, title }) => h("option", { value: name }, title)));
    const columns = ["measure", "head", "A", "B", "A − B", "", "next", "n"];
    const measures = table(host, "What changed most", columns, new Set(["A", "B", "A − B", "n"]), [
      info.measures.map(measureRow),
    ]);
    element.append(
      h("label.showing", {}, h("span.cap", {}, "Show"), select),
      map.root,
      h("h3.part", {}, "What changed most"),
      measures,
    );
  }
  if (info.counts.length > 0)
    element.append(map ? folded("What became of the roles", roles(info, host)) : roles(info, host));
  return { update, tables: tables(given), ...(map && { picture: map.root }) };
};
