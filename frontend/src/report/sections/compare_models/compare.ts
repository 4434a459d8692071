// Two models on the same inputs: how far each head moved, what changed most, and which roles were kept, lost and gained.

import "../../compare.css";
import { h } from "../../../dom";
import { code, errorFigure, figure, whole } from "../../../format";
import type { ComparedMeasure, CompareSection, RoleChange } from "../../../protocol";
import { change } from "../../change";
import { became, number, ranked, type Shown, shown, tables } from "./data";
import { CompareMap } from "./map";
import { type Cell, same } from "../../figures";
import type { Drawn, Host, Now, Section } from "../../host";
import { notes, number as cellOf, table } from "../../rows";
import type { Table } from "../../table";

const NEXT = 2;
/** Heads of a role that are named before the rest are asked for. */
const NAMED = 6;

class Compare implements Drawn {
  readonly tables: { readonly [name: string]: () => Table };
  readonly picture?: HTMLElement;
  private readonly rows: { cell: Cell; element: HTMLElement }[] = [];
  private readonly cells: readonly (Cell | null)[];
  private readonly kinds: readonly Shown[];
  private readonly choice: HTMLSelectElement = h("select.kinds", { "aria-label": "What the map shows", onchange: () => this.show(this.choice.value) });
  private readonly map: CompareMap | null = null;
  private one: Shown;
  private last = "";

  constructor(
    element: HTMLElement,
    private readonly info: CompareSection,
    private readonly host: Host,
  ) {
    this.tables = tables(info);
    this.kinds = shown(info);
    this.one = this.kinds[0]!;
    this.cells = info.layer.map((layer, i) => host.figures.find(layer, info.head[i]!));
    if (info.layer.length > 0) {
      this.choice.append(...this.kinds.map(({ name, title }) => h("option", { value: name }, title)));
      this.map = new CompareMap(info, this.cells, this.one, host, (place) => this.open(place));
      this.picture = this.map.root;
      element.append(h("label.showing", {}, h("span.cap", {}, "Show"), this.choice), this.map.root, h("h3.part", {}, "What changed most"), this.measures());
    }
    if (info.counts.length > 0) element.append(h("h3.part", {}, "Roles"), this.roles());
    element.append(notes(info.notes));
    this.update(host.now);
  }

  update(now: Now): void {
    const key = `${now.width} ${now.theme} ${this.one.name}`;
    if (key !== this.last) this.map?.draw(this.one, now);
    else this.map?.select(now.cell);
    this.last = key;
    for (const { cell, element } of this.rows) element.setAttribute("aria-selected", String(same(cell, now.cell)));
  }

  private show(name: string): void {
    this.one = this.kinds.find((one) => one.name === name) ?? this.kinds[0]!;
    this.choice.value = this.one.name;
    this.update(this.host.now);
  }

  /** A head on the example that has the maps of both models. */
  private open(place: number): void {
    const cell = this.cells[place];
    if (cell) this.host.open(cell, this.info.example[place] ?? undefined);
  }

  private name(place: number): string {
    return code(this.info.layer[place]!, this.info.head[place]!);
  }

  private measures(): HTMLElement {
    const columns = ["measure", "head", "A", "B", "A − B", "", "next", "n"];
    const rows = this.info.measures.map((one) => this.measure(one));
    return table("What changed most", columns, new Set(["A", "B", "A − B", "n"]), [rows]);
  }

