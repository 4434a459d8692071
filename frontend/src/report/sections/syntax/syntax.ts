// Dependency relations: the best head of each against its baseline, and sentences where it is right and where it is wrong.

import { h } from "../../../dom";
import { code, paper, plural, probability, range, share, whole } from "../../../format";
import type { PrintedFigure, SyntaxRow, SyntaxSection, TreeShown } from "../../../protocol";
import { key, picture } from "./arcs";
import { type Cell, HEAD, same } from "../../figures";
import type { Drawn, Host, Now, Section } from "../../host";
import { bar, notes, number, table } from "../../rows";
import type { Table } from "../../table";

const COLUMNS = ["relation", "n", "best head", "0 – 1", "accuracy", "split", "offset", "q", "in the paper"];
const NUMBERS = new Set(["n", "accuracy", "split", "offset", "q", "in the paper"]);

const signed = (offset: number): string => (offset < 0 ? `−${-offset}` : `+${offset}`);
const arrow = (direction: string): string => direction.replace("->", "→");

class Syntax implements Drawn {
  readonly tables = { relations: () => this.table() };
  readonly picture = h("div.cases");
  private readonly rows: { row: SyntaxRow; cell: Cell | null; element: HTMLElement; button: HTMLElement | null }[] = [];
  private chosen: SyntaxRow | null = null;

  constructor(
    element: HTMLElement,
    private readonly info: SyntaxSection,
    private readonly host: Host,
  ) {
    const rows = info.rows.map((row) => this.row(row));
    const others = info.others.map((one) => this.other(one));
    element.append(table("Relations and their best heads", COLUMNS, NUMBERS, [rows, others]), this.picture, notes(info.notes));
    const cases = info.rows.filter((row) => row.right.length + row.wrong.length > 0);
    const first = cases.reduce<SyntaxRow | null>((best, row) => ((row.accuracy ?? 0) > (best?.accuracy ?? -1) ? row : best), null);
    if (first) this.choose(first);
    this.update(host.now);
  }

  update(now: Now): void {
    for (const { cell, element } of this.rows) element.setAttribute("aria-selected", String(cell !== null && same(cell, now.cell)));
  }

  private table(): Table {
    const columns = { relation: "text", n: "int", ...HEAD, direction: "text", accuracy: "float", ci_low: "float", ci_high: "float", baseline_offset: "int", baseline_accuracy: "float" } as const;
    const more = { split_accuracy: "float", split_low: "float", split_high: "float", p: "float", q: "float", few: "flag" } as const;
    const rows = this.info.rows.map((row) => [
      ...[row.relation, row.n, row.layer, row.head, nameIn(row), row.direction, row.accuracy, row.low, row.high, row.offset, row.baseline],
      ...[row.split, row.split_low, row.split_high, row.p, row.q, row.few],
    ]);
    return { columns: { ...columns, ...more }, rows };
  }

  private row(row: SyntaxRow): HTMLElement {
    const cell = row.layer === null || row.head === null ? null : this.host.figures.find(row.layer, row.head);
    const open = (): void => {
      this.choose(row);
      if (cell) this.host.set({ cell });
    };
    const button = cell ? h("button.headname", { type: "button", "aria-pressed": "false" }, row.relation) : null;
    const split = `chosen on one half, scored on the other: 95\u00a0% ${range(row.split_low, row.split_high)}`;
    const element = h(
      cell ? "tr" : "tr.off",
      { onclick: cell ? open : null, title: row.few ? "Too few instances for a best head" : null },
      h("th", { scope: "row" }, button ?? row.relation),
      number(whole(row.n)),
      row.layer === null || row.head === null || row.direction === null
        ? h("td", {}, "–")
        : h("td", {}, h("b", {}, code(row.layer, row.head)), h("span.dim", {}, `  ${nameIn(row)}`), h("span.range", {}, arrow(row.direction))),
      h("td.graph", {}, bar(row.accuracy, row.low, row.high, row.baseline)),
      h("td.n.strong", {}, share(row.accuracy), row.low !== null && h("span.range", {}, range(row.low, row.high))),
      h("td.n", { title: row.split === null ? null : split }, share(row.split)),
      h("td.n", {}, share(row.baseline), row.offset !== null && h("span.range", {}, `at ${signed(row.offset)}`)),
      h("td.n", { title: row.p === null ? null : `p = ${probability(row.p)}` }, row.q === null ? "–" : probability(row.q)),
      this.printed(row.printed),
    );
    this.rows.push({ row, cell, element, button });
    return element;
  }

