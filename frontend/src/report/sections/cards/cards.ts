// A card a head: its roles, where it stands out, and real examples of what it does, each opened on a click.

import "./cards.css";
import type { CardExample, CardsSection } from "../../../protocol";
import type { Theme } from "../../../scene/color";
import { nameOf } from "../../../scene/says";
import { h } from "../../../ui/dom";
import { cardOf, type Known, ranks } from "../../card";
import { same } from "../../figures";
import type { Now, Section } from "../../host";
import { toggle } from "../../rows";
import { HEAD, records, type Table } from "../../table";

interface Card extends Known {
  element: HTMLElement | null;
}

function saved({ cards }: CardsSection, texts: readonly string[]): Table {
  const rows = cards.flatMap(({ strongest, sample, ...card }) => {
    const row = (kind: string) => (example: CardExample) => ({
      ...card,
      ...example,
      kind,
      roles: card.roles.join("; "),
      example: example.example + 1,
      text: texts[example.example],
    });
    return [...strongest.map(row("strongest")), ...sample.map(row("decile"))];
  });
  const columns = {
    roles: "text",
    measure: "text",
    kind: "text",
    score: "float",
    rank: "int",
    decile: "int",
    example: "int",
    text: "text",
  } as const;
  return records({ ...HEAD, ...columns }, rows);
}

export const section: Section<CardsSection> = (element, info, host) => {
  const { figures } = host;
  const texts = figures.payload.examples.map(({ inputs }) => (inputs[0] ? nameOf(inputs[0]) : ""));
  const bestOf = ranks(figures);
  const cards = info.cards.flatMap((card): Card[] => {
    const cell = figures.find(card.layer, card.head);
    return cell ? [{ cell, info: card, element: null }] : [];
  });
  // Of each role the first head: the others are a switch away.
  const leading = cards.map(({ info: { roles } }) => roles[0]);
  const roles = cards.filter((_, i) => leading[i] !== undefined && leading.indexOf(leading[i]) === i);
  const [grid, status, folded] = [h("div.cards"), h("span.dim", { role: "status" }), h("p.note.paper")];
  let all = false;
  let painted: Theme | null = null;

  const update = ({ cell: open, theme }: Now): void => {
    if (theme !== painted) for (const card of cards) card.element = null;
    painted = theme;
    const visible = cards.filter((card) => all || roles.includes(card) || same(card.cell, open));
    const elements = visible.map(
      (card) => (card.element ??= cardOf(card, host, info, texts, bestOf(card.cell), theme)),
    );
    if (elements.length !== grid.children.length || elements.some((card, i) => grid.children[i] !== card))
      grid.replaceChildren(...elements);
    for (const card of visible) card.element?.toggleAttribute("data-open", same(card.cell, open));
    const left = cards.length - visible.length;
    folded.textContent = left > 0 ? `The cards of ${left} more heads are in the page itself and in its tables.` : "";
    status.textContent = all ? "" : `${roles.length > 0 ? "one head of each role, and " : ""}the head that is open`;
  };
  const every = toggle(`All ${cards.length} heads`, (on) => {
    all = on;
    update(host.now);
  });
  element.append(h("div.ctl", every, status), grid, folded);
  if (roles.length === 0 && cards.length <= 12) every.click();
  return { update, tables: { cards: () => saved(info, texts) } };
};
