// A card a head: its roles, where it stands out, and real examples of what it does, each opened on a click.

import { css, inkOn, type Theme } from "../../../color";
import { h } from "../../../dom";
import { nameOf } from "../../../explorer/toolbar";
import { figure, paper, plural, whole } from "../../../format";
import type { CardExample, CardInfo, CardsSection } from "../../../protocol";
import { type Cell, type Figures, HEAD, type Measure, same } from "../../figures";
import type { Drawn, Host, Now, Section } from "../../host";
import type { Table } from "../../table";

const FIGURES = 3;
const TENTHS = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1];

interface Shown {
  readonly cell: Cell;
  readonly info: CardInfo;
  element: HTMLElement | null;
}

/** Where heads stand in each measure: their places among all, the highest first. */
class Standing {
  private readonly places: { measure: Measure; place: Map<Cell, number> }[];

  constructor(figures: Figures) {
    const kept = figures.measures.filter((measure) => measure.isShare || measure.name === "entropy");
    this.places = kept.map((measure) => ({ measure, place: new Map(figures.ranked(measure).map((cell, i) => [cell, i + 1])) }));
  }

  /** The measures in which a head is nearest to the top. */
  best(cell: Cell, count: number): { measure: Measure; place: number; of: number }[] {
    const found = this.places.flatMap(({ measure, place }) => {
      const own = place.get(cell);
      return own === undefined ? [] : [{ measure, place: own, of: place.size }];
    });
    const kept: typeof found = [];
    for (const one of found.sort((a, b) => a.place - b.place)) {
      // [CLS] is the first token: what is the same figure is said once.
      if (kept.length < count && !kept.some(({ measure }) => Math.abs(measure.value(cell) - one.measure.value(cell)) < 1e-6)) kept.push(one);
    }
    return kept;
  }
}

class Cards implements Drawn {
  readonly tables = { cards: () => this.table() };
  private readonly grid = h("div.cards");
  private readonly every: HTMLButtonElement;
  private readonly status = h("span.dim", { role: "status" });
  private readonly shown: readonly Shown[];
  private readonly standing: Standing;
  private readonly texts: readonly string[];
  private theme: Theme;
  private all = false;

  constructor(
    element: HTMLElement,
    private readonly info: CardsSection,
    private readonly host: Host,
  ) {
    const { figures } = host;
    this.theme = host.now.theme;
    this.texts = figures.payload.examples.map((example) => (example.inputs[0] ? nameOf(example.inputs[0]) : ""));
    this.standing = new Standing(figures);
    this.shown = info.cards.flatMap((card) => {
      const found = figures.find(card.layer, card.head);
      const cell = found && figures.cells.find((one) => same(one, found));
      return cell ? [{ cell, info: card, element: null }] : [];
    });
    this.every = h("button.switch", { type: "button", role: "switch", "aria-checked": "false", onclick: () => this.toggle() }, h("i"), `All ${this.shown.length} heads`);
    const some = this.shown.some((one) => one.info.roles.length > 0);
    element.append(h("div.ctl", {}, this.every, this.status), this.grid);
    if (!some && this.shown.length <= 12) this.toggle();
    this.update(host.now);
  }

  update(now: Now): void {
    if (now.theme !== this.theme) {
      this.theme = now.theme;
      for (const one of this.shown) one.element = null;
    }
    const kept = this.shown.filter(({ info, cell }) => this.all || info.roles.length > 0 || same(cell, now.cell));
    const elements = kept.map((one) => (one.element ??= this.card(one)));
    if (elements.length !== this.grid.children.length || elements.some((element, i) => this.grid.children[i] !== element)) this.grid.replaceChildren(...elements);
    for (const { cell, element } of kept) element?.toggleAttribute("data-open", same(cell, now.cell));
    const roles = this.shown.filter(({ info }) => info.roles.length > 0).length;
    this.status.textContent = this.all ? "" : `${plural(roles, "head")} with a role, and the head that is open`;
  }

