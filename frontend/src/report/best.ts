// The best head of each kind of link against its baseline, and sentences where it is right and where it is wrong.

import type { BestRow, LinkSentence, LinkShown, LinksSection, Reason, SyntaxSection, TreeShown } from "../protocol";
import { code, fixed, paper, plural, probability, range, share, whole } from "../scene/format";
import { h } from "../ui/dom";
import { key, picture, saying } from "./arcs";
import { bar } from "./bars";
import type { Cell } from "./figures";
import type { Drawn, Host } from "./host";
import { at, opens } from "./reasons";
import { firstOf, HeadRows, number, table } from "./rows";

const ACCURACY = "accuracy,\ngiven the\nchoice";
const SPLIT = "split,\nchoice\nincluded";

/** A sentence with what a head does in it. */
export interface Case {
  readonly sentence: LinkSentence;
  readonly reading: LinkShown;
}

/** A tree as links: of each word its head. */
export const parsed = (info: SyntaxSection, readings: readonly TreeShown[]): Case[] =>
  readings.flatMap((reading) => {
    const tree = info.sentences[reading.sentence];
    if (!tree) return [];
    return [
      {
        sentence: { words: tree.words, spans: [], second: null, example: tree.example },
        reading: { ...reading, targets: reading.words.map((word) => [tree.heads[word]!]) },
      },
    ];
  });

/** Links as they were annotated. */
export const linked = (info: LinksSection, readings: readonly LinkShown[]): Case[] =>
  readings.flatMap((reading) => {
    const sentence = info.sentences[reading.sentence];
    return sentence ? [{ sentence, reading }] : [];
  });

/** What a section says of its rows. */
export interface Terms<Row> {
  /** What the table is called, its first column, its column of baselines, and those after q. */
  readonly title: string;
  readonly kind: string;
  readonly baseline: string;
  readonly more: readonly string[];
  name(row: Row): string;
  /** How a head is read, and whether a source is then the query. */
  arrow(row: Row): string;
  towards(row: Row): boolean;
  /** The best baseline of a row, as in "at +1" and as in "the best offset". */
  rule(row: Row): string | null;
  readonly best: string;
  /** The cells after q. */
  cells(row: Row): HTMLElement[];
  right(row: Row): readonly Case[];
  wrong(row: Row): readonly Case[];
  /** What is shown, as in "the relation, found", and what is said of a row without sentences. */
  readonly link: string;
  none(row: Row): string;
}

interface Info<Row> {
  readonly rows: readonly Row[];
}

/** The table, whose rows open heads, and below it the sentences of one of them; `others` are rows that open nothing. */
export function best<Row extends BestRow>(
  element: HTMLElement,
  info: Info<Row>,
  host: Host,
  terms: Terms<Row>,
  others: readonly HTMLElement[] = [],
): Drawn {
  const columns = [terms.kind, "n", "best head", "0 – 1", ACCURACY, SPLIT, terms.baseline, "q", ...terms.more];
  const marked = new HeadRows();
  const list = h("div.cases");
  const choose = (row: Row, cell: Cell, tr: HTMLElement): void => {
    marked.choose(tr);
    list.replaceChildren(...cases(row, cell, host, terms));
  };
  const rowOf = (row: Row): HTMLElement => {
    const cell = host.figures.find(row.layer, row.head);
    const named = headOf(row);
    const rule = terms.rule(row);
    const split = `${named?.name} was the choice ${row.times} times of ${row.choices}; beside ${terms.best}: ${share(row.gain)}, 95\u00a0% ${range(row.gain_low, row.gain_high)}`;
    const tr: HTMLElement = h(
      cell ? "tr" : "tr.off",
      {
        ...(cell && row.reason && opens(host, cell, row.reason, () => choose(row, cell, tr))),
        title: row.few ? "Too few instances for a best head" : null,
      },
      h(
        "th",
        { scope: "row" },
        cell ? h("button.headname", { type: "button", "aria-pressed": "false" }, terms.name(row)) : terms.name(row),
      ),
      number(whole(row.n)),
      named
        ? h(
            "td",
            {},
            h("b", {}, named.name),
            h("span.dim", {}, `  ${named.label}`),
            h("span.range", {}, terms.arrow(row)),
          )
        : h("td", {}, "–"),
      h("td.graph", {}, bar(row.accuracy, row.low, row.high, row.baseline)),
      h("td.n.strong", {}, share(row.accuracy), row.low !== null && h("span.range", {}, range(row.low, row.high))),
      h(
        "td.n",
        { title: row.split === null ? null : split },
        share(row.split),
        row.split_low !== null && h("span.range", {}, range(row.split_low, row.split_high)),
      ),
      h("td.n", {}, share(row.baseline), rule !== null && h("span.range", {}, rule)),
      h(
        "td.n",
        { title: row.p === null ? null : `p = ${probability(row.p)}` },
        row.q === null ? "–" : probability(row.q),
      ),
      ...terms.cells(row),
    );
    return marked.add(cell, tr);
  };
  const rows = info.rows.map(rowOf);
  const numbers = new Set(["n", ACCURACY, SPLIT, terms.baseline, "q", ...terms.more]);
  element.append(table(host, terms.title, columns, numbers, [rows, others]), list);
  const accuracy = (i: number): number => info.rows[i]!.accuracy ?? 0;
  const [first] = rows
    .map((_, i) => i)
    .filter((i) => terms.right(info.rows[i]!).length + terms.wrong(info.rows[i]!).length > 0)
    .sort((i, j) => accuracy(j) - accuracy(i));
  const cell = first === undefined ? null : host.figures.find(info.rows[first]!.layer, info.rows[first]!.head);
  if (cell) choose(info.rows[first!]!, cell, rows[first!]!);
  return { update: marked.update, picture: list };
}

