// The report page: reads the payload that stands in the page, and keeps its parts in step.

import "./theme.css";
import "./page.css";
import { Charts } from "./charts";
import { fromPage, Store } from "./data";
import { h, s } from "./dom";
import { Figures } from "./figures";
import type { Cell, Component, Host, State, ThemeChoice } from "./host";
import { Measures } from "./measures";
import { Panel } from "./panel";
import { absent, lead, methods, provenance, shape } from "./prose";
import type { ReportPayload } from "./protocol";
import { readFragment, writeFragment } from "./state";
import { Table } from "./table";
import { ThemeWatch } from "./theme";
import { figureText, Tip } from "./tip";

const NEXT_THEME: Record<ThemeChoice, ThemeChoice> = { auto: "light", light: "dark", dark: "auto" };
const WIDE = 1080;

function themeIcon(choice: ThemeChoice): SVGElement {
  const icon = s("svg", { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true", fill: "none", stroke: "currentColor" });
  icon.setAttribute("stroke-width", "1.3");
  icon.setAttribute("stroke-linecap", "round");
  if (choice === "auto") icon.append(s("circle", { cx: 8, cy: 8, r: 5.2 }), s("path", { d: "M8 2.8a5.2 5.2 0 0 1 0 10.4z", fill: "currentColor" }));
  if (choice === "dark") icon.append(s("path", { d: "M13 9.6A5.6 5.6 0 0 1 6.4 3a5.4 5.4 0 1 0 6.6 6.6z" }));
  if (choice === "light") {
    icon.append(s("circle", { cx: 8, cy: 8, r: 2.7 }));
    icon.append(s("path", { d: "M8 1.6v1.2M8 13.2v1.2M1.6 8h1.2M13.2 8h1.2M3.5 3.5l.8.8M11.7 11.7l.8.8M12.5 3.5l-.8.8M4.3 11.7l-.8.8" }));
  }
  return icon;
}

interface ReportProps {
  figures: Figures;
  store: Store;
}

class Report implements Host, Component<ReportProps> {
  private readonly page = h("main.page");
  private readonly aside = h("aside.side");
  private readonly live = h("div.hidden", { role: "status", "aria-live": "polite" });
  private readonly themeButton: HTMLButtonElement = h("button.icon", {
    type: "button",
    onclick: () => this.set({ theme: NEXT_THEME[this.state.theme] }),
  });
  private readonly drawer: HTMLButtonElement = h("button.drawer", { type: "button", "aria-expanded": "false", onclick: () => this.pull() });
  private readonly watch: ThemeWatch;
  private readonly pointer: Tip;
  private readonly defaults: State;
  private readonly measures: Measures;
  private readonly charts: Charts[];
  private readonly table: Table;
  private readonly panel: Panel;
  private readonly figures: Figures;
  private readonly sizes = new ResizeObserver(() => this.refresh());
  private state: State;
  private written = "";

  constructor(
    private readonly root: HTMLElement,
    { figures, store }: ReportProps,
  ) {
    this.figures = figures;
    const { payload } = figures;
    const first = figures.measures[0];
    if (!first) throw new Error("this report holds no measures");
    this.defaults = { cell: figures.opening, example: 0, measure: first.name, theme: "auto" };
    this.state = { ...this.defaults, ...this.fragment() };
    root.className = "hs";
    this.watch = new ThemeWatch(root, () => this.refresh());
    this.watch.choose(this.state.theme);
    root.append(this.bar(payload), h("div.columns", {}, this.page, this.aside), this.live);
    this.pointer = new Tip(root);

    this.page.append(lead(payload, figures, this));
    const { cell } = this.state;
    const measure = figures.measure(this.state.measure);
    const theme = this.watch.theme;
    const width = this.width();
    this.measures = new Measures(this.section("Every head", "Layers down, heads across. Choose a measure to see it large; choose a head to see where it looks."), { figures, measure, cell, theme, width }, this);
    this.charts = this.groups().map(([title, about, measures]) => {
      const section = this.section(title, about);
      return new Charts(section, { figures, measures, cell, width }, this);
    });
    this.table = new Table(this.section("All heads, all figures"), { figures, cell, measure }, this);
    const missing = absent(payload);
    if (missing) this.page.append(missing);
    this.page.append(methods(figures, this), provenance(payload));

    const inner = h("div.inner");
    this.aside.append(this.drawer, inner);
    const room = { width: this.panelWidth(), height: window.innerHeight };
    this.panel = new Panel(inner, { figures, store, measure, cell, example: this.state.example, theme, ...room }, this);
    this.describe();
    window.addEventListener("hashchange", this.readBack);
    root.addEventListener("keydown", this.key);
    this.sizes.observe(this.page);
    this.sizes.observe(this.aside);
  }

  /** A report's figures do not change: its state does. */
  update(): void {
    this.refresh();
  }

  destroy(): void {
    this.sizes.disconnect();
    window.removeEventListener("hashchange", this.readBack);
    this.root.removeEventListener("keydown", this.key);
    for (const part of [this.measures, ...this.charts, this.table, this.panel, this.pointer, this.watch]) part.destroy();
    this.root.replaceChildren();
  }

  set(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    if (change.theme) this.watch.choose(change.theme);
    this.refresh();
    const fragment = writeFragment(this.state, this.defaults, this.figures, this.figures.payload.examples.length);
    this.written = fragment;
    try {
      history.replaceState(null, "", fragment);
    } catch {
      // A page inside another may not be allowed to change its address.
    }
    if (change.cell) this.live.textContent = figureText(this.figures, this.figures.measure(this.state.measure), change.cell);
  }

  open(cell: Cell): void {
    this.set({ cell });
    if (this.narrow) this.pull(true);
  }

  tip(content: Node | null, x?: number, y?: number): void {
    this.pointer.show(content, x, y);
  }

  private get narrow(): boolean {
    return window.innerWidth < WIDE;
  }

  private bar({ model, layers }: ReportPayload): HTMLElement {
    const kind = model.causal ? ", causal" : "";
    return h(
      "header.topbar",
      {},
      h("div.brand", {}, h("b", {}, "headscope"), h("span.model", {}, model.name), layers.length > 0 && h("span.dim", {}, shape(this.figures.payload) + kind)),
      h("div.right", {}, this.themeButton),
    );
  }

  private section(title: string, about?: string): HTMLElement {
    const section = h("section", {}, h("h2", {}, title), about ? h("p.about", {}, about) : null);
    this.page.append(section);
    return section;
  }

  private groups(): [string, string, Figures["measures"]][] {
    const shares = this.figures.measures.filter((measure) => measure.isShare);
    const rest = this.figures.measures.filter((measure) => !measure.isShare);
    const key = "Each point is a head, the grey line the mean of a layer, the dashed line uniform attention.";
    const groups: [string, string, Figures["measures"]][] = [
      ["Where heads look, by layer", `${key} Heads that give more than half of their attention are named.`, shares],
      ["How widely heads look, by layer", `${key} A head at 0 nats looks at one token.`, rest],
    ];
    return groups.filter(([, , measures]) => measures.length > 0);
  }

  private width(): number {
    return Math.max(240, this.page.clientWidth);
  }

  private panelWidth(): number {
    const width = this.aside.clientWidth;
    if (!this.narrow) return Math.max(220, width - 4);
    return Math.max(220, width >= 620 ? (width - 40 - 32) / 2 : width - 40);
  }

  private last = "";

  // Everything that follows from the state, the theme and the page's size.
  private refresh(): void {
    if (!this.panel) return;
    const { figures, state } = this;
    const theme = this.watch.theme;
    const measure = figures.measure(state.measure);
    const width = this.width();
    const room = { width: this.panelWidth(), height: window.innerHeight };
    const now = JSON.stringify([state, theme, width, room]);
    if (now === this.last) return;
    this.last = now;
    const { cell } = state;
    this.panel.update({ measure, cell, theme, example: state.example, ...room });
    this.measures.update({ measure, cell, theme, width });
    for (const charts of this.charts) charts.update({ cell, width });
    this.table.update({ cell, measure });
    this.describe();
  }

  private describe(): void {
    const { theme, cell } = this.state;
    this.themeButton.replaceChildren(themeIcon(theme));
    this.themeButton.setAttribute("aria-label", `Theme: ${theme}`);
    this.themeButton.title = `Theme: ${theme}`;
    const open = this.aside.classList.contains("open");
    this.drawer.replaceChildren(h("b", {}, this.figures.name(cell)), h("span.dim", {}, open ? "close" : "show this head"));
    this.drawer.setAttribute("aria-expanded", String(open));
  }

  private pull(open = !this.aside.classList.contains("open")): void {
    this.aside.classList.toggle("open", open);
    this.describe();
  }

  private fragment(): Partial<State> {
    return readFragment(window.location.hash, this.figures, this.figures.payload.examples.length);
  }

  private readonly readBack = (): void => {
    if (window.location.hash !== this.written) this.set(this.fragment());
  };

  // Arrow keys on the grid move between heads; Escape closes the drawer.
  private readonly key = (event: KeyboardEvent): void => {
    if (event.key === "Escape") return this.pull(false);
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const target = event.target instanceof Element ? event.target : null;
    if (!step || event.altKey || event.ctrlKey || event.metaKey || !target?.closest(".grid")) return;
    event.preventDefault();
    this.set({ cell: this.figures.step(this.state.cell, step[0]!, step[1]!) });
  };
}

async function main(): Promise<void> {
  const root = document.getElementById("headscope");
  if (!root) return;
  try {
    const payload = JSON.parse(document.getElementById("headscope-payload")?.textContent ?? "") as ReportPayload;
    const store = new Store(fromPage);
    const [figures] = await Promise.all([Figures.load(payload, store), document.fonts.load('400 13px "Inter"')]);
    new Report(root, { figures, store });
    root.dataset.ready = "true";
  } catch (error) {
    // Never a blank page: say what is wrong.
    const text = error instanceof Error ? error.message : String(error);
    root.className = "hs";
    root.append(h("p.failure", { role: "alert" }, `This report cannot be shown: ${text}.`));
    throw error;
  }
}

void main();
