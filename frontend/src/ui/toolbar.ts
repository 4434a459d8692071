// The bar above the pictures: scale, filters, what is drawn, thresholds, search; and the line below that says it in
// words.

import type { ExplorerPayload, InputInfo, PartInfo } from "../protocol";
import { hasPair, sinkNames } from "../scene/axis";
import type { Theme } from "../scene/color";
import { plural } from "../scene/format";
import { about, has, missing, names, offer, titleOf } from "../scene/quantities";
import { nameOf, textOf, treated } from "../scene/says";
import type { Scene } from "../scene/scene";
import { type Full, unequal, unread } from "../scene/state";
import { otherTheme, Panel, Segments, Select, type Setter, Switch } from "./controls";
import { h } from "./dom";
import { images, turnAll } from "./fold";
import { say } from "./roving";

const FILTERS = [
  ["all", "All"],
  ["aa", "A→A"],
  ["ab", "A→B"],
  ["ba", "B→A"],
  ["bb", "B→B"],
] as const;
export const PARTS: Record<string, string> = {
  self: "Self",
  encoder: "Encoder",
  decoder: "Decoder",
  cross: "Cross",
  implicit: "Implicit",
};
const SIGN = { auto: "◐", light: "☼", dark: "☾" } as const;

export interface Bar {
  find(text: string, next: boolean): void;
  help(): void;
  /** All controls stay in sight, or only those that a first look needs. */
  keep(keep: boolean): void;
  /** Whether the surroundings are dark. */
  dark(): boolean;
  save(kind: "svg" | "png"): void;
  /** Copy a link to what is shown, where it has an address. */
  link?(): void;
}

const readsOf = (input: InputInfo): string => textOf(input) || nameOf(input);

/**
 * What an input reads, with what the other of two has not got marked; before it its label, where that says something
 * else.
 */
export function reads(input: InputInfo): HTMLElement[] {
  const whole = readsOf(input);
  const named = input.label && !whole.startsWith(input.label.replace(/…$/, "")) ? [h("b.whose", input.label)] : [];
  return [
    ...named,
    h(
      "bdi",
      { title: whole },
      ...(input.text ?? []).map(({ text, changed }) => (changed ? h("mark", text) : text)),
      input.text ? null : whole,
    ),
  ];
}

/** What of the inputs' models has no attention map; where they differ, whose. */
export function unseenOf(inputs: readonly InputInfo[]): string[] {
  const said = new Map(inputs.map((input) => [input.unseen ?? "", input] as const));
  return [...said].flatMap(([text, input]) => (text ? [said.size > 1 ? `${nameOf(input)}: ${text}` : text] : []));
}

/** What of a payload the controls are made of. */
export const controlled = ({ model, inputs, offers }: ExplorerPayload): unknown[] => {
  const parts = inputs.map((input) =>
    input.parts.map(({ name, index, heads, quantities }) => [
      name,
      index.length,
      heads[0]?.length,
      quantities.map((each) => each.name),
    ]),
  );
  return [model, offers, parts];
};

export class Toolbar {
  private readonly scale: Segments<"scale">;
  private readonly scaleNotes: HTMLElement[];
  private readonly filter: Segments<"filter">;
  private readonly filters: HTMLElement;
  private readonly parts: Segments<"part"> | null;
  private readonly quantities: Segments<"quantity"> | null;
  private readonly unit: Segments<"unit">;
  private readonly side: Segments<"side"> | null;
  private readonly special: Switch;
  private readonly gold: Switch;
  private readonly sinks: Switch;
  private readonly fold: HTMLButtonElement;
  private readonly renormalise: Switch;
  private readonly input: Select | null;
  private readonly theme: HTMLButtonElement;
  /** What the input reads; of two inputs each pane says it of its own. */
  private readonly text = h("div.text");
  readonly search: HTMLInputElement;
  private readonly matches = h("span.dim", { role: "status" });
  readonly bar: HTMLElement;
  /** What the page as a whole can do: save, theme, keys. */
  readonly controls: HTMLElement;
  private readonly linked: HTMLButtonElement | null;
  readonly tools: HTMLElement;
  /** Where the choice of layer and head stands as long as few controls are shown. */
  readonly slot = h("div.slot");
  /** Opens what a first look does not need, or closes it. */
  private readonly more: HTMLButtonElement;
  readonly panel: Panel;
  private readonly saves: Panel;
  private readonly note = h("span");
  /** What of the model has no attention map. */
  readonly unseen = h("div.unseen", { role: "note" });
  private readonly message: HTMLElement;
  private silence = 0;
  readonly status: HTMLElement;
  private quiet = true;
  /** The theme that is shown. */
  private lit: Theme = "light";

