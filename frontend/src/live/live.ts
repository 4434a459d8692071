// Type and look: the boxes, the explorer that follows, what the model says, what if, and who did it.

import type {
  ExplorerState,
  LiveExample,
  LiveInfo,
  LiveInput,
  NearAnswer,
  Prediction,
  SaysAnswer,
  Shown,
  WhyAnswer,
  WithoutAnswer,
} from "../protocol";
import type { Store } from "../scene/data";
import { code, reason } from "../scene/format";
import { Of } from "../scene/made";
import { DEFAULTS, type Full, partOf } from "../scene/state";
import { h, modified } from "../ui/dom";
import { Explorer } from "../ui/explorer";
import type { ExplorerHost, ExplorerProps } from "../ui/host";
import { COPIED, copyLink } from "../ui/roving";
import { download } from "../ui/save";
import { type Asked, History, inPython, write } from "./asked";
import { ChangesBox } from "./changes";
import { NearBox } from "./near";
import { SaysBox } from "./says";
import { Session } from "./session";
import { Story } from "./story";
import { TextsBox } from "./texts";
import { WhoBox } from "./who";
import { WhyBox } from "./why";
import { type Carrier, StaleError } from "./wire";

/** From this width on what the model says stands beside the pictures. */
const WIDE = 1180;

/** What has a use of its own for the space bar. */
const OWN_SPACE = "input, textarea, select, button, a, [role=option], [role=listbox]";

export interface LiveHost {
  /** What is asked or shown has changed. */
  changed(asked: Asked, state: Full): void;
  address?(): string;
  dark(): boolean;
  /** As of an explorer's host. */
  asks?(): boolean;
}

/** What is known before the model answers: what it is, and a picture of what it is to read. */
interface Known {
  readonly info: LiveInfo;
  readonly picture?: ExplorerProps;
}

/** The head and the token that an example opens. */
const opens = ({ layer, head, place }: LiveExample): ExplorerState => ({
  ...(layer === undefined ? {} : { layer }),
  ...(head === undefined ? {} : { heads: [head], scale: "head" }),
  pin: place === undefined ? null : ["from", place],
  between: null,
});

export class Live {
  private readonly session: Session;
  private readonly history: History;
  private readonly pinned = new Of();
  private readonly known = new Of();
  private readonly texts: TextsBox;
  private readonly says: SaysBox;
  private readonly changes: ChangesBox;
  private readonly story: Story;
  private readonly who: WhoBox;
  private readonly why: WhyBox;
  private readonly near: NearBox;
  private readonly top = h("div.top.brand");
  private readonly body = h("div.body");
  private readonly stage = h("div.stage");
  private readonly empty = h("p.empty", "Type a text, or take an example.");
  private readonly sizes: ResizeObserver;
  private explorer: Explorer | null = null;
  private shown: Shown | null = null;
  // Whether what was stands beside what changes made of it.
  private beside = false;
  private input: LiveInput;
  private chosen: number | null;
  private begin: ExplorerState;
  private info: LiveInfo;

