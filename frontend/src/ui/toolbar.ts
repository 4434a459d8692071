// The bar above the pictures: scale, filters, what is drawn, thresholds, search; and the line below that says it in
// words.

import type { InputInfo, PartInfo } from "../protocol";
import { nounOf } from "../scene/areas";
import { hasPair, sinkNames } from "../scene/axis";
import type { Theme } from "../scene/color";
import { plural } from "../scene/format";
import { nameOf, textOf } from "../scene/inputs";
import { about, has, missing, names, offer, titleOf } from "../scene/quantities";
import { treated } from "../scene/says";
import type { Scene } from "../scene/scene";
import { type Full, unequal, unread } from "../scene/state";
import { controls, otherTheme, Panel, type Setter } from "./controls";
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
const PARTS: Record<string, string> = {
  self: "Self",
  encoder: "Encoder",
  decoder: "Decoder",
  cross: "Cross",
  implicit: "Implicit",
};
const SIGN = { auto: "◐", light: "☼", dark: "☾" } as const;

interface Bar {
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

/** How many heads the layer has that has most. */
const most = (heads: PartInfo["heads"]): number => Math.max(...heads.map(({ length }) => length));

export const partsOf = ({ input }: Scene): [string, string][] =>
  input.parts.map(({ name }) => [name, PARTS[name] ?? name]);

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

export class Toolbar {
  private scenes: readonly Scene[] = [];
  /** All controls, by the keys that they set. */
  private readonly made: ReturnType<Toolbar["make"]>;
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
  private readonly model = h("span.model");
  private readonly counts = h("span.dim");
  private readonly note = h("span");
  /** What of the model has no attention map. */
  readonly unseen = h("div.unseen", { role: "note" });
  private readonly message: HTMLElement;
  private silence = 0;
  readonly status: HTMLElement;
  private quiet = true;
  /** The theme that is shown. */
  private lit: Theme = "light";

  constructor(set: Setter, act: Bar) {
    this.made = this.make(set);
    this.more = h("button.more", {
      onclick: () => (this.quiet ? this.panel.open(!this.panel.opened) : act.keep(false)),
    });
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
      this.made.side.root,
      this.made.input.root,
      h("div.savebox", saves, this.saves.root),
      this.theme,
      h("button.icon", { title: "Keys and terms (?)", "aria-label": "Keys and terms", onclick: () => act.help() }, "?"),
    );
    this.bar = h("div.bar", h("div.brand", h("b", "headscope"), this.model, this.counts), this.text, this.controls);
    this.message = h("p.message", { role: "status" });
    this.message.hidden = true;
    const { scale, part, sinks, quantity, filter, unit, special, renormalise, gold, unfolded } = this.made;
    const rare = [quantity, filter, unit, special, renormalise, gold, unfolded].map(({ root }) => root);
    this.panel = new Panel(
      this.more,
      "More controls",
      ...rare,
      h("div.group.findbox", this.search, this.matches),
      h("button.link.keep", { onclick: () => act.keep(true) }, "Keep all these in sight"),
    );
    this.tools = h("div.tools", scale.root, this.slot, part.root, sinks.root, this.more, this.panel.root, this.message);
    const keys = h("span.keys", h("kbd", "← → ↑ ↓"), h("span", "heads"), h("kbd", "?"), h("span", "all keys"));
    this.status = h("div.status", this.note, h("span.grow"), keys);
  }

