// The explorer: one head at three distances, of one input or two.

import { forPaper } from "../draw/canvas";
import type { ExplorerState } from "../protocol";
import type { Side } from "../scene/axis";
import type { Theme } from "../scene/color";
import { reason } from "../scene/format";
import { alike, Made, Of } from "../scene/made";
import { type Focus, type Owner, Scene } from "../scene/scene";
import { Data } from "../scene/source";
import { begins, changed, type Full, settle } from "../scene/state";
import { BertViz } from "./bertviz";
import { clicked } from "./between";
import { used } from "./controls";
import { answered, h, modified } from "./dom";
import { Finding } from "./finding";
import { turnAll } from "./fold";
import { HeadBar } from "./headbar";
import type { ExplorerHost, ExplorerProps, Question } from "./host";
import { action, keysDialog } from "./keys";
import { remember, wantsAll } from "./memory";
import { HEEDS, Pane, type Place } from "./panes";
import { prefetch } from "./prefetch";
import { copyLink, skip, toolbar } from "./roving";
import { picture } from "./save";
import { Tip } from "./tip";
import { Toolbar } from "./toolbar";

const WIDE = 1040;
const TINY = 600;
const LOW = 500;
/** Between the margins of A4, in CSS pixels. */
const PAPER = 687;
const notShown = (error: unknown): string => `This cannot be shown: ${reason(error)}.`;

export class Explorer implements Owner {
  state: Full;
  theme: Theme = "light";
  printing = false;
  private data: Data;
  private readonly tipBox: Tip;
  private readonly toolbar: Toolbar;
  private readonly headbar: HeadBar;
  private readonly bertviz: BertViz | null;
  private readonly shared = h("div.shared");
  private readonly main = h("div.main");
  private readonly help = keysDialog();
  private readonly live = h("div.hidden", { role: "status", "aria-live": "polite" });
  private readonly sizes: ResizeObserver;
  private readonly stops: readonly (() => void)[];
  private panes: Pane[] = [];
  /** What the panes are of. */
  private readonly paned = new Of();
  /** They do not stand: drawing failed, or the explorer is closed. */
  private gone = false;
  /** The state that was drawn last. */
  private shown: Full | null = null;
  private inks = new Map<string, string>();
  private inkTheme = "";
  private readonly answers = new Made<Promise<Float32Array>>(200);
  private width = 0;
  private frame = 0;
  private turn = 0;
  private readonly finding = new Finding();
  private asking = false;
  /** Only the controls of a first look are shown; the others are in a panel. */
  private quiet = !wantsAll();

  constructor(
    readonly root: HTMLElement,
    props: ExplorerProps,
    readonly host: ExplorerHost,
  ) {
    const { payload, store } = props;
    this.data = new Data(payload, store, host.compute !== undefined);
    this.state = settle(begins(props.state ?? payload.state, payload), payload);
    root.classList.add("hs", "hx");
    root.tabIndex = -1;
    this.toolbar = this.controls();
    this.headbar = new HeadBar(this);
    this.stops = this.toolbars();
    this.bertviz = payload.bertviz ? new BertViz({ root, set: this.set, start: (row) => this.start(row) }) : null;
    root.classList.toggle("bertvizes", this.bertviz !== null);
    root.append(
      skip("Skip to the picture", () => this.panes[0]?.entrance ?? null),
      this.toolbar.bar,
      this.toolbar.unseen,
      this.toolbar.tools,
      this.shared,
      this.main,
      this.toolbar.status,
      this.live,
      this.help,
    );
    if (this.bertviz) this.toolbar.tools.before(this.bertviz.root);
    this.tipBox = new Tip(root);
    root.addEventListener("keydown", this.onKey);
    this.sizes = new ResizeObserver(() => {
      if (Math.abs(root.clientWidth - this.width) < 1) return;
      void this.render();
    });
    this.sizes.observe(root);
    this.applyTheme();
    void this.render();
  }