  private printed(one: PrintedFigure | null): HTMLElement {
    if (!one) return h("td.n.dim", {}, "–");
    const title = `${one.label}: head ${one.head}, best offset ${share(one.baseline)} at ${signed(one.offset)}`;
    return h("td.n.dim", { title }, share(one.value), h("span.range", {}, `${one.label} ${one.head}`));
  }

  // A relation that only the printed table has.
  private other(one: PrintedFigure): HTMLElement {
    const empty = Array.from({ length: COLUMNS.length - 2 }, () => h("td"));
    return h("tr.off", { title: "No counterpart among these relations" }, h("th", { scope: "row" }, one.label), ...empty, this.printed(one));
  }

  private choose(row: SyntaxRow): void {
    this.chosen = row;
    for (const one of this.rows) {
      one.element.classList.toggle("chosen", one.row === this.chosen);
      one.button?.setAttribute("aria-pressed", String(one.row === this.chosen));
    }
    if (row.layer === null || row.head === null || row.direction === null) return;
    const cell = this.host.figures.find(row.layer, row.head);
    if (!cell) return;
    const cases = row.right.length + row.wrong.length;
    const title = h("h3", {}, `${row.relation}: ${code(row.layer, row.head)} `, h("span.dim", {}, `${nameIn(row)} in papers, ${arrow(row.direction)}, right in ${(100 * (row.accuracy ?? 0)).toFixed(1)}\u00a0% of ${whole(row.n)}`));
    if (cases === 0) {
      const why = row.relation.startsWith("all") ? "These are all relations together; choose one of them to see sentences." : "No sentence that is short enough for this page was drawn.";
      this.picture.replaceChildren(title, h("p.say", {}, why));
      return;
    }
    const group = (name: string, shown: readonly TreeShown[]): (HTMLElement | false)[] => [
      h("h4.cap", {}, name),
      shown.length === 0 && h("p.say", {}, `None among the ${plural(row.looked, "sentence")} that were drawn.`),
      ...shown.map((one) => this.sentence(row, cell, one, name)),
    ];
    const parts = [title, key(), ...group("right", row.right), ...group("wrong", row.wrong)];
    this.picture.replaceChildren(...parts.filter((part) => part !== false));
  }

  private sentence(row: SyntaxRow, cell: Cell, shown: TreeShown, kind: string): HTMLElement | false {
    const sentence = this.info.sentences[shown.sentence];
    if (!sentence) return false;
    const towards = row.direction === "dep->head";
    const chosen = shown.words.map((word, i) => `${sentence.words[word]} ${towards ? "to" : "from"} ${sentence.words[shown.predicted[i]!]}`);
    const tip = (text: string | null, event?: PointerEvent): void => this.host.tip(text === null ? null : h("div", {}, text), event?.clientX, event?.clientY);
    return h(
      "button.sentence",
      {
        type: "button",
        "data-kind": kind,
        "data-example": sentence.example,
        "aria-label": `${kind}: ${sentence.words.join(" ")}. ${chosen.join(", ")}. Open ${this.host.figures.name(cell)} here.`,
        onclick: () => this.host.open(cell, sentence.example ?? undefined),
      },
      picture(sentence, shown, towards, tip),
    );
  }
}

const nameIn = (row: SyntaxRow): string => (row.layer === null || row.head === null ? "" : paper(row.layer, row.head));

export const section: Section<SyntaxSection> = (element, info, host) => new Syntax(element, info, host);
