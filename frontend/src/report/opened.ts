// The head that is open, as a column beside the report or as a page: its explorer, what is known of it, and its place
// among all over the corpus.

import type { ExplorerPayload, ExplorerState, Reason } from "../protocol";
import { Store } from "../scene/data";
import { beginsOf, nameOf } from "../scene/inputs";
import { Of } from "../scene/made";
import { DEFAULTS, type Full, headsOf, settle, unequal, write } from "../scene/state";
import { h } from "../ui/dom";
import { fromPage } from "../ui/embedded";
import { Explorer } from "../ui/explorer";
import { download } from "../ui/save";
import { same, tablesOf } from "./figures";
import { pageOf } from "./headpage";
import type { Host, Now } from "./host";
import { CORPUS, linked, ofMeasure, placed, shows } from "./reasons";
import { kept, SIDES } from "./sides";
import { VIEW } from "./state";
import { Strips } from "./strips";

/** What the open head follows; the width is that of its own column. */
export interface OpenedNow extends Now {
  readonly example: number;
  readonly reason: Reason | null;
  readonly large: boolean;
}

export class Opened {
  private readonly title = h("h2", { tabindex: -1 });
  private readonly papers = h("span.dim");
  private readonly figure = h("span.figure");
  private readonly enlarge: HTMLButtonElement;
  private readonly select: HTMLSelectElement;
  private readonly note = h("p.say");
  /** Of an example with the maps of two models: which is shown. */
  private readonly sides = h("div.sides");
  private readonly box = h("div.explorer");
  private readonly known = h("div.known");
  private readonly told = new Of();
  private readonly among = h("h3");
  private readonly strips: Strips;
  private readonly root: HTMLElement;
  private readonly stores = new Map<number, Store>();
  private explorer: Explorer | null = null;

  constructor(
    element: HTMLElement,
    private now: OpenedNow,
    private readonly host: Host,
    state: ExplorerState,
  ) {
    const { examples } = host.figures.payload;
    const row = h(
      "button.link",
      { title: "Show this head in the table", onclick: () => host.row(this.now.cell) },
      "Row in the table",
    );
    this.enlarge = h("button.link.enlarge", { onclick: () => host.set({ large: !this.now.large }) });
    const options = examples.map((example, i) => h("option", `${i + 1} · ${called(example)}`));
    this.select = h(
      "select.example",
      { "aria-label": "Example", onchange: () => host.set({ example: this.select.selectedIndex }) },
      ...options,
    );
    this.strips = new Strips(host);
    this.root = h(
      "section.opened",
      { "aria-label": "The open head" },
      h("div.openhead", this.title, this.papers, this.figure, h("span.grow"), row, this.enlarge),
      this.sides,
      this.note,
      this.box,
      this.known,
      h("div.among", this.among, this.strips.root),
    );
    element.append(this.root);
    this.strips.update(now);
    this.build({ ...this.opening, ...state });
    this.describe();
  }

  update(now: OpenedNow): void {
    const before = this.now;
    this.now = now;
    if (now.example !== before.example || labelOf(now) !== labelOf(before)) {
      const { examples } = this.host.figures.payload;
      // Tokens of another example are others: what was pinned or zoomed is let go.
      const state = kept(this.explorer?.state ?? {}, examples[before.example], examples[now.example]);
      this.build(now.example === before.example ? state : { ...state, pin: null, zoom: null });
    } else if (!same(now.cell, before.cell)) this.follow();
    if (now.theme !== before.theme) this.explorer?.surroundings();
    this.strips.update(now);
    this.describe();
  }

  /** The head is to be seen where its reason is. */
  show(reason: Reason): void {
    const { layer, head } = this.open;
    this.explorer?.update({ ...shows(reason, this.payload!), layer, heads: [head] });
  }

  /** The explorer is to show something else than the open head. */
  look(state: ExplorerState): void {
    this.explorer?.update(state);
  }

  /** Take over a state from the page's address. */
  restore(state: ExplorerState): void {
    this.explorer?.update(this.withHead({ ...this.opening, ...state }));
  }

  /** The explorer's state as a part of the page's address: what differs from how this head opens. */
  get fragment(): string {
    const { explorer, payload } = this;
    return explorer && payload ? write(explorer.state, settle(this.withHead(this.opening), payload), VIEW) : "";
  }

  /** Where the open head begins: what has the focus when it is gone to. */
  get heading(): HTMLElement {
    return this.title;
  }

  /** How close it is seen: the grid, the head, its neurons. */
  get scale(): string {
    return this.explorer?.state.scale ?? "";
  }

  /** Everything that can be seen has been drawn. */
  get settled(): boolean {
    return this.explorer === null || this.box.clientWidth === 0 || this.explorer.settled;
  }

  private get payload(): ExplorerPayload | undefined {
    return this.host.figures.payload.examples[this.now.example];
  }

  /** Whether the example has two inputs: A and B. */
  private get paired(): boolean {
    return this.payload?.inputs.length === 2;
  }

  /** Whether the example has the maps of two models: the figures over the corpus are those of A. */
  private get models(): boolean {
    return (
      this.paired &&
      !tablesOf(this.host.figures.payload, "groups").some(({ reasons }) =>
        reasons.some((reason) => reason?.example === this.now.example),
      )
    );
  }