/** The head of a row by its name and its label in papers; null where there is none. */
function headOf({ layer, head }: BestRow): { name: string; label: string } | null {
  return layer === null || head === null ? null : { name: code(layer, head), label: paper(layer, head) };
}

/** Sentences with what the head of a row attends to, right and wrong. */
function cases<Row extends BestRow>(row: Row, cell: Cell, host: Host, terms: Terms<Row>): HTMLElement[] {
  const head = headOf(row);
  if (!head) return [];
  const towards = terms.towards(row);
  const shown = ({ sentence, reading }: Case, kind: string): HTMLElement => {
    const answers = reading.words.map(
      (word, i) => `${saying(sentence, word)} ${towards ? "to" : "from"} ${saying(sentence, reading.predicted[i]!)}`,
    );
    // Seen at a source: of an arc its own, else the first.
    const why = (source: number): Reason => at(row.reason!, sentence.example, reading.pins[source]);
    const attributes = {
      type: "button",
      "data-kind": kind,
      "data-example": sentence.example,
      ...opens(host, cell, why(0), ({ target }) => {
        const arc = target instanceof Element ? target.closest("[data-source]") : null;
        return why(Number(arc?.getAttribute("data-source") ?? 0));
      }),
    };
    const said = `${kind}: ${sentence.words.join(" ")}. ${answers.join(", ")}. Open ${host.figures.name(cell)} here.`;
    return h("button.sentence", attributes, h("span.hidden", {}, said), picture(sentence, reading, towards, host));
  };
  const group = (kind: string, readings: readonly Case[]): HTMLElement[] => {
    const none = h("p.say", {}, `None among the ${plural(row.looked, "sentence")} that were drawn.`);
    return [
      h("h4.cap", {}, kind),
      ...(readings.length === 0
        ? [none]
        : firstOf(
            readings.map((reading) => shown(reading, kind)),
            kind,
          )),
    ];
  };
  const how = `${head.label} in papers, ${terms.arrow(row)}, right in ${fixed(100 * (row.accuracy ?? 0), 1)}\u00a0% of ${whole(row.n)}`;
  const title = h("h3", {}, `${terms.name(row)}: ${head.name} `, h("span.dim", {}, how));
  const [right, wrong] = [terms.right(row), terms.wrong(row)];
  if (right.length + wrong.length > 0)
    return [title, key(terms.link), ...group("right", right), ...group("wrong", wrong)];
  return [title, h("p.say", {}, terms.none(row))];
}

/** The figures of a row by the names that its command gives their columns. */
export const columnsOf = (row: BestRow, clusters: string) => ({
  ...row,
  clusters,
  difference: row.gain,
  difference_low: row.gain_low,
  difference_high: row.gain_high,
  ci_low: row.low,
  ci_high: row.high,
  baseline_accuracy: row.baseline,
  split_accuracy: row.split,
});

/** What choosing gives, as the last columns of a saved table. */
export const GAINS = {
  difference: "float",
  difference_low: "float",
  difference_high: "float",
  times: "int",
  choices: "int",
  effective: "float",
  clusters: "text",
} as const;
