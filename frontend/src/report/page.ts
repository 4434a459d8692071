// The report page: reads the payload that stands in the page, and keeps its parts in step.

import { Of } from "../scene/made";
import "../ui/theme.css";
import "../ui/page.css";
import "./report.css";
import type { ExplorerState, Reason, ReportPayload } from "../protocol";
import { Store } from "../scene/data";
import { read } from "../scene/state";
import { begin } from "../ui/begin";
import { around, arrow, h, modified, s } from "../ui/dom";
import { fromPage } from "../ui/embedded";
import { Fragment } from "../ui/fragment";
import { copyLink, say, skip } from "../ui/roving";
import { Tip } from "../ui/tip";
import { draw, nameOf } from "./draw";
import { type Cell, Figures, same } from "./figures";
import type { Drawn, Host, Now, State, ThemeChoice } from "./host";
import { Opened, type OpenedNow } from "./opened";
import { lead, provenance, shape } from "./prose";
import { placed } from "./reasons";
import { readFragment, VIEW, writeFragment } from "./state";
import { ThemeWatch } from "./theme";
import { figureText } from "./tip";
import { vectors } from "./vectors";
// After the styles of the sections: an explorer in a report looks as it does alone.
import "../ui/explorer.css";

const WIDE = 1080;
/** Between the margins of A4, in CSS pixels: figures are drawn so wide before they are printed. */
const PAPER = 687;