  constructor(
    readonly root: HTMLElement,
    carrier: Carrier,
    private readonly host: LiveHost,
    asked: Asked,
    state: ExplorerState,
    { info, picture }: Known,
  ) {
    const first = write({ ...asked, changes: [], chosen: null }) ? undefined : info.examples[0];
    this.info = info;
    this.input = first?.input ?? asked.input;
    this.chosen = asked.chosen;
    this.begin = { ...(first && opens(first)), ...state };
    this.history = new History(asked.changes);
    root.classList.add("hs", "live", "unlettered");
    const lettered = (): void => root.classList.remove("unlettered");
    void document.fonts.load("400 13px Inter").then(lettered, lettered);
    this.texts = new TextsBox({
      typed: (input) => this.typed(input),
      example: (example) => this.take(example),
      stop: () => this.session.stop(),
    });
    this.says = new SaysBox({ follow: (id) => this.follow(id), take: (id) => this.append(id) });
    this.changes = new ChangesBox({
      history: this.history,
      changed: () => this.changed(),
      copy: () => void this.copy(),
    });
    const { says } = this;
    const without = async (layer: number, head: number): Promise<number> =>
      (await this.session.ask<WithoutAnswer>("without", { ...this.followed, layer, head })).number;
    this.story = new Story({
      make: (change) => this.make(change),
      undo: () => this.takeBack(),
      rank: () => this.who.start(),
      without,
    });
    this.who = new WhoBox({
      get of() {
        return says.followed;
      },
      rank: () => this.session.ask("who", this.followed),
      named: () => this.named,
      without,
      open: (layer, head) => this.explorer?.open(layer, head, false),
    });
    this.why = new WhyBox({
      ask: async (spans) => (await this.session.ask<WhyAnswer>("why", { ...this.followed, spans })).sources,
      open: (head, first) => this.open(head, first, 0),
      shade: (prompt) => this.texts.shade(prompt),
      toggle: (change) => this.toggle(change),
    });
    this.near = new NearBox({
      ask: () => this.ask(),
      heads: () => this.session.compare(true),
      without: (struck, del) => this.session.without(struck, del),
      dark: () => this.root.dataset.theme === "dark",
      open: (head, first, input) => this.open(head, first, input),
      says: (text, undo) => this.story.tell(text, undo),
      takeBack: () => this.takeBack(),
    });
    const side = h(
      "aside.tells",
      { "aria-label": "What the model says" },
      this.says.root,
      this.changes.root,
      this.who.root,
    );
    this.top.append(h("b", "headscope"), h("span.model", info.model));
    this.stage.append(this.empty);
    root.append(h("h1.hidden", "headscope"), this.top, this.body);
    const each = h("h2.each", "The attention of each text");
    const middle = h("div.middle", this.story.root, this.near.root, each, this.stage);
    this.body.append(this.texts.root, middle, side, this.why.root);
    root.addEventListener("keydown", (event) => this.key(event));
    const size = (): void => {
      root.classList.toggle("wide", root.clientWidth >= WIDE);
      // So far above the pictures stand their save and theme, beside the model's name.
      root.style.setProperty("--lift", `${this.top.offsetTop - this.stage.offsetTop}px`);
    };
    size();
    this.sizes = new ResizeObserver(size);
    for (const element of [root, this.texts.root]) this.sizes.observe(element);
    this.texts.show(this.input);
    this.told(info);
    if (picture) this.picture(picture);
    this.theme();
    this.session = new Session(carrier, {
      info: (info) => this.told(info),
      lost: (why) => this.texts.lose(why),
      near: (answer) => this.nearer(answer),
      shown: (shown, store, milliseconds) => this.draw(shown, store, milliseconds),
      problem: (text) => this.texts.fail(text),
      busy: (busy) => {
        this.texts.busy(busy);
        if (busy) root.dataset.reading = "true";
        else delete root.dataset.reading;
      },
    });
    this.root.dataset.reading = "true"; // until the first answer
    this.ask();
  }

  /** The surroundings have become light or dark. */
  surroundings(): void {
    this.explorer?.surroundings();
    this.theme();
    this.near.surroundings();
  }

  /** Take over what is asked and shown from outside. */
  update(asked: Asked, state: ExplorerState): void {
    this.begin = state; // what stands there may not have the tokens that it names
    this.input = asked.input;
    this.chosen = asked.chosen;
    if (asked.changes.join("\n") !== this.history.changes.join("\n")) this.history.set(asked.changes);
    this.texts.show(this.input);
    this.explorer?.update({ ...DEFAULTS, ...state });
    this.ask();
  }

  get asked(): Asked {
    return { input: this.input, changes: this.history.changes, chosen: this.chosen };
  }

  destroy(): void {
    this.session.close();
    this.sizes.disconnect();
    this.explorer?.destroy();
    this.root.replaceChildren();
  }

  private told(info: LiveInfo): void {
    if (!this.known.renewed(info)) return;
    this.info = info;
    this.texts.tell(info);
    this.says.tell(info);
    document.title = document.title || `headscope: ${info.model}`;
  }

  // The place that is asked about: that of the pinned token, where the model says something of each.
  private get at(): number | null {
    const { pin, between } = this.explorer?.state ?? {};
    return pin ? Number(pin[1]) : between ? between[0]! : null;
  }

  // Whose probability heads and parts are asked about.
  private get followed() {
    return { at: this.at, chosen: this.chosen };
  }

  // The place that the model's words are of: of a class none.
  private get place(): number | null {
    const { place } = this.shown?.says[0] ?? {};
    return place == null ? null : (this.at ?? place);
  }

  // The heads that are open, and the one that the example names.
  private get named(): readonly string[] {
    const { layer, heads = [] } = this.explorer?.state ?? {};
    const example = this.example;
    return [
      ...heads.map((head) => code(layer!, head)),
      ...(example?.head != null ? [code(example.layer!, example.head)] : []),
    ];
  }

