// The card of a head: its roles, where it stands out, and real examples of what it does, each opened on a click.

import "./card.css";
import type { CardExample, CardInfo } from "../protocol";
import { css, inkOn } from "../scene/color";
import { figure, percent, whole } from "../scene/format";
import { nameOf } from "../scene/says";
import { h } from "../ui/dom";
import { type Cell, type Figures, type Measure, tablesOf } from "./figures";
import { glance, pictured } from "./glance";
import type { Host } from "./host";
import { listed } from "./parts";
import { because, ofMeasure, opens } from "./reasons";
import { headLink } from "./rows";
import { tipOn } from "./tip";

const FIGURES = 3;
/** Of a picture on a card, its longer side in pixels. */
const SHOT = 62;
const TENTHS = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1];

interface Rank {
  readonly measure: Measure;
  readonly rank: number;
  readonly of: number;
}

/** A head and what its card says. */
export interface Known {
  readonly cell: Cell;
  readonly info: CardInfo;
}

/** The measures in which each head is nearest to the top, with its rank among all heads. */
function ranks(figures: Figures): (cell: Cell) => Rank[] {
  const measures = figures.told.filter((measure) => measure.isShare || measure.name === "entropy");
  const ranked = measures.map((measure) => ({ measure, order: figures.ranked(measure) }));
  return (cell) => {
    const all = ranked.flatMap(({ measure, order }) =>
      order.includes(cell) ? [{ measure, rank: order.indexOf(cell) + 1, of: order.length }] : [],
    );
    return all.sort((a, b) => a.rank - b.rank).slice(0, FIGURES);
  };
}

const ordinal = (n: number): string =>
  `${n}${["th", "st", "nd", "rd"][n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] ?? "th"}`;

/** Whom a head with a role reads, and whether it copies, where the page tells it. */
function readsAndWrites(host: Host, cell: Cell): HTMLElement[] {
  const { figures } = host;
  const table = tablesOf(figures.payload, "composition").find(({ name }) => name === "reads");
  if (!table) return [];
  const { layer, head, itself } = table.values;
  const row = layer!.findIndex((each, at) => each === figures.layerOf(cell) && head![at] === figures.headOf(cell));
  const read = Object.entries(table.heads ?? {}).filter(([, names]) => names[row]?.length);
  const copies = itself?.[row];
  return [
    ...read.map(([name, names]) => h("p.reads", `its ${name} read `, ...listed(names[row]!, host))),
    ...(typeof copies === "number" ? [h("p.reads", `raises the token that it looks at: ${percent(copies)}`)] : []),
  ];
}

/** The texts of the examples, and what makes the card of a head. */
export function cardsOf(host: Host, inputs: number) {
  const texts = host.figures.payload.examples.map(({ inputs: [first] }) => (first ? nameOf(first) : ""));
  const best = ranks(host.figures);
  return { texts, card: (known: Known): HTMLElement => cardOf(known, host, inputs, texts, best(known.cell)) };
}

function cardOf(
  { cell, info }: Known,
  host: Host,
  inputs: number,
  texts: readonly string[],
  best: readonly Rank[],
): HTMLElement {
  const { figures } = host;
  const measure = figures.measure(info.measure);
  const title = figures.has(info.measure) ? measure.info.title : info.measure;
  const standings = best.map(({ measure, rank, of }) =>
    h(
      "li",
      h("span", measure.info.title),
      h("b", figure(measure.value(cell), measure.isShare ? 3 : 2)),
      h("span.dim", `${rank} of ${of}`),
    ),
  );
  const line = ({ example, score, rank, reason }: CardExample): HTMLElement =>
    h(
      "button.line",
      { "data-example": example, ...opens(host, cell, reason) },
      h("b", figure(score, 2)),
      h("span.words", texts[example] ?? ""),
      h("span.dim", rank === null ? "" : `${whole(rank)} of ${whole(inputs)}`),
    );
  const shot = ({ example, score, rank, reason }: CardExample): HTMLElement => {
    const canvas = h("canvas", { "aria-hidden": "true" });
    const name = `${texts[example] ?? ""}, ${figure(score, 2)}`;
    void glance(canvas, host, cell, example, reason.pin, SHOT);
    return h(
      "button.shot",
      { "data-example": example, "aria-label": name, title: texts[example] ?? null, ...opens(host, cell, reason) },
      canvas,
      h("span", h("b", figure(score, 2)), h("span.dim", rank === null ? "" : ordinal(rank))),
    );
  };
  const strongest = info.strongest.every(({ example }) => pictured(host, example))
    ? h("div.shots", ...info.strongest.map(shot))
    : h("div.lines", ...info.strongest.map(line));
  const tenth = (decile: number): HTMLElement => {
    const sample = info.sample.find((each) => each.decile === decile);
    const name = `${ordinal(11 - decile)} tenth`;
    if (!sample) return h("span.none", { title: `No example of the ${name} in this page` });
    const { example, score, reason } = sample;
    const pixel = measure.pixel(score, host.now.theme);
    const text = texts[example] ?? "";
    const attributes = {
      "data-example": example,
      "aria-label": `${name}, ${figure(score, 2)}: ${text}`,
      style: `background:${css(pixel)};color:${inkOn(pixel)}`,
      ...opens(host, cell, reason),
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
  return h(
    "article.card",
    { "aria-label": figures.name(cell), "data-head": figures.name(cell) },
    h(
      "header",
      headLink(
        host,
        cell,
        figures.name(cell),
        figures.has(info.measure) ? ofMeasure(measure, cell) : because(title, ""),
      ),
      h("span.dim", figures.paper(cell)),
      ...info.roles.map((role) => h("span.role", role)),
    ),
    h("ul.best", ...standings),
    ...readsAndWrites(host, cell),
    h("h3.cap", `strongest · ${info.least ? `lowest ${title} first` : title}`),
    info.strongest.length > 0
      ? strongest
      : h("p.dim", "None of its strongest inputs is among the examples of this page."),
    h("h3.cap", "strongest tenth to weakest"),
    h("div.tenths", ...TENTHS.map(tenth)),
  );
}