  /** Show another payload in the place of this one: what is drawn stands until the new pictures do. */
  renew({ payload, store, state }: ExplorerProps): void {
    this.data = new Data(payload, store, this.host.compute !== undefined);
    this.answers.forget();
    this.tip(null);
    this.state = settle({ ...this.state, zoom: null, ...state }, payload);
    void this.render();
  }

  private controls(): Toolbar {
    const link = this.host.address && { link: () => void this.link() };
    return new Toolbar(this.set, {
      find: (text, next) => {
        const somewhere = this.finding.find(this.panes, text, next, this.set);
        this.toolbar.missed(text.trim() !== "" && !somewhere);
      },
      help: () => this.help.showModal(),
      keep: (keep) => this.keep(keep),
      dark: () => this.host.dark(),
      save: (kind) => void this.save(kind),
      ...link,
    });
  }

  private toolbars(): (() => void)[] {
    const { controls, tools } = this.toolbar;
    return [toolbar(controls, "Page"), toolbar(tools, "What is shown"), toolbar(this.headbar.root, "Layer and heads")];
  }

  /** Take over a state from outside. */
  update(state: ExplorerState): void {
    this.apply(settle({ ...this.state, ...state }, this.data.payload), false);
  }

  /** The surroundings have become light or dark, or say otherwise what may be said. */
  surroundings(): void {
    this.applyTheme();
    void this.render();
  }

  /**
   * The page is about to be printed, or has been: all that was seen is drawn anew within the width of paper, before
   * this returns.
   */
  print(on: boolean): void {
    if (on === this.printing || this.panes.length === 0) return;
    this.printing = on;
    forPaper(on);
    this.root.classList.toggle("printing", on);
    this.root.style.width = on ? `${PAPER}px` : "";
    this.tip(null);
    this.applyTheme();
    if (this.root.dataset.busy === undefined) this.draw(true);
  }

  destroy(): void {
    this.turn++;
    this.gone = true;
    cancelAnimationFrame(this.frame);
    this.sizes.disconnect();
    this.root.removeEventListener("keydown", this.onKey);
    for (const pane of this.panes) pane.destroy();
    this.root.replaceChildren();
  }

  /** Everything has been drawn. */
  get settled(): boolean {
    return this.root.dataset.busy === undefined && this.drawn;
  }

  readonly set = (change: Partial<Full>): void => {
    const lacking = this.panes[0] ? this.data.lacks(change, this.panes[0].scene.part) : null;
    if (lacking) return void this.ask(lacking, change);
    // A head that the next layer lacks gives way to one that is telling; places on another axis mean other tokens.
    const moved = change.part !== undefined && change.part !== this.state.part;
    const none = moved && { pin: null, between: null, zoom: null, ...this.regained() };
    const keep = { ...this.state, ...none, ...change };
    if (["filter", "special", "sinks", "unit", "unfolded"].some((key) => key in change)) keep.zoom = null;
    this.apply(settle(keep, this.data.payload), true);
  };

  // What the page began with and this part could not show: another part may.
  private regained(): Partial<Full> {
    const { query, key } = this.panes[0]?.scene.part ?? {};
    const { picture, unit } = this.data.payload.state;
    return {
      ...(picture && !query?.boxes && !key?.boxes ? { picture } : {}),
      ...(unit && !query?.words && !key?.words ? { unit } : {}),
    };
  }

