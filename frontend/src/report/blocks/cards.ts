// A card of the first head of each role: real examples of what it does. Those of other heads are on their own pages.

import "./cards.css";
import type { CardExample, CardInfo, CardsBlock } from "../../protocol";
import { h } from "../../ui/dom";
import { examples, textOf } from "../card";
import type { Host } from "../host";
import { because, ofMeasure } from "../reasons";
import { headLink } from "../rows";
import { HEAD, records, type Table } from "../table";
import type { Block } from "./block";

function saved({ cards }: CardsBlock, host: Host): Table {
  const rows = cards.flatMap(({ strongest, sample, ...card }) => {
    const row = (kind: string) => (example: CardExample) => ({
      ...card,
      ...example,
      kind,
      roles: card.roles.join("; "),
      example: example.example + 1,
      text: textOf(host, example.example),
    });
    return [...strongest.map(row("strongest")), ...sample.map(row("decile"))];
  });
  const said = { roles: "text", measure: "text", kind: "text", score: "float" } as const;
  const places = { rank: "int", decile: "int", example: "int", text: "text" } as const;
  return records({ ...HEAD, ...said, ...places }, rows);
}

function cardOf(host: Host, info: CardInfo, inputs: number): HTMLElement[] {
  const { figures } = host;
  const cell = figures.find(info.layer, info.head);
  if (!cell) return [];
  const name = figures.name(cell);
  const reason = figures.has(info.measure) ? ofMeasure(figures.measure(info.measure), cell) : because(info.measure, "");
  return [
    h(
      "article.card",
      { "aria-label": name, "data-head": name },
      h(
        "header",
        headLink(host, cell, name, reason),
        h("span.dim", figures.paper(cell)),
        ...info.roles.map((role) => h("span.role", role)),
      ),
      ...examples(host, cell, info, inputs),
    ),
  ];
}

export const cards: Block<CardsBlock> = (info, { host, element }) => {
  const leading = info.cards.map(({ roles }) => roles[0]);
  const first = info.cards.filter((_, i) => leading[i] !== undefined && leading.indexOf(leading[i]) === i);
  const grid = h("div.cards");
  element.hidden = info.alone;
  let painted = "";
  return {
    root: h("div", h("p.note", "The first head of each role; those of the others are on their pages."), grid),
    update: ({ theme }) => {
      if (theme !== painted && !info.alone)
        grid.replaceChildren(...first.flatMap((card) => cardOf(host, card, info.inputs)));
      painted = theme;
    },
    tables: { cards: () => saved(info, host) },
  };
};