  /** How the explorer opens: on a page of a head at what it is there for. */
  private get opening(): ExplorerState {
    const { large, reason, example } = this.now;
    return large && reason?.example === example ? shows(reason, this.payload!) : {};
  }

  /** The model's own indices of the open head. */
  private get open(): { layer: number; head: number } {
    const { figures } = this.host;
    return { layer: figures.layerOf(this.now.cell), head: figures.headOf(this.now.cell) };
  }

  // A state with the open head. The theme is the page's.
  private withHead(state: ExplorerState): ExplorerState {
    const { layer, head } = this.open;
    const several = state.heads?.at(-1) === head && (state.layer ?? layer) === layer;
    return {
      ...DEFAULTS,
      ...this.payload?.state,
      ...state,
      theme: "auto",
      layer,
      heads: several ? state.heads! : [head],
    };
  }

  private build(state: ExplorerState): void {
    const { example } = this.now;
    const { payload } = this;
    this.explorer?.destroy();
    this.explorer = null;
    this.box.replaceChildren();
    this.sides.replaceChildren();
    if (!payload) return;
    const store = this.stores.get(example) ?? new Store((name) => fromPage(`${example}-${name}`));
    this.stores.set(example, store);
    const element = h("div");
    this.box.append(element);
    const host = {
      begins: "On this input, ",
      ...(this.paired && { letters: ["A", "B"] }),
      ...(this.models && { measured: "A" }),
      changed: (state: Full) => this.changed(state),
      dark: () => this.now.theme === "dark",
      save: download,
    };
    this.explorer = new Explorer(
      element,
      { payload: linked(payload, labelOf(this.now)), store, state: this.withHead(state) },
      host,
    );
    element.querySelector(".bar")?.prepend(this.select);
    if (this.paired) this.offer(payload);
  }

  // A | B | A beside B | A − B, with the names of the two models.
  private offer({ inputs }: ExplorerPayload): void {
    const choose = (state: ExplorerState): void => {
      this.explorer?.update(state);
      this.sided();
      this.host.set({}); // the address follows
    };
    const buttons = SIDES.map(({ text, state }) => h("button", { role: "radio", onclick: () => choose(state) }, text));
    const [a, b] = inputs.map((input) => h("bdi", input.label));
    this.sides.append(
      h("div.seg", { role: "radiogroup", "aria-label": "Models" }, ...buttons),
      h("span.dim", a, h("br"), b),
    );
    this.sided();
  }

  private sided(): void {
    const { explorer, payload } = this;
    if (!explorer || !payload) return;
    [...this.sides.querySelectorAll("button")].forEach((button, i) => {
      const { state, on } = SIDES[i]!;
      const why = state.side === "difference" && !on(explorer.state) ? unequal(payload, explorer.state) : null;
      button.setAttribute("aria-checked", String(on(explorer.state)));
      button.disabled = why !== null;
      button.title = why ?? "";
    });
  }

  private follow(): void {
    const { explorer } = this;
    const { layer, head } = this.open;
    if (explorer && (explorer.state.layer !== layer || explorer.state.heads.at(-1) !== head))
      explorer.update({ layer, heads: [head] });
  }

  // The reader went to another head in the explorer: its figures are shown.
  private changed(state: Full): void {
    this.sided();
    const measured = state.part === this.payload?.inputs[0]?.parts[0]?.name;
    const cell = measured ? this.host.figures.find(state.layer, state.heads.at(-1) ?? -1) : null;
    this.host.set(cell ? { cell } : {});
  }

  private describe(): void {
    const { measure, cell, example, large, reason } = this.now;
    const { figures } = this.host;
    if (this.told.renewed(cell, this.now.theme)) this.known.replaceChildren(...pageOf(this.host, cell));
    const inA = this.models ? " in A" : "";
    const why = reason ?? placed(ofMeasure(measure, cell), cell, figures);
    const { says, figure, over = CORPUS } = why;
    const here = why.example === example ? why.here : null;
    this.title.textContent = figures.name(cell);
    this.papers.textContent = `${figures.paper(cell)} in papers`;
    this.figure.replaceChildren(
      h("span", says),
      h("b", figure),
      h("span", `${over}${reason && !reason.measure ? "" : inA}${here ? "," : ""}`),
      ...(here ? [h("b", here), h("span", "on this input")] : []),
    );
    this.select.selectedIndex = example;
    this.enlarge.textContent = large ? "Back to the report" : "Page of this head";
    const part = this.payload?.inputs[0]?.parts[0];
    const hasHead = part !== undefined && headsOf(part, this.open.layer).includes(this.open.head);
    this.box.hidden = !hasHead;
    this.sides.hidden = !hasHead || !this.paired;
    this.root.classList.toggle("two", this.paired);
    this.note.hidden = hasHead;
    this.note.textContent = part ? "The maps of this example hold no such head." : "This page holds no examples.";
    const all = figures.cells.length;
    this.among.textContent = `${figures.name(cell)}${inA} over the corpus, ${all > 1 ? `among all ${all} heads` : "the only head"}`;
  }
}

/** Which links are shown: on the example of a reason its own, elsewhere all. */
const labelOf = ({ reason, example }: OpenedNow): string | null =>
  reason?.example === example ? (reason.label ?? null) : null;

/** What an example is called: its text; the labels of two models are their names. */
const called = ({ inputs }: ExplorerPayload): string =>
  inputs.length === 2 ? `A | B · ${beginsOf(inputs[0]!)}` : nameOf(inputs[0]!);
