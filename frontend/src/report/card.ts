// Real examples of what a head does: where it does most of it, and one of each tenth, each opened on a click.

import "./card.css";
import type { CardExample, CardInfo, CardsBlock, ReportPayload } from "../protocol";
import { css, inkOn } from "../scene/color";
import { figure, whole } from "../scene/format";
import { nameOf } from "../scene/inputs";
import { h } from "../ui/dom";
import type { Cell } from "./figures";
import { glance, pictured } from "./glance";
import type { Host } from "./host";
import { opens } from "./reasons";
import { tipOn } from "./tip";

/** So many examples are shown, the strongest first. */
const MOST = 5;
/** Of a picture on a card, its longer side in pixels. */
const SHOT = 62;
const TENTHS = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1];

const ordinal = (n: number): string =>
  `${n}${["th", "st", "nd", "rd"][n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] ?? "th"}`;

/** The cards of a page, and of how many inputs their examples are. */
export const cardsIn = ({ sections }: ReportPayload): Pick<CardsBlock, "cards" | "inputs"> =>
  sections.flatMap((info) => (info.kind === "blocks" ? info.blocks : [])).find((block) => block.kind === "cards") ?? {
    cards: [],
    inputs: 0,
  };

/** What an example of the page is called. */
export const textOf = ({ figures }: Host, example: number): string => {
  const input = figures.payload.examples[example]?.inputs[0];
  return input ? nameOf(input) : "";
};

/** The examples of a head: the strongest, and one of each tenth. */
export function examples(host: Host, cell: Cell, info: CardInfo, inputs: number): HTMLElement[] {
  const { figures } = host;
  const measure = figures.measure(info.measure);
  const title = figures.has(info.measure) ? measure.info.title : info.measure;
  const weaker = info.sample.filter(({ example }) => info.strongest.every((other) => other.example !== example));
  const first = [...info.strongest, ...weaker].slice(0, MOST);
  const tenthOf = (decile: number): string => `${ordinal(11 - decile)} tenth`;
  const opened = ({ example, reason }: CardExample) => ({ "data-example": example, ...opens(host, cell, reason) });
  const place = (one: CardExample): string =>
    one.rank === null ? tenthOf(one.decile) : `${whole(one.rank)} of ${whole(inputs)}`;
  const line = (one: CardExample): HTMLElement =>
    h(
      "button.line",
      opened(one),
      h("b", figure(one.score, 2)),
      h("span.words", textOf(host, one.example)),
      h("span.dim", place(one)),
    );
  const shot = (one: CardExample): HTMLElement => {
    const canvas = h("canvas", { "aria-hidden": "true" });
    const text = textOf(host, one.example);
    void glance(canvas, host, cell, one.example, one.reason.pin, SHOT);
    return h(
      "button.shot",
      { "aria-label": `${text}, ${figure(one.score, 2)}`, title: text || null, ...opened(one) },
      canvas,
      h(
        "span",
        h("b", figure(one.score, 2)),
        h("span.dim", one.rank === null ? tenthOf(one.decile) : ordinal(one.rank)),
      ),
    );
  };
  const list = first.every(({ example }) => pictured(host, example))
    ? h("div.shots", ...first.map(shot))
    : h("div.lines", ...first.map(line));
  const tenth = (decile: number): HTMLElement => {
    const sample = info.sample.find((each) => each.decile === decile);
    const name = tenthOf(decile);
    if (!sample) return h("span.none", { title: `No example of the ${name} in this page` });
    const { example, score } = sample;
    const pixel = measure.pixel(score, host.now.theme);
    const text = textOf(host, example);
    const attributes = {
      "aria-label": `${name}, ${figure(score, 2)}: ${text}`,
      style: `background:${css(pixel)};color:${inkOn(pixel)}`,
      ...opened(sample),
      ...tipOn(host, () => h("div", h("b", figure(score, 3)), h("span.dim", `  ${name}`), h("div", text))),
    };
    return h(
      "button.tenth",
      attributes,
      figure(score, info.units === "share" ? 2 : 1)
        .replace(/^0\./, ".")
        .replace(/^1\.0+$/, "1"),
    );
  };
  return [
    h("h3.cap", `strongest · ${info.least ? `lowest ${title} first` : title}`),
    first.length > 0 ? list : h("p.dim", "None of its inputs is among the examples of this page."),
    h("h3.cap", "strongest tenth to weakest"),
    h("div.tenths", ...TENTHS.map(tenth)),
  ];
}