  constructor(
    public payload: ExplorerPayload,
    private readonly set: Setter,
    act: Bar,
  ) {
    const first = payload.inputs[0]!;
    this.scale = new Segments("Scale", "scale", set, [
      ["model", "Model"],
      ["head", "Head"],
      ["neuron", "Neurons"],
    ]);
    this.scale.root.className = "scale";
    this.scaleNotes = [...this.scale.root.children].map((button) => {
      const note = h("span");
      button.replaceChildren(h("b", button.textContent), note);
      return note;
    });
    this.filter = new Segments("Attention", "filter", set, FILTERS);
    this.filters = h("div.group", { "data-keys": "filter" }, h("span.cap", "Attention"), this.filter.root);
    const parts = first.parts.map((part) => part.name);
    this.parts =
      parts.length > 1
        ? new Segments(
            "Part",
            "part",
            set,
            parts.map((name) => [name, PARTS[name] ?? name] as const),
          )
        : null;
    const quantities = names(payload);
    this.quantities =
      quantities.length > 1
        ? new Segments(
            "Draw",
            "quantity",
            set,
            quantities.map((name) => [name, titleOf(name), about(name)] as const),
          )
        : null;
    this.unit = new Segments("Unit", "unit", set, [
      ["pieces", "Pieces"],
      ["words", "Words", "To a word: the sum over its pieces; from a word: their mean"],
    ]);
    this.side =
      payload.inputs.length === 2
        ? new Segments("Inputs", "side", set, [
            ["one", "One"],
            ["both", "Side by side"],
            ["difference", "Difference", "The first less the second"],
          ])
        : null;
    this.special = new Switch("special", set, "Special tokens", "Show special tokens (s)");
    this.gold = new Switch("gold", set, "Gold links", "Lay the links that were given over the pictures (g)");
    this.sinks = new Switch(
      "sinks",
      ({ sinks }) => set({ sinks, renormalise: !sinks }),
      "",
      "Leave out the keys that take much of all heads' attention on this input (sinks), and let the rest of a row sum to 1",
      true,
    );
    this.fold = h("button.link", { "data-keys": "unfolded" });
    this.more = h("button.more", {
      onclick: () => (this.quiet ? this.panel.open(!this.panel.opened) : act.keep(false)),
    });
    this.renormalise = new Switch("renormalise", set, "Rows sum to 1", "Let the shown weights of each row sum to 1");
    this.input =
      payload.inputs.length > 1
        ? new Select("Input", (value) => set({ input: Number(value), pin: null, between: null, zoom: null }))
        : null;
    this.theme = h("button.icon", { onclick: () => set({ theme: otherTheme(this.lit, act.dark()) }) });
    this.search = h("input.find", {
      type: "search",
      placeholder: "Find a token",
      "aria-label": "Find a token",
      oninput: () => act.find(this.search.value, false),
    });
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") act.find(this.search.value, true);
      if (event.key === "Escape") {
        this.search.value = "";
        act.find("", false);
        this.search.blur();
      }
      event.stopPropagation();
    });
    const counts = first.parts[0]!;
    const heads = Math.max(...counts.heads.map((each) => each.length));
    this.linked = act.link
      ? h("button.icon.wide", { title: "Copy a link to this view", onclick: () => act.link!() }, "Link")
      : null;
    const save = (kind: "svg" | "png"): HTMLElement =>
      h(
        "button.icon.wide",
        {
          title: `Save this picture as ${kind.toUpperCase()}`,
          onclick: () => {
            this.saves.open(false);
            act.save(kind);
          },
        },
        kind.toUpperCase(),
      );
    const saves = h("button.icon.wide.opens", { onclick: () => this.saves.open(!this.saves.opened) }, "Save");
    this.saves = new Panel(saves, "Save", this.linked, save("svg"), save("png"));
    this.controls = h(
      "div.right",
      this.side?.root,
      this.input && h("label.field.inputs", h("span.cap", "Input"), this.input.input),
      h("div.savebox", saves, this.saves.root),
      this.theme,
      h("button.icon", { title: "Keys and terms (?)", "aria-label": "Keys and terms", onclick: () => act.help() }, "?"),
    );
    this.bar = h(
      "div.bar",
      h(
        "div.brand",
        h("b", "headscope"),
        h("span.model", payload.model),
        h("span.dim", `${plural(counts.index.length, "layer")} × ${plural(heads, "head")}`),
      ),
      this.text,
      this.controls,
    );
    this.message = h("p.message", { role: "status" });
    this.message.hidden = true;
    const rare = [
      [this.quantities, "quantity"],
      [this.unit, "unit"],
      [this.special, "special"],
      [this.renormalise, "renormalise"],
      [this.gold, "gold"],
    ] as const;
    for (const [control, keys] of rare) if (control) control.root.dataset.keys = keys;
    const group = (text: string, child: HTMLElement): HTMLElement => h("div.group", h("span.cap", text), child);
    this.panel = new Panel(
      this.more,
      "More controls",
      this.quantities?.root,
      this.filters,
      this.unit.root,
      this.special.root,
      this.renormalise.root,
      this.gold.root,
      this.fold,
      h("div.group.findbox", this.search, this.matches),
      h("button.link.keep", { onclick: () => act.keep(true) }, "Keep all these in sight"),
    );
    this.tools = h(
      "div.tools",
      this.scale.root,
      this.slot,
      this.parts && group("Part", this.parts.root),
      this.sinks.root,
      this.more,
      this.panel.root,
      this.message,
    );
    const keys = (
      [
        ["← → ↑ ↓", "heads"],
        ["?", "all keys"],
      ] as const
    ).flatMap(([key, text]) => [h("kbd", key), h("span", text)]);
    this.status = h("div.status", this.note, h("span.grow"), h("span.keys", ...keys));
  }

  /** Close what is open over the page; whether there was something. */
  shut(): boolean {
    const open = [this.panel, this.saves].filter((panel) => panel.opened);
    for (const panel of open) panel.open(false);
    return open.length > 0;
  }

  /** `quiet`: the controls that a first look does not need are in the panel; `set` of them are not as they begin. */
  show(state: Full, scenes: readonly Scene[], quiet: boolean, set: number): void {
    this.quiet = quiet;
    this.lit = scenes[0]!.owner.theme;
    this.text.hidden = this.payload.inputs.length === 2;
    this.text.replaceChildren(...reads(scenes[0]!.input));
    const lacking = unseenOf(scenes.flatMap(({ input, against }) => (against ? [input, against.input] : [input])));
    this.unseen.replaceChildren(...lacking.map((text) => h("p", text)));
    this.unseen.hidden = lacking.length === 0;
    if (!quiet) this.shut();
    // What it opens follows it; what stands there for good does so before it.
    if (quiet !== (this.more.nextSibling === this.panel.root)) {
      const had = this.more.matches(":focus");
      this.panel.root[quiet ? "before" : "after"](this.more);
      if (had) this.more.focus();
    }
    this.more.textContent = !quiet ? "Less" : set > 0 ? `More · ${set}` : "More";
    this.more.title = !quiet
      ? "Only the controls of a first look"
      : `All controls${set > 0 ? `; ${set} of them ${set > 1 ? "are" : "is"} set` : ""}`;
    if (!quiet) this.more.setAttribute("aria-expanded", "true");
    this.slot.hidden = !quiet;
    const scene = scenes[0]!;
    const { part } = scene;
    const heads = Math.max(...part.heads.map((each) => each.length));
    const unseen = unread(part, state.layer, scene.head);
    const notes = [
      `${part.index.length}×${heads}`,
      scene.heads.length > 1 ? `L${state.layer}` : `L${state.layer}H${scene.head}`,
      unseen ? "none" : "q · k",
    ];
    notes.forEach((text, at) => (this.scaleNotes[at]!.textContent = text));
    this.scale.show(state);
    const whole = part.layers.length > 0;
    this.scale.disable("head", whole ? null : "this page holds thumbnails only");
    this.scale.disable("neuron", unseen ?? (state.side === "difference" ? "a difference has no neurons" : null));
    this.filter.show(state);
    this.filters.hidden = !scenes.every((each) => hasPair(each.part.query) && hasPair(each.part.key));
    this.parts?.show(state);
    this.quantities?.show(state);
    this.offered(part, scene.data.live);
    this.unit.show(state);
    this.unit.root.hidden = !whole || (!part.query.words && !part.key.words) || state.scale === "neuron";
    this.side?.show(state);
    this.side?.disable(
      "difference",
      !whole ? "this page holds thumbnails only" : state.side === "difference" ? null : unequal(this.payload, state),
    );
    this.special.show(state);
    this.special.root.hidden = ![...part.query.special, ...part.key.special].includes(true);
    const sinks = sinkNames(part.key);
    this.sinks.show(state);
    this.sinks.call(`Hide ${sinks.join(" ")}`);
    this.sinks.root.hidden = sinks.length === 0 || state.scale === "neuron";
    const within = images(scene);
    this.fold.hidden =
      within === 0 || state.scale === "neuron" || (state.scale === "head" && state.picture === "image");
    this.fold.textContent = `${state.unfolded.length > 0 ? "Fold" : "Unfold"} ${within > 1 ? "the pictures" : (part.key.images?.[0] ?? part.query.images?.[0])?.name === "sound" ? "the sound" : "the picture"}`;
    this.fold.onclick = () => this.set({ unfolded: turnAll(scene) });
    this.gold.show(state);
    this.gold.root.hidden = state.side === "difference" || !scenes.some((each) => each.part.links);
    this.renormalise.show(state);
    this.renormalise.root.hidden = !whole || state.quantity !== "weights";
    this.search.parentElement!.hidden = state.scale === "model";
    this.input?.show(
      String(state.input),
      this.payload.inputs.map((input, i) => [String(i), nameOf(input)] as const),
    );
    if (this.input) this.input.input.parentElement!.hidden = state.side !== "one";
    this.theme.textContent = SIGN[state.theme];
    this.theme.title = `Theme: ${state.theme}`;
    this.theme.setAttribute("aria-label", `Theme: ${state.theme}`);
    this.note.textContent = caption(scenes);
  }

  /** The link is on the clipboard, or why not. */
  copied(said: string): void {
    if (this.linked) say(this.linked, said);
  }

  /** Whether what is searched for is nowhere. */
  missed(nowhere: boolean): void {
    this.search.setAttribute("aria-invalid", String(nowhere));
    this.matches.textContent = nowhere ? "no such token" : "";
  }

  // What is not here can be asked of a kernel; a page says what adds it.
  private offered(part: PartInfo, live: boolean): void {
    for (const button of (this.quantities?.root.children ?? []) as Iterable<HTMLElement>) {
      const name = button.dataset.v!;
      const found = offer(this.payload, name);
      button.hidden = !has(part, name) && !found;
      this.quantities!.disable(name, has(part, name) || live || !found ? null : missing(found));
      if (live && found && !has(part, name)) button.title = `${about(name)}. Python computes it when you click`;
    }
  }

  /** A matrix is being computed, or (null) no longer; `problem` says why it cannot be. */
  asking(name: string | null, problem = ""): void {
    for (const button of (this.quantities?.root.children ?? []) as Iterable<HTMLElement>)
      button.setAttribute("aria-busy", String(button.dataset.v === name));
    this.message.classList.toggle("problem", problem !== "");
    this.message.textContent =
      name !== null ? `Python computes ${name === "norms" ? "‖α·v·Wₒ‖" : `the ${name}`}…` : problem;
    this.message.hidden = this.message.textContent === "";
    window.clearTimeout(this.silence);
    if (name !== null)
      this.silence = window.setTimeout(
        () => this.message.append(" No answer for a minute: it is busy, or gone."),
        60_000,
      );
  }
}

/** What is shown, in words. */
function caption(scenes: readonly Scene[]): string {
  const { part, input, state } = scenes[0]!;
  const seen =
    part.looks && part.query.images && input.picture && state.draw === "auto" && state.quantity === "weights";
  const grid = seen && "the grid: what the text gives to the picture, the mean over its tokens";
  return [...treated(scenes), ...(grid ? [grid] : [])].join(" · ");
}
