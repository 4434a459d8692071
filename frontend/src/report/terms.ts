// Words that need explaining, explained where they stand: pointed at, reached by key or touched they say what they
// mean, and on paper it is printed behind them.

import "./terms.css";
import { type Child, h } from "../ui/dom";
import type { Host } from "./host";

const OFFSET =
  "a guess that looks at no attention: always the word so many places before or after, whichever is right most often";
const DRIFT = "the Jensen–Shannon divergence of a head's attention in the two models, a mean over all tokens";

const TERMS: { readonly [term: string]: string } = {
  "best offset": OFFSET,
  "best fixed offset": OFFSET,
  offset: OFFSET,
  offsets: "what a head would score that looks at places alone, each as often as this one does",
  sieve:
    "a rule without a model: the closest mention before with the same words; else with the same head word; else one that agrees in number, gender and person; else any",
  "head match": "a rule without a model: the closest mention before whose head word is the same",
  "head match, else nearest":
    "a rule without a model: the closest mention before whose head word is the same, or just the closest",
  nearest: "a rule without a model: the closest mention before",
  antecedent: "what a word such as “it” refers back to",
  mentions: "words that name someone or something, such as “the animal” and “it”",
  "nats a row apart":
    "how much the attention of a token differs, as the Jensen–Shannon divergence: 0 nats where it is the same, 0.69 where it has nothing in common",
  Drift: DRIFT,
  drift: DRIFT,
  Entropies: "how evenly attention is spread: 0 nats where it is all on one token, ln n where it is even over n",
  broadly: "almost evenly over everything: entropy above that of two thirds of the tokens",
  bar: "the score that a head must be above to have the role",
  chance: "what attention spread evenly would score",
  "split,\nchoice\nincluded":
    "the best head is chosen on some documents and scored on others: this is what choosing gives",
  "accuracy,\ngiven the\nchoice": "on the very words that the head was chosen on: a little too good",
  q: "the expected share of wrong claims among this one and all with a smaller q",
  "first half":
    "an input is [CLS] first half [SEP] second half [SEP], each of whole lines of a text: as BERT was trained, on two stretches of text",
};

const MEANT = new RegExp(
  `(?<![\\w-])(${Object.keys(TERMS)
    .sort((a, b) => b.length - a.length)
    .join("|")})(?![\\w-])`,
  "g",
);

/** A word with what it means; `pressed` is what else a press does, `after` stands behind it. */
export function word(
  text: string,
  meaning: string,
  host: Host,
  pressed: () => void = () => undefined,
  after: Child = null,
): HTMLElement {
  const show = (event: Event): void => {
    const { left, bottom } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    host.tip(h("div.meaning", meaning), left - 16, bottom - 12);
  };
  const hide = (): void => host.tip(null);
  const press = (event: Event): void => {
    event.stopPropagation(); // a row of a table opens its head
    show(event);
    pressed();
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "Escape") hide();
  };
  const listeners = {
    onclick: press,
    onfocus: show,
    onblur: hide,
    onkeydown: key,
    onpointerenter: show,
    onpointerleave: hide,
  };
  return h(
    "span",
    h("button.term", { "aria-description": meaning, ...listeners }, text, after),
    h("span.paper", ` (${meaning})`),
  );
}

/**
 * A text in which each word that needs it is explained, where it stands first; `seen` are the meanings that have been
 * told.
 */
export function explained(text: string, host: Host, seen: Set<string> = new Set()): Child[] {
  return text.split(MEANT).map((part, i) => {
    const meaning = TERMS[part];
    if (i % 2 === 0 || meaning === undefined || seen.has(meaning)) return part;
    seen.add(meaning);
    return word(part, meaning, host);
  });
}

/** What the words of a table mean, to be printed below it: its columns have no room. */
export function meanings(table: HTMLElement): HTMLElement {
  const told = new Map(
    [...table.querySelectorAll(".term")].map((word) => [
      word.textContent!.replaceAll("\n", " "),
      word.getAttribute("aria-description")!,
    ]),
  );
  return h("p.note.paper", [...told].map(([word, meaning]) => `${word}: ${meaning}`).join(". "));
}
