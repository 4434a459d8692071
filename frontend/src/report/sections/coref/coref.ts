// Coreference: rules and best heads by type of mention, and what a head chose for real mentions.

import { h } from "../../../dom";
import { code, paper, range, share, whole } from "../../../format";
import type { CorefCell, CorefRow, CorefSection, CorefShown, CorefWindow, PrintedRow } from "../../../protocol";
import { type Cell, HEAD, same } from "../../figures";
import type { Drawn, Host, Now, Section } from "../../host";
import { notes, table } from "../../rows";
import type { Table } from "../../table";

const CLOSE = /^(?:[.,;:!?)\]}%…”’]|n't$|'\w*$|’\w*$)/;
const OPEN = /[([{“‘$]$/;

/** A name of a rule or of what it chooses among, as a reader says it: `head match, else nearest`. */
export const inWords = (name: string): string => name.replace("_else_", ", else ").replaceAll("_", " ");

/** The classes of each word: of the mention, of mentions that would be right, of the word that was chosen. */
export function marks(window: CorefWindow, shown: CorefShown): string[] {
  const inside = (place: number, word: number): boolean => {
    const [start, end] = window.mentions[place] ?? [0, 0];
    return start! <= word && word < end!;
  };
  return window.words.map((_, word) => {
    const kinds = [
      inside(shown.mention, word) && "mention",
      !inside(shown.mention, word) && shown.antecedents.some((place) => inside(place, word)) && "before",
      word === shown.predicted && "choice",
      word === shown.predicted && shown.right && "right",
    ];
    return kinds.filter((kind) => kind !== false).join(" ");
  });
}

/** Whether white space stands before each word: as the corpus says, or by what English does. */
export function apart({ words, spaces }: CorefWindow): boolean[] {
  return words.map((word, i) => i > 0 && (spaces ? spaces[i - 1] === true : !CLOSE.test(word) && !OPEN.test(words[i - 1] ?? "")));
}

function text(window: CorefWindow, shown: CorefShown): HTMLElement {
  const kinds = marks(window, shown);
  const spaced = apart(window);
  const box = h("span.text");
  window.words.forEach((word, i) => {
    const last = box.lastChild;
    if (last instanceof HTMLElement && kinds[i] && kinds[i - 1] === kinds[i]) {
      last.append(spaced[i] ? ` ${word}` : word);
      return;
    }
    if (spaced[i]) box.append(" ");
    box.append(kinds[i] ? h("span.said", { class: `said ${kinds[i]}` }, word) : word);
  });
  return box;
}

class Coref implements Drawn {
  readonly tables = { coreference: () => this.table() };
  private readonly cases = h("div.cases");
  private readonly rows: { row: CorefRow; cell: Cell; element: HTMLElement; button: HTMLElement }[] = [];

  constructor(
    element: HTMLElement,
    private readonly info: CorefSection,
    private readonly host: Host,
  ) {
    const kinds = info.types.map((type, i) => `${type} (${whole(info.counts[i] ?? 0)})`);
    const columns = ["system", "chooses among", ...kinds, "split"];
    const bodies = [info.rows.map((row) => this.row(row)), info.printed.map((row) => this.printed(row))];
    element.append(table("Systems and types of mentions", columns, new Set([...kinds, "split"]), bodies), this.cases, notes(info.notes));
    const first = this.rows.find(({ row }) => row.shown.length > 0);
    if (first) this.choose(first.row, first.cell);
    this.update(host.now);
  }

  update(now: Now): void {
    for (const { cell, element } of this.rows) element.setAttribute("aria-selected", String(same(cell, now.cell)));
  }

  private table(): Table {
    const rows = this.info.rows.flatMap(({ system, candidates, layer, head, cells }) =>
      cells.flatMap((cell, i) => {
        const label = layer === null || head === null ? null : paper(layer, head);
        const figures = cell && [cell.accuracy, cell.low, cell.high, this.info.counts[i] ?? 0];
        return figures ? [[system, candidates, layer, head, label, this.info.types[i] ?? "", ...figures]] : [];
      }),
    );
    return { columns: { system: "text", candidates: "text", ...HEAD, type: "text", accuracy: "float", ci_low: "float", ci_high: "float", n: "int" }, rows };
  }

  private row(row: CorefRow): HTMLElement {
    const cell = row.layer === null || row.head === null ? null : this.host.figures.find(row.layer, row.head);
    const open = (): void => {
      if (!cell) return;
      this.choose(row, cell);
      this.host.set({ cell });
    };
    const name = row.layer === null || row.head === null ? inWords(row.system) : code(row.layer, row.head);
    const button = cell ? h("button.headname", { type: "button", "aria-pressed": "false" }, name) : null;
    const label = row.layer === null || row.head === null ? "" : `  ${paper(row.layer, row.head)}, best head`;
    const element = h(
      "tr",
      { onclick: cell ? open : null, style: cell ? null : "cursor:default" },
      h("th", { scope: "row" }, button ?? name, label && h("span.dim", {}, label)),
      h("td.dim", {}, inWords(row.candidates)),
      ...row.cells.map(figureOf),
      h("td.n", { title: row.split && `95\u00a0% ${range(row.split.low, row.split.high)}` }, share(row.split?.accuracy ?? null)),
    );
    if (cell && button) this.rows.push({ row, cell, element, button });
    return element;
  }

  private printed({ label, values }: PrintedRow): HTMLElement {
    const named = ["all", "pronoun", "proper", "nominal"];
    const cells = this.info.types.map((type) => h("td.n", {}, share(values[named.indexOf(type)] ?? null, 2)));
    return h("tr.off", {}, h("th", { scope: "row" }, label), h("td", {}, "in the paper"), ...cells, h("td"));
  }

  private choose(row: CorefRow, cell: Cell): void {
    for (const one of this.rows) {
      one.element.classList.toggle("chosen", one.row === row);
      one.button.setAttribute("aria-pressed", String(one.row === row));
    }
    const { figures } = this.host;
    const title = h("h3", {}, `${figures.name(cell)} `, h("span.dim", {}, `chooses among ${inWords(row.candidates)}`));
    const key = h(
      "div.key",
      {},
      h("span", {}, h("span", { class: "said mention" }, "mention")),
      h("span", {}, h("span", { class: "said before" }, "what it refers to")),
      h("span", {}, h("span", { class: "said choice right" }, "chosen, right")),
      h("span", {}, h("span", { class: "said choice" }, "chosen, wrong")),
    );
    const group = (wanted: boolean): HTMLElement[] => {
      const found = row.shown.filter(({ right }) => right === wanted);
      return [h("h4.cap", {}, wanted ? "right" : "wrong"), ...(found.length > 0 ? found.map((one) => this.shown(one, cell)) : [h("p.say", {}, "None in the texts that were drawn.")])];
    };
    this.cases.replaceChildren(title, key, ...group(true), ...group(false));
  }

  private shown(shown: CorefShown, cell: Cell): HTMLElement {
    const window = this.info.windows[shown.window];
    if (!window) return h("p");
    const head = window.words[window.mentions[shown.mention]?.[2] ?? 0] ?? "";
    return h(
      "button.mentions",
      {
        type: "button",
        "data-kind": shown.right ? "right" : "wrong",
        "data-example": window.example,
        title: `Open ${this.host.figures.name(cell)} here`,
        onclick: () => this.host.open(cell, window.example ?? undefined),
      },
      h("span", {}, `${head} → ${window.words[shown.predicted] ?? ""} `, h("span.dim", {}, share(shown.weight))),
      text(window, shown),
    );
  }
}

const figureOf = (cell: CorefCell | null): HTMLElement => (cell ? h("td.n", {}, h("b", {}, share(cell.accuracy)), h("span.range", {}, range(cell.low, cell.high, 2))) : h("td.n", {}, "–"));

export const section: Section<CorefSection> = (element, info, host) => new Coref(element, info, host);