  // What is read, where it is one of the examples.
  private get example(): LiveExample | undefined {
    const asked = write({ ...this.asked, changes: [], chosen: null });
    return this.info.examples.find(({ input }) => write({ input, changes: [], chosen: null }) === asked);
  }

  private ask(): void {
    const empty = !this.input.text?.trim() && !this.input.messages?.some(({ content }) => content.trim());
    this.root.classList.toggle("cleared", empty);
    if (empty) return this.clear();
    this.session.show({
      ...this.asked,
      ...this.followed,
      layer: this.explorer?.state.layer ?? this.begin.layer ?? -1,
      spans: this.apart ? this.near.units : null,
    });
  }

  // Nothing is asked, and nothing is shown.
  private clear(): void {
    this.session.clear();
    this.shown = null;
    delete this.root.dataset.reading;
    this.texts.clear();
    this.says.clear();
    this.story.clear();
    this.tell();
  }

  private tell(): void {
    if (this.explorer) this.host.changed(this.asked, this.explorer.state);
  }

  // Places of tokens are those of the text that was.
  private typed(input: LiveInput, state: ExplorerState = { pin: null, between: null }): void {
    this.input = input;
    this.keep((change) => !change.includes(">"));
    this.begin = { ...this.begin, ...state };
    this.explorer?.set({ pin: null, between: null });
    this.chosen = null;
    this.ask();
  }

  // An example is read as it is, with its own head open.
  private take(example: LiveExample): void {
    this.go(example.input, opens(example));
  }

  /** Read an input as it is, without changes, and show it as a state says. */
  go(input: LiveInput, state: ExplorerState): void {
    this.keep(() => false);
    this.texts.show(input);
    this.typed({ ...input }, state);
  }

  private make(change: string): void {
    const { changes } = this.history;
    if (changes.includes(change)) return;
    this.history.set([...changes, change]);
    this.changed();
  }

  // Only some of the changes stay.
  private keep(stays: (change: string) => boolean): void {
    const { changes } = this.history;
    const kept = changes.filter(stays);
    if (kept.length < changes.length) this.history.set(kept);
  }

  private toggle(change: string): void {
    if (!this.history.changes.includes(change)) return this.make(change);
    this.keep((each) => each !== change);
    this.changed();
  }

  private takeBack(): void {
    this.keep(() => false);
    this.changed();
  }

  private changed(): void {
    this.changes.say("");
    this.ask();
    if (this.explorer) this.panel(this.explorer.state);
  }

  // A token is written after the text, or in the place of one that was.
  private append(id: number): void {
    const { shown } = this;
    if (!shown || shown.says[0]?.kind !== "next") return;
    const place = shown.says[0].place ?? 0;
    const written = this.input.written ?? [];
    const kept = place - (this.pieces.length - written.length) + 1;
    if (kept < 0) return this.texts.fail("This token stands in the text: change the text itself, or let the pin go.");
    this.input = { ...this.input, written: [...written.slice(0, kept), id] };
    this.texts.show(this.input);
    this.chosen = null;
    this.explorer?.set({ pin: null, between: null });
    this.ask();
  }

  // Those that are read, and what is written after them.
  private get pieces(): readonly string[] {
    const parts = this.shown?.payload.inputs[0]?.parts ?? [];
    return (parts.find(({ name }) => name === "decoder") ?? parts[0])?.query.pieces ?? [];
  }

  private follow(id: number | null): void {
    this.chosen = id;
    void this.say();
  }

  // Show a head where a token is outlined, of an input.
  private open({ layer, head }: { layer: number; head: number }, first: number, input: number): void {
    const place = this.place;
    this.explorer?.set({
      scale: "head",
      layer,
      heads: [head],
      side: "one",
      input,
      pin: place === null ? ["to", first] : null,
      between: place === null ? null : [place, first],
    });
  }

  private async say(): Promise<void> {
    if (this.apart) return this.tell(); // of no place
    this.who.clear();
    this.sources();
    try {
      this.predicted((await this.session.ask<SaysAnswer>("says", this.followed)).says);
    } catch (error) {
      if (!(error instanceof StaleError)) this.texts.fail(reason(error));
    }
    this.tell();
  }

  // The sources are of the input, the place and the word; changes strike their parts out.
  private sources(): void {
    this.why.root.hidden = !this.info.sources || this.shown?.says[0]?.kind === "cosine";
    this.why.update(this.input, this.place, this.chosen);
    this.why.changes(this.history.changes);
  }