  // What needs a matrix that is not here waits until the kernel has computed it.
  private async ask(name: string, change: Partial<Full>): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    this.toolbar.asking(name);
    let problem = "";
    try {
      await this.host.compute!(name);
    } catch (error) {
      problem = `This cannot be computed: ${reason(error)}`;
    }
    this.asking = false;
    this.toolbar.asking(null, problem);
    if (!problem) this.set(change);
  }

  private apply(next: Full, tell: boolean): void {
    const before = this.state;
    const keys = changed(before, next);
    if (keys.length === 0) return;
    this.state = next;
    this.tip(null);
    if (keys.includes("theme")) this.applyTheme();
    if (tell) this.host.changed(next);
    if (keys.includes("layer") || keys.includes("heads"))
      this.live.textContent = `Layer ${next.layer}, ${next.heads.length > 1 ? "heads" : "head"} ${next.heads.join(", ")}`;
    // What is being drawn is drawn with it.
    if (this.root.dataset.busy === undefined && keys.every((key) => HEEDS.focus.has(key))) {
      for (const pane of this.panes) {
        pane.scene.hovered = null;
        pane.focus();
        if (keys.some((key) => HEEDS.rest.has(key))) pane.rest();
      }
      if (!this.drawn) this.draws();
      return;
    }
    void this.render(keys);
  }

  open(layer: number, head: number, add: boolean): void {
    const { state } = this;
    const scale = state.scale === "model" ? "head" : state.scale;
    if (!add || layer !== state.layer) return this.set({ layer, heads: [head], scale });
    const without = state.heads.filter((each) => each !== head);
    this.set({
      heads: state.heads.includes(head) ? (without.length > 0 ? without : [head]) : [...state.heads, head],
      scale,
    });
  }

  hover(scene: Scene, focus: Focus | null): void {
    // What still stands may have tokens that are no longer shown.
    const gone = (place: number | null | undefined, { items }: Side): boolean => place != null && !items[place];
    if (gone(focus?.from, scene.rows) || gone(focus?.to, scene.columns)) return;
    this.look(scene, "hovered", focus);
  }

  follow(scene: Scene, focus: Focus | null): void {
    this.look(scene, "followed", focus);
  }

  private look(scene: Scene, how: "hovered" | "followed", focus: Focus | null): void {
    if (alike(scene[how], focus)) return;
    scene[how] = focus;
    this.panes.find((pane) => pane.scene === scene)?.focus();
  }

  pin(scene: Scene, side: "from" | "to", place: number): void {
    this.choose(scene, clicked(scene.pinned, side, place));
  }

  choose(scene: Scene, { from, to }: { from: number | null; to: number | null }): void {
    const row = from === null ? undefined : scene.rows.items[from];
    const column = to === null ? undefined : scene.columns.items[to];
    if (row && column) {
      // The one that was there before stays when the other is let go.
      const second = scene.pinned?.to === to && scene.pinned?.from !== from;
      const pin = second ? ["to", column.start] : ["from", row.start];
      return this.set({ between: [row.start, column.start], pin });
    }
    this.set({ between: null, pin: row ? ["from", row.start] : column ? ["to", column.start] : null });
  }

  readonly tip: Owner["tip"] = (content, at, where) => this.tipBox.show(content, at?.clientX, at?.clientY, where);

  ink = (name: string): string => {
    if (this.inkTheme !== this.theme) {
      this.inkTheme = this.theme;
      this.inks.clear();
    }
    let color = this.inks.get(name);
    if (color === undefined) this.inks.set(name, (color = getComputedStyle(this.root).getPropertyValue(name).trim()));
    return color;
  };

  exact(scene: Scene, head: number, quantity: string, row: number): Promise<Float32Array> | null {
    const { state, host } = this;
    // Blocks of patches are no rows of the model's.
    if (!host.exact || this.data.payload.exact || state.renormalise || scene.part.query.counts) return null;
    const question: Question = {
      input: scene.place,
      part: scene.part.name,
      layer: state.layer,
      head,
      quantity,
      side: "from",
      place: row,
    };
    return this.answers.of(Object.values(question), () => host.exact!(question));
  }

  private applyTheme(): boolean {
    const { theme } = this.state;
    this.theme = this.printing ? "light" : theme === "auto" ? (this.host.dark() ? "dark" : "light") : theme;
    if (this.root.dataset.theme === this.theme) return false;
    this.root.dataset.theme = this.theme;
    return true;
  }

  // The panes that the state asks for: those that are there, or new ones.
  private build(): Pane[] {
    const { side, input } = this.state;
    if (!this.gone && !this.paned.stale(...this.of)) return this.panes;
    const scene = (place: number, against: Scene | null = null): Scene => new Scene(this.data, place, this, against);
    const places = side === "one" ? [scene(input)] : side === "both" ? [scene(0), scene(1)] : [scene(0, scene(1))];
    return places.map((each) => new Pane(each));
  }

  private get of(): readonly unknown[] {
    const { side, input } = this.state;
    return [this.data, side, side === "one" ? input : null];
  }

  private take(panes: Pane[]): void {
    if (panes === this.panes) return;
    this.paned.renewed(...this.of);
    this.gone = false;
    for (const pane of this.panes) pane.destroy();
    this.panes = panes;
    delete this.root.dataset.failed;
    this.main.replaceChildren(...panes.map((pane) => pane.root));
  }

  private async render(keys: readonly (keyof Full)[] = []): Promise<void> {
    const turn = ++this.turn;
    const first = this.panes.length === 0;
    this.root.dataset.busy = "true";
    let built: Pane[] | null = null;
    try {
      built = this.build();
      const renewed = !first && (this.gone || this.panes[0]!.scene.data !== this.data);
      for (const pane of built) pane.scene.refresh();
      const missing = built.flatMap((pane) => pane.missing());
      if (missing.length > 0) await Promise.all(missing);
      if (first) await document.fonts.load("400 13px Inter").catch(() => undefined);
      if (turn !== this.turn) return;
      this.take(built);
      built = null;
      this.draw(renewed || keys.every((key) => HEEDS.rest.has(key) && !HEEDS.main.has(key) && !HEEDS.focus.has(key)));
      this.shown = this.state;
      if (!this.asking) this.toolbar.asking(null);
    } catch (error) {
      if (turn === this.turn) this.stay(error);
    } finally {
      // Another picture was asked for while this one's maps were on their way.
      if (built && built !== this.panes) for (const pane of built) pane.destroy();
    }
  }

  // What was drawn last stays, and above it stands why it is not what was asked for.
  private stay(error: unknown): void {
    if (!this.shown || this.gone) return this.fail(error);
    this.state = this.shown;
    if (this.paned.stale(...this.of)) return this.fail(error);
    this.host.changed(this.state);
    for (const pane of this.panes) pane.scene.refresh();
    this.draw(true);
    this.toolbar.asking(null, notShown(error));
  }

  // Never a blank page, nor one that stays busy: what went wrong is said in its place.
  fail(error: unknown): void {
    this.gone = true;
    this.root.dataset.failed = "";
    this.main.replaceChildren(h("p.failure", { role: "alert" }, notShown(error)));
    delete this.root.dataset.busy;
  }

  private draw(atOnce: boolean): void {
    const { root, state } = this;
    this.width = root.clientWidth;
    if (this.width === 0) return;
    const wide = this.width >= WIDE;
    root.classList.toggle("wide", wide);
    root.classList.toggle("narrow", !wide);
    root.classList.toggle("tiny", this.width < TINY);
    root.dataset.scale = state.scale;
    root.dataset.side = state.side;
    const inner = this.width - 2 * (this.printing ? 0 : wide ? 32 : this.width < TINY ? 14 : 20);
    const half = this.panes.length === 2 && this.width >= 720;
    // In a low window the grid stands beside the head, for above it would leave it no room.
    const low = window.innerHeight < LOW && this.width >= TINY && !half;
    this.main.classList.toggle("two", half);
    const place: Place = {
      form: low ? "wide" : this.panes.length === 2 ? "half" : wide ? "wide" : "narrow",
      width: half ? Math.floor((inner - 40) / 2) : inner,
      room: window.innerHeight - 160,
      screen: window.innerHeight,
    };
    const { quiet } = this;
    const lead = this.panes[0]!;
    const slot = quiet ? this.toolbar.slot : this.panes.length === 2 ? this.shared : lead.slot;
    if (this.headbar.root.parentElement !== slot) slot.append(this.headbar.root);
    this.headbar.update(lead.scene, quiet ? this.toolbar.panel.root : null);
    root.classList.toggle("quiet", quiet);
    this.toolbar.show(
      state,
      this.panes.map((pane) => pane.scene),
      quiet,
      used(root, state),
    );
    this.bertviz?.show(lead.scene);
    this.shared.hidden = quiet || this.panes.length !== 2 || state.scale === "model";
    for (const pane of this.panes) pane.main(place);
    cancelAnimationFrame(this.frame);
    const rest = (): void => {
      try {
        for (const pane of this.panes) pane.rest();
      } catch (error) {
        return this.fail(error);
      }
      for (const stop of [...this.stops, ...this.panes.map((pane) => pane.stops)]) stop();
      if (!this.drawn) this.draws();
      delete root.dataset.busy;
      prefetch(this.panes.map(({ scene }) => scene));
    };
    if (atOnce) rest();
    else this.frame = requestAnimationFrame(rest);
  }

  private get drawn(): boolean {
    return this.panes.length > 0 && this.panes.every((pane) => pane.settled);
  }

  // What is pointed at stands; the mark is there until the rest has followed.
  private draws(): void {
    const { root } = this;
    if (root.dataset.drawing) return;
    root.dataset.drawing = "true";
    const look = (): void => {
      if (this.drawn || this.gone) delete root.dataset.drawing;
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }

  private keep(keep: boolean): void {
    this.quiet = !keep;
    remember(keep);
    void this.render();
  }

  // The first token of a row of queries.
  private start(row: Element): number | null {
    const pane = this.panes.find(({ root }) => root.contains(row));
    return pane?.scene.rows.items[[...row.parentElement!.children].indexOf(row)]?.start ?? null;
  }

  private search(): void {
    if (this.quiet) this.toolbar.panel.open(true);
    this.toolbar.search.focus();
  }

  private async link(): Promise<void> {
    this.live.textContent = await copyLink(this.host.address!());
    this.toolbar.copied(this.live.textContent);
  }

  private async save(kind: "svg" | "png"): Promise<void> {
    // Not a picture that is half drawn; while it is waited for the state may change.
    while (this.root.dataset.busy || this.root.dataset.drawing)
      await new Promise((frame) => requestAnimationFrame(frame));
    const { state, panes } = this;
    const lacking = panes.find((pane) => pane.scene.lacking)?.scene.lacking;
    if (lacking) return this.toolbar.asking(null, `There is nothing to save. ${lacking}`);
    const lead = panes[0]!;
    const element = panes.length > 1 ? this.main : state.scale === "model" ? lead.grid.root : lead.right;
    const name = `headscope-${state.scale === "model" ? "model" : `L${state.layer}H${state.heads.join("-")}`}`;
    try {
      const shown = { ...state, theme: this.theme };
      this.host.save(`${name}.${kind}`, await picture(kind, this.data, shown, element.clientWidth, this.host));
    } catch (error) {
      this.toolbar.asking(null, `This cannot be saved: ${reason(error)}.`);
    }
  }

  private readonly onKey = (event: KeyboardEvent): void => this.key(event);

  /** What a key does; also for keys that the page hands on. */
  key(event: KeyboardEvent): void {
    const target = event.target instanceof Element ? event.target : null;
    const typing = target?.matches("input:not([type=range]), select, textarea") === true;
    if (modified(event) || this.help.open || typing) return;
    if (target?.matches("input[type=range]") && event.key.startsWith("Arrow")) return;
    if ((event.key === "Enter" || event.key === " ") && target?.matches("button")) return;
    const { state, headbar, help, set } = this;
    if (event.key === "Escape" && this.toolbar.shut()) return;
    const matrix = state.scale === "head" && state.picture === "matrix" ? this.panes[0]?.pictures.matrix : undefined;
    const sound = state.scale === "head" && state.picture === "image" ? this.panes[0]?.pictures.image.sound : null;
    const act = action(event.key, {
      state,
      headbar,
      turned: this.panes[0]?.grid.turned ?? false,
      matrix: matrix ?? sound ?? undefined,
      sound,
      fold: () => set({ unfolded: turnAll(this.panes[0]!.scene) }),
      set,
      search: () => this.search(),
      help: () => help.showModal(),
    });
    if (!act) return;
    answered(event);
    act();
  }
}
