// A saved page of explorers, sources of answers and figures: each is built when it comes near the screen, or when there
// is time, as paper shows all; each explorer keeps its state in the address.

import "./theme.css";
import "./page.css";
import "./explorer.css";
import type { ExplorerState, FiguresPayload, ViewsPayload } from "../protocol";
import { Store } from "../scene/data";
import { Of } from "../scene/made";
import { begins, DEFAULTS, read, settle, valuesOf, write } from "../scene/state";
import { begin } from "./begin";
import { h } from "./dom";
import { fromPage } from "./embedded";
import { Explorer } from "./explorer";
import { Film } from "./film";
import { Fragment } from "./fragment";
import type { ExplorerHost } from "./host";
import { LabBox } from "./lab";
import { NearView } from "./nearview";
import { download } from "./save";
import { SourcesView } from "./sourcesview";

const NEAR = "600px";

/** When the browser has time; Safari does not say. */
const whenIdle = (job: () => void): void =>
  void ("requestIdleCallback" in window ? window.requestIdleCallback(job) : setTimeout(job, 200));

class Page {
  private readonly views: (Explorer | SourcesView | NearView | Film | null)[];
  private readonly fragments: string[];
  private readonly system = window.matchMedia("(prefers-color-scheme: dark)");
  private readonly near: IntersectionObserver;
  private readonly lab: LabBox | null;
  private readonly fragment = new Fragment(
    () => this.fragments.filter(Boolean).join("&"),
    () => this.readBack(),
    () => this.stepped(),
  );
  private last = 0;
  /** The open heads and scales of the latest entry of the history. */
  private readonly entry = new Of();

  constructor(
    private readonly root: HTMLElement,
    private readonly payload: ViewsPayload,
  ) {
    this.lab = payload.lab
      ? new LabBox(root, payload.lab, { go: (_, state) => this.showTask(state), renew: () => this.surroundings() })
      : null;
    this.views = payload.views.map(() => null);
    this.fragments = payload.views.map(() => "");
    this.near = new IntersectionObserver(
      (entries) => entries.forEach(({ isIntersecting, target }) => isIntersecting && this.build(target as HTMLElement)),
      { rootMargin: NEAR },
    );
    payload.views.forEach((_, place) => {
      const element = h("div.hs.hx.waiting", { "data-view": place });
      element.dataset.theme = this.system.matches ? "dark" : "light";
      root.append(element);
      if (place === 0) this.build(element);
      else this.near.observe(element);
    });
    this.stepped();
    root.setAttribute("role", "main");
    if (payload.views[0]?.kind === "explorer") root.firstElementChild?.prepend(h("h1.hidden", document.title));
    this.system.addEventListener("change", () => {
      this.surroundings();
      this.tellLab();
    });
    const print = (on: boolean): void => {
      if (on) this.waiting.forEach((element) => this.build(element));
      this.views.forEach((view) => view?.print(on));
    };
    window.matchMedia("print").addEventListener("change", ({ matches }) => print(matches));
    window.addEventListener("beforeprint", () => print(true));
    window.addEventListener("afterprint", () => print(false));
    document.addEventListener("keydown", (event) => {
      if (event.target === document.body) this.views[this.last]?.key(event);
    });
  }

  private prefix(place: number): string {
    return this.payload.views.length > 1 ? `${place}.` : "";
  }

  private showTask(state: ExplorerState): void {
    this.beside?.update({ ...DEFAULTS, ...state });
    this.tellLab();
  }

  /** The view beside the tasks of a lab. */
  private get beside(): Explorer | null {
    const [view] = this.views;
    return view instanceof Explorer ? view : null;
  }

  private tellLab(): void {
    const view = this.beside;
    if (view) this.lab?.looked({ changes: [], state: view.state }, view.theme);
  }

  /** Where views stand that are not built yet. */
  private get waiting(): readonly HTMLElement[] {
    return [...this.root.querySelectorAll<HTMLElement>(".waiting")];
  }