  private table(): Table {
    const rows = this.info.cards.flatMap((card) => {
      const one = (kind: string) => (shown: CardExample) => [
        ...[card.layer, card.head, paper(card.layer, card.head), card.roles.join("; "), card.measure, kind],
        ...[shown.score, shown.rank, shown.decile, shown.example + 1, this.texts[shown.example] ?? ""],
      ];
      return [...card.strongest.map(one("strongest")), ...card.sample.map(one("decile"))];
    });
    const columns = { roles: "text", measure: "text", kind: "text", score: "float", rank: "int", decile: "int", example: "int", text: "text" } as const;
    return { columns: { ...HEAD, ...columns }, rows };
  }

  private toggle(): void {
    this.all = !this.all;
    this.every.setAttribute("aria-checked", String(this.all));
    this.update(this.host.now);
  }

  private card({ cell, info }: Shown): HTMLElement {
    const { figures } = this.host;
    const measure = figures.measure(info.measure);
    const title = figures.has(info.measure) ? measure.info.title : info.measure;
    const best = this.standing.best(cell, FIGURES).map(({ measure: own, place, of }) =>
      h("li", {}, h("span", {}, own.info.title), h("b", {}, figure(own.value(cell), own.isShare ? 3 : 2)), h("span.dim", {}, place === 1 ? `highest of ${of}` : `${place} of ${of}`)),
    );
    const by = info.least ? `lowest ${title} first` : title;
    return h(
      "article.card",
      { "aria-label": figures.name(cell), "data-head": figures.name(cell) },
      h(
        "header",
        {},
        h("button.headlink", { type: "button", onclick: () => this.host.open(cell) }, figures.name(cell)),
        h("span.dim", {}, figures.paper(cell)),
        ...info.roles.map((role) => h("span.role", {}, role)),
      ),
      h("ul.best", {}, ...best),
      h("h4.cap", {}, `strongest · ${by}`),
      info.strongest.length > 0
        ? h("div.lines", {}, ...info.strongest.map((one) => this.line(cell, one)))
        : h("p.dim", {}, "None of its strongest inputs is among the examples of this page."),
      h("h4.cap", {}, "from the strongest tenth to the weakest"),
      h("div.tenths", {}, ...TENTHS.map((decile) => this.tenth(cell, info, decile))),
    );
  }

  private line(cell: Cell, one: CardExample): HTMLElement {
    const rank = one.rank === null ? "" : `${whole(one.rank)} of ${whole(this.info.inputs)}`;
    return h(
      "button.line",
      { type: "button", "data-example": one.example, onclick: () => this.host.open(cell, one.example) },
      h("b", {}, figure(one.score, 2)),
      h("span.words", {}, this.texts[one.example] ?? ""),
      h("span.dim", {}, rank),
    );
  }

  private tenth(cell: Cell, info: CardInfo, decile: number): HTMLElement {
    const one = info.sample.find((each) => each.decile === decile);
    if (!one) return h("span.none", { title: `No example of the ${ordinal(11 - decile)} tenth in this page` });
    const { figures } = this.host;
    const pixel = figures.measure(info.measure).pixel(one.score, this.theme);
    const text = this.texts[one.example] ?? "";
    const tip = (): Node =>
      h("div", {}, h("b", {}, figure(one.score, 3)), h("span.dim", {}, `  ${ordinal(11 - decile)} tenth`), h("div", {}, text));
    return h(
      "button.tenth",
      {
        type: "button",
        "data-example": one.example,
        "aria-label": `${ordinal(11 - decile)} tenth, ${figure(one.score, 2)}: ${text}`,
        style: `background:${css(pixel)};color:${inkOn(pixel)}`,
        onclick: () => this.host.open(cell, one.example),
        onpointermove: (event: PointerEvent) => this.host.tip(tip(), event.clientX, event.clientY),
        onpointerleave: () => this.host.tip(null),
      },
      figure(one.score, info.units === "share" ? 2 : 1).replace(/^0\./, "."),
    );
  }
}

const ordinal = (n: number): string => `${n}${["th", "st", "nd", "rd"][n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] ?? "th"}`;

export const section: Section<CardsSection> = (element, info, host) => new Cards(element, info, host);
