// Coreference: rules and best heads by type of mention, and what a head chose for real mentions.

import "./coref.css";
import type { CorefCell, CorefRow, CorefSection, CorefShown, CorefWindow, PrintedRow } from "../../../protocol";
import { code, paper, probability, range, share, whole } from "../../../scene/format";
import { h } from "../../../ui/dom";
import type { Cell } from "../../figures";
import type { Host, Section } from "../../host";
import { at, opens } from "../../reasons";
import { firstOf, HeadRows, number, table } from "../../rows";
import { HEAD, records, type Table } from "../../table";
import { explained } from "../../terms";

const CLOSE = /^(?:[.,;:!?)\]}%…”’]|n't$|'\w*$|’\w*$)/;
const OPEN = /[([{“‘$]$/;

/** A name of a rule or of what it chooses among, as a reader says it: `head match, else nearest`. */
export const inWords = (name: string): string => name.replace("_else_", ", else ").replaceAll("_", " ");

/** The classes of each word: of the mention, of mentions that would be right, of the word that was chosen. */
export function marks(window: CorefWindow, choice: CorefShown): string[] {
  const inside = (mention: number, word: number): boolean => {
    const [start, end] = window.mentions[mention] ?? [0, 0];
    return start! <= word && word < end!;
  };
  return window.words.map((_, word) => {
    const kinds = [
      inside(choice.mention, word) && "mention",
      !inside(choice.mention, word) && choice.antecedents.some((mention) => inside(mention, word)) && "before",
      word === choice.predicted && "choice",
      word === choice.predicted && choice.right && "right",
    ];
    return kinds.filter((kind) => kind !== false).join(" ");
  });
}

/** Whether white space stands before each word: as the corpus says, or by what English does. */
export function apart({ words, spaces }: CorefWindow): boolean[] {
  return words.map(
    (word, i) => i > 0 && (spaces ? spaces[i - 1] === true : !CLOSE.test(word) && !OPEN.test(words[i - 1] ?? "")),
  );
}

function text(window: CorefWindow, choice: CorefShown): HTMLElement {
  const kinds = marks(window, choice);
  const spaced = apart(window);
  const box = h("span.text");
  window.words.forEach((word, i) => {
    const last = box.lastElementChild;
    if (kinds[i] && kinds[i - 1] === kinds[i]) last?.append(spaced[i] ? ` ${word}` : word);
    else box.append(spaced[i] ? " " : "", kinds[i] ? h("span.said", { class: `said ${kinds[i]}` }, word) : word);
  });
  return box;
}

const SPLIT = "split,\nchoice\nincluded";
const BESIDE = "beside\nthe best\nrule";
const TYPES_IN_PAPER = ["all", "pronoun", "proper", "nominal"];

const KEY: readonly (readonly [kind: string, text: string])[] = [
  ["mention", "mention"],
  ["before", "what it refers to"],
  ["choice right", "chosen, right"],
  ["choice", "chosen, wrong"],
];

const accuracyCell = (cell: CorefCell | null): HTMLElement =>
  cell
    ? h(
        "td.n",
        {},
        h("b", {}, share(cell.accuracy)),
        cell.low !== null && h("span.range", {}, range(cell.low, cell.high, 2)),
      )
    : number("–");

/** What choosing the head gives over all mentions, and beside the best rule. */
function chosen({ split, gain, times, choices }: CorefRow, name: string): HTMLElement[] {
  const how = split && `${name} was the choice ${times} times of ${choices}`;
  const beside = gain && `${inWords(gain.rule)} is the best rule; p = ${probability(gain.p ?? NaN)}`;
  return [
    h(
      "td.n",
      { title: how },
      share(split?.accuracy ?? null),
      split && split.low !== null && h("span.range", {}, range(split.low, split.high, 2)),
    ),
    h(
      "td.n",
      { title: beside },
      share(gain?.value ?? null),
      gain && gain.low !== null && h("span.range", {}, range(gain.low, gain.high, 2)),
    ),
  ];
}

function saved({ rows, types, counts, effective, clusters }: CorefSection): Table {
  const columns = {
    system: "text",
    candidates: "text",
    ...HEAD,
    type: "text",
    accuracy: "float",
    ci_low: "float",
    ci_high: "float",
    n: "int",
  } as const;
  const more = {
    split: "float",
    split_low: "float",
    split_high: "float",
    difference: "float",
    difference_low: "float",
    difference_high: "float",
    p: "float",
  } as const;
  const choosing = { times: "int", choices: "int", rule: "text", effective: "float", clusters: "text" } as const;
  const cells = rows.flatMap((row) =>
    row.cells.flatMap((cell, i) => {
      if (!cell) return [];
      const own = {
        accuracy: cell.accuracy,
        ci_low: cell.low,
        ci_high: cell.high,
        type: types[i],
        n: counts[i] ?? 0,
        effective: effective[i] ?? null,
        clusters,
      };
      const { split, gain, times, choices } =
        types[i] === "all" ? row : { split: null, gain: null, times: null, choices: null };
      const choice = { split: split?.accuracy, split_low: split?.low, split_high: split?.high, times, choices };
      return [
        {
          ...row,
          ...own,
          ...choice,
          difference: gain?.value,
          difference_low: gain?.low,
          difference_high: gain?.high,
          p: gain?.p,
          rule: gain?.rule,
        },
      ];
    }),
  );
  return records({ ...columns, ...more, ...choosing }, cells);
}

/** What a head chose for mentions of real texts, right and wrong. */
function cases(row: CorefRow, cell: Cell, info: CorefSection, host: Host): HTMLElement[] {
  const mention = (choice: CorefShown): HTMLElement => {
    const window = info.windows[choice.window];
    if (!window) return h("p");
    const word = window.words[window.mentions[choice.mention]?.[2] ?? 0] ?? "";
    const attributes = {
      type: "button",
      "data-kind": choice.right ? "right" : "wrong",
      "data-example": window.example,
      title: `Open ${host.figures.name(cell)} here`,
      ...opens(host, cell, at(row.reason!, window.example, choice.pin)),
    };
    const answer = h(
      "span",
      {},
      `${word} → ${window.words[choice.predicted] ?? ""} `,
      h("span.dim", {}, share(choice.weight)),
    );
    return h("button.mentions", attributes, answer, text(window, choice));
  };
  const group = (right: boolean): HTMLElement[] => {
    const mentions = row.shown.filter((choice) => choice.right === right).map(mention);
    return [
      h("h4.cap", {}, right ? "right" : "wrong"),
      ...(mentions.length > 0
        ? firstOf(mentions, right ? "right" : "wrong")
        : [h("p.say", {}, "None in the texts that were drawn.")]),
    ];
  };
  const title = h(
    "h3",
    {},
    `${host.figures.name(cell)} `,
    h("span.dim", {}, `chooses among ${inWords(row.candidates)}`),
  );
  const key = h(
    "div.key",
    {},
    ...KEY.map(([kind, meaning]) => h("span", {}, h("span", { class: `said ${kind}` }, meaning))),
  );
  return [title, key, ...group(true), ...group(false)];
}

export const section: Section<CorefSection> = (element, info, host) => {
  const marked = new HeadRows();
  const list = h("div.cases");
  const rowOf = (row: CorefRow): HTMLElement => {
    const cell = host.figures.find(row.layer, row.head);
    const isHead = row.layer !== null && row.head !== null;
    const name = isHead ? code(row.layer!, row.head!) : inWords(row.system);
    const tr: HTMLElement = h(
      cell ? "tr" : "tr.plain",
      cell && row.reason ? opens(host, cell, row.reason, () => choose(row, cell, tr)) : {},
      h(
        "th",
        { scope: "row" },
        cell
          ? h("button.headname", { type: "button", "aria-pressed": "false" }, name)
          : h("span", {}, ...explained(name, host)),
        isHead && h("span.dim", {}, `  ${paper(row.layer!, row.head!)}, best head`),
      ),
      h("td.dim", {}, inWords(row.candidates)),
      ...row.cells.slice(0, 1).map(accuracyCell),
      ...chosen(row, name),
      ...row.cells.slice(1).map(accuracyCell),
    );
    return marked.add(cell, tr);
  };
  const printedRow = ({ label, values }: PrintedRow): HTMLElement => {
    const cells = info.types.map((type) => number(share(values[TYPES_IN_PAPER.indexOf(type)] ?? null, 2)));
    return h(
      "tr.off",
      {},
      h("th", { scope: "row" }, label),
      h("td", {}, "in the paper"),
      ...cells.slice(0, 1),
      h("td"),
      h("td"),
      ...cells.slice(1),
    );
  };
  const choose = (row: CorefRow, cell: Cell, tr: HTMLElement): void => {
    marked.choose(tr);
    list.replaceChildren(...cases(row, cell, info, host));
  };
  const kinds = info.types.map((type, i) => `${type} (${whole(info.counts[i] ?? 0)})`);
  const rows = info.rows.map(rowOf);
  const columns = ["system", "chooses among", ...kinds.slice(0, 1), SPLIT, BESIDE, ...kinds.slice(1)];
  element.append(
    table(host, "Systems and types of mentions", columns, new Set([...kinds, SPLIT, BESIDE]), [
      rows,
      info.printed.map(printedRow),
    ]),
    list,
  );
  const first = info.rows.findIndex((row) => row.shown.length > 0 && host.figures.find(row.layer, row.head));
  if (first >= 0)
    choose(info.rows[first]!, host.figures.find(info.rows[first]!.layer, info.rows[first]!.head)!, rows[first]!);
  return { update: marked.update, tables: { coreference: () => saved(info) } };
};