  // One view after another is built while nothing else is to be done: a browser that prints does not wait for what it
  // begins then.
  private rest(): void {
    const [next] = this.waiting;
    if (!next) return;
    whenIdle(() => {
      if (this.settled && next.classList.contains("waiting")) this.build(next);
      this.rest();
    });
  }

  private build(element: HTMLElement): void {
    this.near.unobserve(element);
    const place = Number(element.dataset.view);
    const payload = this.payload.views[place]!;
    const store = new Store((name) => fromPage(`${place}-${name}`));
    element.classList.remove("waiting");
    if (payload.kind === "figures") {
      element.classList.replace("hx", "alone");
      element.replaceChildren(figures(payload));
      return;
    }
    if (payload.kind === "charts") {
      element.classList.replace("hx", "alone");
      this.views[place] = new Film(element, payload, () => this.system.matches);
      return;
    }
    if (payload.kind === "sources" || payload.kind === "similar") {
      element.classList.remove("hs", "hx");
      const host = { dark: () => this.system.matches, save: download };
      this.views[place] =
        payload.kind === "similar"
          ? new NearView(element, payload, host)
          : new SourcesView(element, payload, store, host);
      return;
    }
    const begun = begins(payload.state, payload);
    const base = settle(begun, payload);
    const prefix = this.prefix(place);
    const asked = read(window.location.hash, prefix);
    const host: ExplorerHost = {
      changed: (state) => {
        this.fragments[place] = write(state, base, prefix);
        this.last = place;
        this.tellLab();
        this.fragment.changed();
      },
      address: () => this.fragment.address,
      dark: () => this.system.matches,
      asks: () => this.lab?.asks ?? false,
      save: download,
    };
    this.views[place] = new Explorer(element, { payload, store, state: { ...begun, ...asked } }, host);
    this.fragments[place] = write(settle({ ...begun, ...asked }, payload), base, prefix);
    this.tellLab();
    element.addEventListener("pointerdown", () => (this.last = place));
  }

  private surroundings(): void {
    this.views?.forEach((view) => view?.surroundings());
  }

  private readBack(): void {
    this.views.forEach((view, place) => {
      const payload = this.payload.views[place]!;
      if (!(view instanceof Explorer) || payload.kind !== "explorer") return;
      const begun = begins(payload.state, payload);
      view.update({ ...DEFAULTS, ...begun, ...read(window.location.hash, this.prefix(place)) });
      this.fragments[place] = write(view.state, settle(begun, payload), this.prefix(place));
    });
    this.stepped();
    this.tellLab();
  }

  /** Whether others are open than in the latest entry. */
  private stepped(): boolean {
    return this.entry.renewed(
      this.views.map((view) => view instanceof Explorer && valuesOf(view.state, ["scale", "layer", "heads"])),
    );
  }

  /** Everything that was begun has been drawn. */
  get settled(): boolean {
    return this.views.every((view) => view === null || view.settled);
  }

  ready(): void {
    const wait = (): void => {
      if (!this.settled) requestAnimationFrame(wait);
      else requestAnimationFrame(() => requestAnimationFrame(() => this.done()));
    };
    wait();
  }

  private done(): void {
    this.root.dataset.drawn = String(Math.round(performance.now()));
    this.root.dataset.ready = "true";
    this.rest();
  }
}

/** A table as it is read. */
function figures({ title, columns, rows }: FiguresPayload): HTMLElement {
  const numbers = columns.map((_, at) => rows.some((row) => /^[-\d.]+$/.test(row[at]!)));
  const cells = (tag: "th" | "td", row: readonly string[]): HTMLElement =>
    h("tr", ...row.map((text, at) => h(numbers[at] ? `${tag}.number` : tag, text)));
  const head = h("thead", cells("th", columns));
  const body = h("tbody", ...rows.map((row) => cells("td", row)));
  return h("div.figures", h("h1.about", title), h("div.moves", { tabindex: 0 }, h("table", head, body)));
}

void begin<ViewsPayload>((root, payload) => new Page(root, payload).ready());
