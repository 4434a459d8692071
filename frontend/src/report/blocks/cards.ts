// A card a head: its roles, where it stands out, and real examples of what it does, each opened on a click.

import "./cards.css";
import type { CardExample, CardsBlock } from "../../protocol";
import { h } from "../../ui/dom";
import { cardsOf, type Known } from "../card";
import { same } from "../figures";
import type { Now } from "../host";
import { toggle } from "../rows";
import { HEAD, records, type Table } from "../table";
import type { Block } from "./block";

function saved({ cards }: CardsBlock, texts: readonly string[]): Table {
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
  const said = { roles: "text", measure: "text", kind: "text", score: "float" } as const;
  const places = { rank: "int", decile: "int", example: "int", text: "text" } as const;
  return records({ ...HEAD, ...said, ...places }, rows);
}

export const cards: Block<CardsBlock> = (info, { host }) => {
  const { texts, card } = cardsOf(host, info.inputs);
  const known = info.cards.flatMap((info): Known[] => {
    const cell = host.figures.find(info.layer, info.head);
    return cell ? [{ cell, info }] : [];
  });
  // Of each role the first head: the others are a switch away.
  const leading = known.map(({ info: { roles } }) => roles[0]);
  const roles = known.filter((_, i) => leading[i] !== undefined && leading.indexOf(leading[i]) === i);
  const [grid, status, folded] = [h("div.cards"), h("span.dim", { role: "status" }), h("p.note.paper")];
  let all = false;
  let made = new Map<Known, HTMLElement>();
  let painted = "";

  const update = ({ cell: open, theme }: Now): void => {
    if (theme !== painted) made = new Map();
    painted = theme;
    const visible = known.filter((one) => same(one.cell, open) || (!info.alone && (all || roles.includes(one))));
    for (const one of visible) made.set(one, made.get(one) ?? card(one));
    const elements = visible.map((one) => made.get(one)!);
    if (elements.length !== grid.children.length || elements.some((element, i) => grid.children[i] !== element))
      grid.replaceChildren(...elements);
    for (const [one, element] of made) element.toggleAttribute("data-open", same(one.cell, open));
    const left = known.length - visible.length;
    folded.textContent = left > 0 ? `The cards of ${left} more heads are in the page itself and in its tables.` : "";
    status.textContent = all ? "" : `${roles.length > 0 ? "one head of each role, and " : ""}the head that is open`;
  };
  const every = toggle(`All ${known.length} heads`, (on) => {
    all = on;
    update(host.now);
  });
  if (roles.length === 0 && known.length <= 12) every.click();
  const root = h("div", !info.alone && h("div.ctl", every, status), grid, !info.alone && folded);
  return { root, update, tables: { cards: () => saved(info, texts) } };
};