  // What of the state each control sets, where it is there, and why not.
  private make(set: Setter) {
    const whole = ({ part }: Scene): boolean => part.layers.length > 0;
    const lit = ({ state }: Scene): boolean => state.scale !== "neuron";
    const THUMBS = "this page holds thumbnails only";
    // What is not here can be asked of a kernel; a page says what adds it.
    const asks = (name: string): string => `${about(name)}. Python computes it when you click`;
    return controls(set, {
      scale: {
        label: "Scale",
        look: "scale",
        options: [
          ["model", "Model"],
          ["head", "Head"],
          ["neuron", "Neurons"],
        ],
        choice(scene, scale) {
          const { part, state, head } = scene;
          if (scale === "head" && !whole(scene)) return THUMBS;
          if (scale !== "neuron") return null;
          return (
            unread(part, state.layer, head) ?? (state.side === "difference" ? "a difference has no neurons" : null)
          );
        },
      },
      part: { label: "Part", cap: "Part", options: partsOf, when: (scene) => partsOf(scene).length > 1 },
      quantity: {
        label: "Draw",
        options: ({ part, data }) =>
          names(data.payload).map((name) => [
            name,
            titleOf(name),
            data.live && !has(part, name) ? asks(name) : about(name),
          ]),
        when: ({ data }) => names(data.payload).length > 1,
        choice({ part, data }, name) {
          const found = offer(data.payload, name);
          if (has(part, name)) return null;
          return found ? (data.live ? null : missing(found)) : false;
        },
      },
      filter: {
        cap: "Attention",
        options: FILTERS,
        when: () => this.scenes.every(({ part }) => hasPair(part.query) && hasPair(part.key)),
      },
      unit: {
        label: "Unit",
        options: [
          ["pieces", "Pieces"],
          ["words", "Words", "To a word: the sum over its pieces; from a word: their mean"],
        ],
        when: (scene) => whole(scene) && Boolean(scene.part.query.words || scene.part.key.words) && lit(scene),
      },
      side: {
        label: "Inputs",
        options: [
          ["one", "One"],
          ["both", "Side by side"],
          ["difference", "Difference", "The first less the second"],
        ],
        when: ({ data }) => data.payload.inputs.length === 2,
        choice(scene, side) {
          if (side !== "difference") return null;
          if (!whole(scene)) return THUMBS;
          return scene.state.side === side ? null : unequal(scene.data.payload, scene.state);
        },
      },
      input: {
        cap: "Input",
        look: "list",
        options: ({ data }) => data.payload.inputs.map((input, at) => [at, nameOf(input)]),
        when: ({ data, state }) => data.payload.inputs.length > 1 && state.side === "one",
        set: (input) => ({ input, pin: null, between: null, zoom: null }),
      },
      special: {
        label: "Special tokens",
        title: "Show special tokens (s)",
        when: ({ part }) => [...part.query.special, ...part.key.special].includes(true),
      },
      renormalise: {
        label: "Rows sum to 1",
        title: "Let the shown weights of each row sum to 1",
        when: (scene) => whole(scene) && scene.state.quantity === "weights",
      },
      gold: {
        label: "Gold links",
        title: "Lay the links that were given over the pictures (g)",
        when: ({ state }) => state.side !== "difference" && this.scenes.some(({ part }) => part.links),
      },
      // It is on where the state is not.
      sinks: {
        label: ({ part }) => `Hide ${sinkNames(part.key).join(" ")}`,
        title:
          "Leave out the keys that take much of all heads' attention on this input (sinks), and let the rest of a row sum to 1",
        when: (scene) => sinkNames(scene.part.key).length > 0 && lit(scene),
        of: ({ state }) => !state.sinks,
        set: (hides) => ({ sinks: !hides, renormalise: hides }),
      },
      unfolded: {
        label: (scene) =>
          `${scene.state.unfolded.length > 0 ? "Fold" : "Unfold"} ${images(scene) > 1 ? "the media" : nounOf(scene.input.picture)}`,
        when: (scene) =>
          images(scene) > 0 && lit(scene) && !(scene.state.scale === "head" && scene.state.picture === "image"),
        next: (scene) => ({ unfolded: turnAll(scene) }),
      },
    });
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
    this.text.hidden = scenes[0]!.data.payload.inputs.length === 2;
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
    this.scenes = scenes;
    for (const each of Object.values(this.made)) each.show(scenes[0]!);
    this.search.parentElement!.hidden = state.scale === "model";
    this.theme.textContent = SIGN[state.theme];
    this.theme.title = `Theme: ${state.theme}`;
    this.theme.setAttribute("aria-label", `Theme: ${state.theme}`);
    const [{ index, heads }] = scenes[0]!.input.parts as [PartInfo];
    this.model.textContent = scenes[0]!.data.payload.model;
    this.counts.textContent = `${plural(index.length, "layer")} × ${plural(most(heads), "head")}`;
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

  /** A matrix is being computed, or (null) no longer; `problem` says why it cannot be. */
  asking(name: string | null, problem = ""): void {
    for (const button of this.made.quantity.root.children as Iterable<HTMLElement>)
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
  const grid = seen && `the grid: what the text gives to ${nounOf(input.picture)}, the mean over its tokens`;
  return [...treated(scenes), ...(grid ? [grid] : [])].join(" · ");
}
