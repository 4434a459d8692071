// What heads do: a row a role, with its score, interval and bar; the heads without any; what was not tested.

import { h, s } from "../../../dom";
import { figure, paper, plural, probability, whole } from "../../../format";
import type { RoleRow, RolesSection } from "../../../protocol";
import { type Cell, type Figures, HEAD, same } from "../../figures";
import type { Drawn, Host, Now, Section } from "../../host";
import type { Table } from "../../table";

const WIDE = 116;

/** From 0 to the most that there can be: the interval, the score, the bar it passed and chance. */
function interval(row: RoleRow): SVGElement {
  const most = row.units === "share" ? 1 : Math.max(row.chance, row.high);
  const at = (x: number): number => 4 + Math.min(1, Math.max(0, x / most)) * (WIDE - 8);
  const tick = (x: number, name: string, high: number): SVGElement => s("line", { class: name, x1: at(x), x2: at(x), y1: 8 - high, y2: 8 + high });
  const drawing = s(
    "svg",
    { width: WIDE, height: 16, viewBox: `0 0 ${WIDE} 16`, class: "interval", "aria-hidden": "true" },
    s("line", { class: "axis", x1: 4, x2: WIDE - 4, y1: 8, y2: 8 }),
    tick(row.chance, "chance", 3),
    tick(row.threshold, "bar", 6),
    s("line", { class: "reach", x1: at(row.low), x2: at(row.high), y1: 8, y2: 8 }),
    s("circle", { class: "score", cx: at(row.score), cy: 8, r: 3.4 }),
  );
  return drawing;
}

class Roles implements Drawn {
  readonly tables = { roles: () => this.saved() };
  private readonly rows: { cell: Cell; element: HTMLElement }[] = [];

  constructor(
    element: HTMLElement,
    private readonly info: RolesSection,
    private readonly host: Host,
  ) {
    const { figures } = host;
    if (info.rows.length > 0) element.append(this.table(figures));
    element.append(this.without(), ...this.notes());
    this.update(host.now);
  }

  update(now: Now): void {
    for (const { cell, element } of this.rows) element.setAttribute("aria-selected", String(same(cell, now.cell)));
  }

  private saved(): Table {
    const columns = { role: "text", score: "float", ci_low: "float", ci_high: "float", threshold: "float", chance: "float", p: "float", q: "float", n: "int" } as const;
    const held = this.info.rows.map((row) => [
      ...[row.layer, row.head, paper(row.layer, row.head), row.role, row.score, row.low, row.high],
      ...[row.threshold, row.chance, row.p, row.q, row.n],
    ]);
    const none = this.info.without.map(({ layer, head }) => [layer, head, paper(layer ?? 0, head ?? 0), "none", ...Array<null>(7).fill(null), 0]);
    const rows = [...held, ...none].sort((a, b) => Number(a[0]) - Number(b[0]) || Number(a[1]) - Number(b[1]));
    return { columns: { ...HEAD, ...columns }, rows };
  }

  private table(figures: Figures): HTMLElement {
    const names = ["head", "paper", "role", "score", "95 % interval", "", "bar", "chance", "p", "q", "n"];
    const numbers = new Set(["score", "95 % interval", "bar", "chance", "p", "q", "n"]);
    const head = h("tr", {}, ...names.map((name) => h("th", { scope: "col", class: numbers.has(name) ? "n" : null }, h("span", {}, name))));
    const body = h("tbody", {}, ...this.info.rows.map((row) => this.row(row, figures)));
    return h("div.tablebox.rolesbox", { tabindex: 0, role: "region", "aria-label": "Roles of heads" }, h("table.heads.roles", {}, h("thead", {}, head), body));
  }

  private row(row: RoleRow, figures: Figures): HTMLElement {
    const cell = figures.find(row.layer, row.head);
    const digits = row.units === "share" ? 3 : 2;
    const n = (text: string): HTMLElement => h("td.n", {}, text);
    const element = h(
      "tr",
      { onclick: () => cell && this.host.open(cell) },
      h("th", { scope: "row" }, h("button.headname", { type: "button" }, `L${row.layer}H${row.head}`)),
      h("td.dim", {}, paper(row.layer, row.head)),
      h("td", { title: this.info.why[row.role] ?? null }, row.role, row.units !== "share" && h("span.dim", {}, ` ${row.units}`)),
      h("td.n.strong", {}, figure(row.score, digits)),
      n(`${figure(row.low, digits)} – ${figure(row.high, digits)}`),
      h("td.graph", {}, interval(row)),
      n(figure(row.threshold, digits)),
      n(figure(row.chance, digits)),
      n(probability(row.p)),
      n(probability(row.q)),
      n(whole(row.n)),
    );
    if (cell) this.rows.push({ cell, element });
    return element;
  }

  private without(): HTMLElement {
    const { without, rows } = this.info;
    const { figures } = this.host;
    if (without.length === 0) return h("p.note", {}, "Every head has one of these roles.");
    const links = without.flatMap(({ text, layer, head }, place) => {
      const cell = layer === null || head === null ? null : figures.find(layer, head);
      return [place > 0 && ", ", cell ? h("button.headlink", { type: "button", onclick: () => this.host.open(cell) }, text) : text];
    });
    const of = rows.length > 0 ? "none of these roles" : "no role";
    return h("details.note", {}, h("summary", {}, `${plural(without.length, "head")} ${without.length === 1 ? "has" : "have"} ${of}`), h("p.headlist", {}, ...links));
  }

  private notes(): HTMLElement[] {
    const { why, untested } = this.info;
    const list = (entries: readonly (readonly [string, string])[]): HTMLElement =>
      h("dl.notes", {}, ...entries.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]));
    const bars = Object.entries(why);
    return [
      ...(bars.length > 0 ? [h("details.note", {}, h("summary", {}, "Where the bars come from"), list(bars))] : []),
      ...(untested.length > 0
        ? [h("details.note", {}, h("summary", {}, `${plural(untested.length, "role")} not tested`), list(untested.map(({ measure, reason }) => [measure, reason] as const)))]
        : []),
    ];
  }
}

export const section: Section<RolesSection> = (element, info, host) => new Roles(element, info, host);