function themeIcon(choice: ThemeChoice): SVGElement {
  const line = { fill: "none", stroke: "currentColor", "stroke-width": "1.3", "stroke-linecap": "round" };
  const path = (d: string, fill = "none"): SVGElement => s("path", { d, fill });
  const circle = (r: number): SVGElement => s("circle", { cx: 8, cy: 8, r });
  const parts: Record<ThemeChoice, SVGElement[]> = {
    auto: [circle(5.2), path("M8 2.8a5.2 5.2 0 0 1 0 10.4z", "currentColor")],
    dark: [path("M13 9.6A5.6 5.6 0 0 1 6.4 3a5.4 5.4 0 1 0 6.6 6.6z")],
    light: [
      circle(2.7),
      path("M8 1.6v1.2M8 13.2v1.2M1.6 8h1.2M13.2 8h1.2M3.5 3.5l.8.8M11.7 11.7l.8.8M12.5 3.5l-.8.8M4.3 11.7l-.8.8"),
    ],
  };
  return s("svg", { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true", ...line }, ...parts[choice]);
}

/** The sections that are read after the rest. */
const APPENDIX: ReadonlySet<string> = new Set([
  ...["probes", "positions", "cards", "clusters", "heads", "measures", "layers", "classes", "absent", "methods"],
]);

class Report implements Host {
  private readonly page = h("main.page");
  /** What is read after the rest. */
  private readonly more = h("details.more");
  private readonly aside = h("aside.side");
  private readonly live = h("div.hidden", { role: "status", "aria-live": "polite" });
  private readonly themeButton: HTMLButtonElement = h("button.icon", {
    onclick: () => this.set({ theme: this.watch.other }),
  });
  private readonly linked: HTMLButtonElement = h(
    "button.icon.words",
    { title: "Copy a link to what is shown", onclick: () => void this.link() },
    "Link",
  );
  private readonly drawer: HTMLButtonElement = h("button.drawer", {
    "aria-expanded": "false",
    onclick: () => this.pull(),
  });
  private readonly bar: HTMLElement;
  private readonly watch: ThemeWatch;
  private readonly pointer: Tip;
  private readonly defaults: State;
  private readonly sections: Drawn[] = [];
  private readonly opened: Opened;
  private readonly sizes = new ResizeObserver(() => this.refresh());
  private state: State;
  private readonly drawn = new Of();
  private folded: HTMLDetailsElement[] | null = null;
  private origin: HTMLElement | null = null;
  // Another head, reason or scale is another entry of the history: Back leads to the one before.
  private readonly fragment = new Fragment(
    () => writeFragment(this.state, this.defaults, this.figures, this.opened.fragment),
    () => this.readBack(),
    () => this.stepped(),
    (): Kept => ({ drawer: this.aside.classList.contains("open") }),
  );
  /** The head, example and scale of the latest entry of the history. */
  private readonly entry = new Of();

  constructor(
    private readonly root: HTMLElement,
    readonly figures: Figures,
  ) {
    const { payload } = figures;
    if (!figures.measures[0]) throw new Error("this report holds no measures");
    this.defaults = {
      cell: figures.opening,
      example: 0,
      reason: null,
      measure: figures.measures[0].name,
      theme: "auto",
      large: false,
      section: null,
      arranged: {},
    };
    const [state, view] = this.asked();
    this.state = { ...this.defaults, ...state };
    root.className = "hs report";
    this.watch = new ThemeWatch(root, () => this.rethink());
    this.watch.choose(this.state.theme);
    const { model, layers } = payload;
    const size = layers.length > 0 && h("span.dim", `${shape(payload)}${model.causal ? ", causal" : ""}`);
    const brand = h("div.brand", h("b", "headscope"), h("span.model", model.name), size);
    this.bar = h("header.topbar", brand, h("div.right", this.linked, this.themeButton));
    const skips = [
      skip("Skip to the open head", () => this.opened.heading),
      skip("Skip to all heads", () =>
        [...this.page.querySelectorAll<HTMLElement>("[role=application], .tablebox")].find((each) =>
          each.checkVisibility(),
        )),
    ];
    root.append(...skips, this.bar, h("div.columns", this.page, this.aside), this.live);
    this.pointer = new Tip(root);

    this.page.append(lead(payload));
    this.page.append(this.more);
    for (const info of payload.sections)
      this.sections.push(draw(this.page, info, this, APPENDIX.has(nameOf(info)) ? this.more : this.page));
    const [first, ...others] = [...this.more.querySelectorAll("h2")].map(({ textContent }) => textContent!);
    this.more.prepend(h("summary", h("b", "More: "), [first, ...others].join(" · ")));
    // A page of these alone shows them.
    this.more.hidden = first === undefined;
    this.more.open = !this.page.querySelector("section[id]:not(details *, [data-section=summary])");
    this.page.append(this.more, provenance(payload));
    const summary =
      this.page.querySelector("[data-section=summary] .besides > div") ??
      this.page.querySelector("[data-section=summary]");
    if (summary) summary.append(this.contents());
    else this.page.firstElementChild?.after(this.contents());

    const inner = h("div.inner");
    this.aside.append(this.drawer, inner);
    this.opened = new Opened(inner, this.side, this, view);
    this.stepped();
    this.describe();
    document.addEventListener("keydown", this.key);
    this.sizes.observe(this.page);
    this.sizes.observe(this.aside);
  }

  get now(): Now {
    const { printing, theme } = this.watch;
    const width = printing ? PAPER : Math.max(240, this.page.clientWidth);
    const { cell, measure, arranged } = this.state;
    return { cell, measure: this.figures.measure(measure), theme, printing, width, arranged };
  }

  /** The section that the address names. */
  get section(): Element | null {
    return sectionOf(`#${this.state.section ?? window.location.hash.slice(1)}`);
  }

  /** Everything that can be seen has been drawn. */
  get settled(): boolean {
    return this.opened.settled && this.sections.every(({ settled }) => settled?.() ?? true);
  }

  set(change: Partial<State>): void {
    // Another head or measure is open for a figure of its own.
    const other =
      (change.cell && !same(change.cell, this.state.cell)) || (change.measure && change.measure !== this.state.measure);
    this.state = { ...this.state, ...(other && { reason: null }), ...change };
    if (change.theme) this.watch.choose(change.theme);
    this.refresh();
    this.fragment.changed();
    if (change.cell)
      this.live.textContent = figureText(this.figures, this.figures.measure(this.state.measure), change.cell);
  }

  open(cell: Cell, named: Reason): void {
    const from = document.activeElement;
    const reason = placed(named, cell, this.figures);
    this.fragment.keep(); // what to come back to
    this.set({ cell, reason, example: reason.example ?? this.state.example });
    this.opened.show(reason);
    if (narrow()) this.pull(true);
    this.fragment.keep();
    // Who came by the keyboard goes on in the open head, and from there back to the number.
    if (!(from instanceof HTMLElement) || !this.page.contains(from) || !from.matches(":focus-visible")) return;
    this.origin = from;
    this.opened.heading.focus();
  }

  look(example: number, state: ExplorerState): void {
    this.fragment.keep(); // what to come back to
    this.set({ example, reason: null });
    this.opened.look(state);
    if (narrow()) this.pull(true);
    this.fragment.keep();
  }

  private async link(): Promise<void> {
    const said = await copyLink(this.fragment.address);
    this.live.textContent = said;
    say(this.linked, said);
  }

  // Back to the number that led to the open head.
  private back(): void {
    const { origin } = this;
    this.origin = null;
    if (origin?.isConnected) origin.focus();
  }

  row(cell: Cell): void {
    this.pull(false);
    this.set({ large: false });
    const row = this.sections.reduce<HTMLElement | null>(
      (found, section) => found ?? section.row?.(cell) ?? null,
      null,
    );
    const there = row ?? this.page.querySelector("[data-section=heads]");
    unfold(there);
    there?.scrollIntoView({ block: "center" });
    row?.querySelector<HTMLElement>(".headname")?.focus({ preventScroll: true });
  }

  readonly light: Host["light"] = (make) => this.watch.light(make);
  readonly tip: Host["tip"] = (content, x, y) => this.pointer.show(content, x, y);

  private get side(): OpenedNow {
    const { example, large, reason } = this.state;
    return { ...this.now, example, large, reason, width: Math.max(220, this.aside.clientWidth - 40) };
  }

  // Where the sections are; made when they are there.
  private contents(): HTMLElement {
    const titled = this.page.querySelectorAll("section[id]");
    const entries = [...titled].map((section) =>
      h("li", h("a.link", { href: `#${section.id}` }, section.querySelector("h2")?.textContent)),
    );
    return h("nav.contents", { "aria-label": "Contents" }, h("ul", ...entries));
  }

  // Everything that follows from the state, the theme and the page's size.
  private refresh(): void {
    if (!this.opened) return;
    const { now, side } = this;
    if (!this.drawn.renewed(this.state, now.theme, now.width, now.printing, side.width)) return;
    this.opened.update(side);
    for (const section of this.sections) section.update?.(now);
    this.describe();
  }

  // Another theme, or paper: there nothing can be unfolded.
  private rethink(): void {
    if (!this.opened) return;
    const { printing } = this.watch;
    if (printing) this.folded ??= [...this.page.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    for (const details of this.folded ?? []) details.open = printing;
    if (!printing) this.folded = null;
    this.refresh();
    if (printing) vectors(this.page);
  }

  private describe(): void {
    const { theme, cell, large } = this.state;
    this.themeButton.replaceChildren(themeIcon(theme));
    for (const name of ["aria-label", "title"]) this.themeButton.setAttribute(name, `Theme: ${theme}`);
    this.root.classList.toggle("enlarged", large);
    this.page.inert = this.bar.inert = large;
    const { title } = this.figures.payload;
    document.title = large ? `${this.figures.name(cell)} · ${title}` : title;
    const open = this.aside.classList.contains("open");
    this.drawer.replaceChildren(h("b", this.figures.name(cell)), h("span.dim", open ? "close" : "show this head"));
    this.drawer.setAttribute("aria-expanded", String(open));
  }

  private pull(open = !this.aside.classList.contains("open")): void {
    this.aside.classList.toggle("open", open);
    this.describe();
  }

  private asked(): [Partial<State>, ExplorerState] {
    const { hash } = window.location;
    return [readFragment(hash, this.figures), read(hash, VIEW)];
  }

  // Whether others are open than in the latest entry of the history.
  private stepped(): boolean {
    const { cell, example, reason, large } = this.state;
    return this.entry.renewed(cell, example, reason, large, this.opened.scale);
  }

  private readBack(): void {
    // A link to a section: the browser goes there, and the address keeps the state.
    const section = sectionOf(window.location.hash);
    if (section) {
      unfold(section);
      section.scrollIntoView();
      this.state = { ...this.state, section: section.id };
      return this.fragment.keep();
    }
    const [state, view] = this.asked();
    this.set({ ...this.defaults, theme: this.state.theme, ...state });
    this.opened.restore(view);
    this.stepped();
    if (narrow()) this.pull(kept().drawer ?? Boolean(state.cell));
  }

  // Arrow keys on the grid move between heads; Escape leads back to the report.
  private readonly key = (event: KeyboardEvent): void => {
    if (event.key === "Escape") {
      if (this.state.large) return this.set({ large: false });
      if (this.origin && event.target instanceof Node && this.aside.contains(event.target)) return this.back();
      return this.pull(false);
    }
    const step = arrow(event);
    if (!step || modified(event) || !around(event, ".grid")) return;
    event.preventDefault();
    this.set({ cell: this.figures.step(this.state.cell, ...step) });
  };
}

/** What the history keeps beside the address. */
interface Kept {
  /** Whether the head lay over the report; undefined for an address that was typed. */
  readonly drawer?: boolean;
}

const kept = (): Kept => (window.history.state as Kept | null) ?? {};

const narrow = (): boolean => window.innerWidth < WIDE;

/** Open what an element is folded in. */
const unfold = (element: Element | null): void => element?.closest("details.more")?.setAttribute("open", "");

const sectionOf = (hash: string): Element | null =>
  document.getElementById(hash.slice(1))?.closest("section[id]") ?? null;

/**
 * Keep the page from counting as loaded until what this returns is called: a browser told to print it waits for that.
 */
function loading(): () => void {
  const frame = h("iframe", { hidden: true });
  document.body.append(frame);
  frame.contentDocument?.open();
  return () => {
    frame.contentDocument?.close();
    frame.remove();
  };
}

void begin<ReportPayload>(async (root, payload) => {
  const loaded = loading();
  try {
    const [figures] = await Promise.all([
      Figures.load(payload, new Store(fromPage)),
      document.fonts.load('400 13px "Inter"'),
    ]);
    const report = new Report(root, figures);
    const wait = (): void => {
      if (report.settled) root.dataset.ready = "true";
      else requestAnimationFrame(wait);
    };
    wait();
    unfold(report.section);
    report.section?.scrollIntoView();
  } finally {
    loaded();
  }
}, "report");
