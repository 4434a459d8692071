// Where the head of a row is right and where it is wrong: sentences with arcs, or texts with mentions.

import type { CaseBlock, CasesInfo, LinkShown, MentionShown, MentionText, Reason } from "../../protocol";
import "./mentions.css";
import { share } from "../../scene/format";
import { h } from "../../ui/dom";
import { key as keyOf, picture, saying } from "../arcs";
import type { Cell } from "../figures";
import type { Host } from "../host";
import { at, opens } from "../reasons";
import { firstOf } from "../rows";
import type { Block } from "./block";

const CLOSE = /^(?:[.,;:!?)\]}%…”’]|n't$|'\w*$|’\w*$)/;
const OPEN = /[([{“‘$]$/;

const MENTIONS: readonly (readonly [kind: string, text: string])[] = [
  ["mention", "mention"],
  ["before", "what it refers to"],
  ["choice right", "chosen, right"],
  ["choice", "chosen, wrong"],
];

/** Whether a head is right about all that a case asks. */
const rightIn = ({ right }: LinkShown): boolean => right.every(Boolean);

/** How many of what a case asks a head is right about: `1 of 2`. */
const ofAll = ({ right }: LinkShown): string => `${right.filter(Boolean).length} of ${right.length}`;

/** The classes of each word: of the mention, of mentions that would be right, of the word that was chosen. */
export function marks(text: MentionText, choice: MentionShown): string[] {
  const inside = (mention: number, word: number): boolean => {
    const [start, end] = text.mentions[mention] ?? [0, 0];
    return start! <= word && word < end!;
  };
  return text.words.map((_, word) => {
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
export function apart({ words, spaces }: MentionText): boolean[] {
  return words.map(
    (word, i) => i > 0 && (spaces ? spaces[i - 1] === true : !CLOSE.test(word) && !OPEN.test(words[i - 1] ?? "")),
  );
}

function marked(text: MentionText, choice: MentionShown): HTMLElement {
  const kinds = marks(text, choice);
  const spaced = apart(text);
  const box = h("span.text");
  text.words.forEach((word, i) => {
    const last = box.lastElementChild;
    if (kinds[i] && kinds[i - 1] === kinds[i]) last?.append(spaced[i] ? ` ${word}` : word);
    else box.append(spaced[i] ? " " : "", kinds[i] ? h("span.said", { class: `said ${kinds[i]}` }, word) : word);
  });
  return box;
}

type Own = NonNullable<CasesInfo["rows"][number]>;

/** The cases in which a head is right, or those in which it is wrong. */
function casesOf(
  info: CasesInfo,
  { links, mentions, towards }: Own,
  right: boolean,
  cell: Cell,
  reason: Reason,
  host: Host,
): HTMLElement[] {
  const name = host.figures.name(cell);
  const sentence = (reading: LinkShown): HTMLElement[] => {
    const of = info.sentences[reading.sentence];
    if (!of) return [];
    const answers = reading.words.map(
      (word, i) => `${saying(of, word)} ${towards ? "to" : "from"} ${saying(of, reading.predicted[i]!)}`,
    );
    // Seen at a source: of an arc its own, else the first.
    const why = (source: number): Reason => at(reason, of.example, reading.pins[source], ofAll(reading));
    const opened = opens(host, cell, why(0), ({ target }) => {
      const arc = target instanceof Element ? target.closest("[data-source]") : null;
      return why(Number(arc?.getAttribute("data-source") ?? 0));
    });
    const kind = right ? "right" : "wrong";
    const said = `${kind}: ${of.words.join(" ")}. ${answers.join(", ")}. Open ${name} here.`;
    return [
      h(
        "button.sentence",
        { "data-kind": kind, "data-example": of.example, ...opened },
        h("span.hidden", said),
        picture(of, reading, towards, host),
      ),
    ];
  };
  const mention = (choice: MentionShown): HTMLElement[] => {
    const text = info.texts[choice.window];
    if (!text) return [];
    const word = text.words[text.mentions[choice.mention]?.[2] ?? 0] ?? "";
    const attributes = {
      "data-kind": choice.right ? "right" : "wrong",
      "data-example": text.example,
      title: `Open ${name} here`,
      ...opens(host, cell, at(reason, text.example, choice.pin, choice.right ? "right" : "wrong")),
    };
    const answer = `${word} → ${text.words[choice.predicted] ?? ""} `;
    const said = h("span", answer, h("span.dim", share(choice.weight)));
    return [h("button.mentions", attributes, said, marked(text, choice))];
  };
  return [
    ...links.filter((reading) => rightIn(reading) === right).flatMap(sentence),
    ...mentions.filter((choice) => choice.right === right).flatMap(mention),
  ];
}

/** One case of a head that is named. */
export const caseOf: Block<CaseBlock> = ({ head, cases }, { host }) => {
  const cell = host.figures.find(head.layer, head.head);
  const shown = cell ? casesOf(cases, cases.rows[0]!, true, cell, head.reason!, host) : [];
  return { root: h("div", ...shown) };
};

/** The cases of a row, right ones first; nothing where it has none. */
export function cases(info: CasesInfo, row: number, cell: Cell, reason: Reason, host: Host): HTMLElement[] {
  const own = info.rows[row];
  if (!own) return [];
  const group = (right: boolean): HTMLElement[] => {
    const kind = right ? "right" : "wrong";
    const shown = casesOf(info, own, right, cell, reason, host);
    return [h("h4.cap", kind), ...(shown.length > 0 ? firstOf(shown, kind) : [h("p.say", own.missing)])];
  };
  const title = h("h3", own.title, h("span.dim", own.about));
  if (own.none && own.links.length === 0) return [title, h("p.say", own.none)];
  const key = info.link
    ? keyOf(info.link)
    : h("div.key", ...MENTIONS.map(([kind, text]) => h("span", h("span", { class: `said ${kind}` }, text))));
  return [title, key, ...group(true), ...group(false)];
}