  // Why two texts are near, and what changes did to it.
  private nearer(answer: NearAnswer | null): void {
    if (!this.apart) return; // another input is typed
    this.root.classList.add("told", "apart");
    this.story.clear();
    this.near.show(answer, this.info.apart!);
  }

  // Whether two texts are shown that are each read alone.
  private get apart(): boolean {
    const { pair, together } = this.input;
    return Boolean(this.info.apart && pair && !together);
  }

  private predicted(says: readonly Prediction[]): void {
    const own = this.info.against ? says.slice(0, 1) : says; // two models are not before and after
    this.story.show(this.example, this.shown?.changes ?? [], own, this.pieces);
    const inputs = this.shown?.payload.inputs ?? [];
    this.says.show(
      says,
      inputs.map(({ label }) => label),
    );
  }

  private draw(shown: Shown, store: Store, milliseconds: number): void {
    this.shown = shown;
    this.root.classList.toggle("apart", this.apart);
    this.root.classList.add("told");
    const { payload } = shown;
    this.texts.counted(shown.tokens, milliseconds);
    if (shown.notes.length > 0) this.texts.fail(shown.notes.join(" "));
    const written = this.input.written?.length ?? 0;
    const { begin, pieces } = this;
    this.texts.wrote(pieces.slice(pieces.length - written));
    this.begin = {};
    if (this.explorer) {
      // A first change puts what was beside what is; without one there is one picture.
      const two = payload.inputs.length === 2 && !this.apart;
      const side = two === this.beside ? {} : { side: two ? ("both" as const) : ("one" as const), input: 0 };
      this.beside = two;
      this.explorer.renew({ payload, store, state: { ...side, ...begin } });
    } else {
      const side = this.apart ? { side: "one" as const } : {};
      this.picture({ payload, store, state: { ...payload.state, ...side, ...begin } });
    }
    this.theme();
    if (!this.apart) this.predicted(shown.says);
    this.panel(this.explorer!.state);
    this.who.clear();
    this.sources();
    this.tell();
  }

  private picture(props: ExplorerProps): void {
    const element = h("div");
    this.stage.append(element);
    this.explorer = new Explorer(element, props, this.explorerHost());
  }

  private explorerHost(): ExplorerHost {
    const live = this;
    return {
      // A picture from before the model answered is of its own weights.
      get rounded() {
        return live.shown !== null && live.info.rounded !== null;
      },
      changed: (state) => this.looked(state),
      ...(this.host.address && { address: () => this.host.address!() }),
      dark: () => this.host.dark(),
      asks: () => this.host.asks?.() ?? false,
      save: download,
      exact: (question) => this.session.exact(question),
      compute: (name) => this.session.compute(name),
      ...(this.info.reads && { why: (input, part, line) => this.session.reads(input, part, line) }),
      change: (text) => this.make(text),
    };
  }

  private looked(state: Full): void {
    this.theme();
    this.panel(state);
    const moved = this.pinned.renewed(state.pin, state.between);
    if (moved && this.shown) void this.say();
    else this.tell();
  }

  private panel(state: Full): void {
    const payload = this.shown?.payload;
    if (payload)
      this.changes.show(state, this.shown!.left, partOf(payload.inputs[state.input] ?? payload.inputs[0]!, state.part));
  }

  private theme(): void {
    const theme = this.explorer?.state.theme ?? this.begin.theme ?? "auto";
    this.root.dataset.theme = theme === "auto" ? (this.host.dark() ? "dark" : "light") : theme;
  }

  private async copy(): Promise<void> {
    const text = this.shown ? inPython(this.input, this.shown, this.info) : "";
    const said = await copyLink(text);
    this.changes.say(said === COPIED ? "Copied." : text);
  }

  /** A key that no element of the page has had. */
  press(event: KeyboardEvent): void {
    this.key(event);
    if (!event.defaultPrevented) this.explorer?.key(event);
  }

  // Space writes the likeliest token, where nothing else wants it.
  private key(event: KeyboardEvent): void {
    if (event.key !== " " || modified(event)) return;
    if (event.target instanceof Element && event.target.matches(OWN_SPACE)) return;
    const says = this.shown?.says[0];
    if (says?.kind !== "next" || this.root.dataset.reading !== undefined) return;
    event.preventDefault();
    if (this.explorer?.state.pin) this.explorer.set({ pin: null });
    const best = says.top[0];
    if (best) this.append(best.id);
  }
}