  private measure(one: ComparedMeasure): HTMLElement {
    const [first, ...rest] = ranked(one);
    const place = first ?? 0;
    const [a, difference, error] = [number(one.a[place]), number(one.difference[place]), number(one.se[place])];
    const digits = one.units === "share" ? 3 : 2;
    const show = (event: Event): void => {
      event.stopPropagation();
      this.show(one.name);
      this.map?.root.scrollIntoView({ behavior: "smooth", block: "nearest" });
    };
    const next = rest.slice(0, NEXT).flatMap((other, i) => [i > 0 && ", ", this.link(other)]);
    const cell = this.cells[place] ?? null;
    const element = h(
      "tr",
      { onclick: () => this.open(place) },
      h("th", { scope: "row" }, h("button.link", { type: "button", title: "Show in the map", onclick: show }, one.title), one.units !== "share" && h("span.dim", {}, ` ${one.units}`)),
      h("td", {}, h("button.headname", { type: "button" }, this.name(place))),
      cellOf(figure(a, digits)),
      cellOf(figure(a - difference, digits)),
      h("td.n.strong", {}, figure(difference, digits), Number.isFinite(error) && h("span.range", {}, `± ${errorFigure(error)}`)),
      h("td.graph", {}, change(one.units === "share" ? difference : difference / Math.max(Math.abs(a), Math.abs(a - difference), 1e-12))),
      h("td.links", {}, ...next),
      cellOf(whole(one.n)),
    );
    if (cell) this.rows.push({ cell, element });
    return element;
  }

  private link(place: number): HTMLElement {
    return h("button.headlink", { type: "button", onclick: (event: Event) => (event.stopPropagation(), this.open(place)) }, this.name(place));
  }

  private roles(): HTMLElement {
    const { info } = this;
    const paired = info.layer.length > 0;
    const [a, b] = info.of.map((count) => `of ${count}`);
    const columns = paired ? ["role", `A, ${a}`, `B, ${b}`, "kept", "lost", "gained"] : ["role", `A, ${a}`, `B, ${b}`, "best of A", "best of B", "heads of A"];
    const rows = info.counts.map((row) => {
      const digits = row.units === "share" ? 3 : 2;
      const own = became(info, row.role);
      const changes = (["kept", "lost", "gained"] as const).map((change) => h("td.links", {}, ...this.heads(own[change])));
      const best = [row.best_a, row.best_b].map((score) => cellOf(figure(number(score), digits)));
      const named = h("td.links", {}, ...this.heads(row.heads.map(([layer, head]) => ({ layer: layer!, head: head! }))));
      const name = h("th", { scope: "row" }, row.role, row.units !== "share" && h("span.dim", {}, ` ${row.units}`));
      return h("tr.plain", {}, name, cellOf(whole(row.a), true), cellOf(whole(row.b), true), ...(paired ? changes : [...best, named]));
    });
    const numbers = new Set(columns.filter((name) => /^([AB],|best)/.test(name)));
    return table("Roles of both models", columns, numbers, [rows]);
  }

  // Names that open heads; where there are many, the rest are folded.
  private heads(all: readonly (Pick<RoleChange, "layer" | "head"> & Partial<RoleChange>)[]): (Node | string)[] {
    if (all.length === 0) return ["–"];
    const links = (some: typeof all): (Node | string)[] => some.flatMap((one, i) => [...(i > 0 ? [", "] : []), this.named(one)]);
    const first = links(all.slice(0, NAMED));
    const rest = all.slice(NAMED);
    if (rest.length === 0) return first;
    return [...first, h("details.rest", {}, h("summary", {}, `and ${rest.length} more`), ...links(rest))];
  }

  private named(one: Pick<RoleChange, "layer" | "head"> & Partial<RoleChange>): HTMLElement {
    const { info, host } = this;
    const name = code(one.layer, one.head);
    const cell = host.figures.find(one.layer, one.head);
    const score = (text: string, value: number | null | undefined, q: number | null | undefined): string =>
      value === null || value === undefined ? "" : `${text} ${figure(value)}${q === null || q === undefined ? "" : ` (q ${q < 0.001 ? q.toExponential(0).replace("e-", "e−") : q.toFixed(3)})`}`;
    const title = [score("A", one.a, one.q_a), score("B", one.b, one.q_b)].filter(Boolean).join(", ");
    const place = info.layer.findIndex((layer, i) => layer === one.layer && info.head[i] === one.head);
    const example = info.example[place] ?? undefined;
    return h("button.headlink", { type: "button", title: title || null, onclick: () => cell && host.open(cell, example) }, name);
  }
}

export const section: Section<CompareSection> = (element, info, host) => new Compare(element, info, host);
