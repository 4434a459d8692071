// What a reader of BertViz looks for, above a view that its calls made: layer and head, attention between sentences, and
// beside the token that is pointed at the "+" that opens its neurons.

import { hasPair } from "../scene/axis";
import type { Scene } from "../scene/scene";
import { type Full, headsOf } from "../scene/state";
import { type Control, controls, type Setter } from "./controls";
import { h, listen } from "./dom";
import { partsOf } from "./toolbar";

const FILTERS = [
  ["all", "All"],
  ["aa", "Sentence A -> Sentence A"],
  ["bb", "Sentence B -> Sentence B"],
  ["ab", "Sentence A -> Sentence B"],
  ["ba", "Sentence B -> Sentence A"],
] as const;

/** What it needs of the explorer. */
interface Around {
  readonly root: HTMLElement;
  readonly set: Setter;
  /** The first token of a row. */
  start(row: Element): number | null;
}

export class BertViz {
  readonly root = h("div.bertviz", { role: "group", "aria-label": "As in BertViz" });
  private readonly plus: HTMLButtonElement;
  private readonly made: Readonly<Record<"layer" | "heads" | "filter" | "part", Control>>;
  private state!: Full;
  /** There are neurons of the layer that is open. */
  private deep = false;
  private row: Element | null = null;

  constructor(private readonly around: Around) {
    const open = ({ state }: Scene): boolean => state.scale !== "model";
    this.made = controls(around.set, {
      layer: {
        cap: "Layer",
        look: "list",
        options: ({ part }) => part.index.map((layer) => [layer, String(layer)]),
        when: open,
      },
      heads: {
        cap: "Head",
        look: "list",
        options({ part, state }) {
          const all = headsOf(part, state.layer);
          const some = state.heads.length > 1 && state.heads.length < all.length;
          return [
            [[...all], "All"],
            ...(some ? ([[state.heads, state.heads.join(", ")]] as const) : []),
            ...all.map((head): [number[], string] => [[head], String(head)]),
          ];
        },
        // All, in whatever order they were opened.
        of({ part, state }) {
          const all = headsOf(part, state.layer);
          return state.heads.length === all.length ? [...all] : state.heads;
        },
        when: open,
      },
      filter: {
        cap: "Attention",
        look: "list",
        options: FILTERS,
        when: ({ part }) => hasPair(part.query) && hasPair(part.key),
      },
      part: {
        label: "Part",
        cap: "Attention",
        look: "list",
        options: partsOf,
        when: (scene) => partsOf(scene).length > 1,
      },
    });
    this.plus = h("button.plus", { hidden: true, onclick: () => this.turn() });
    this.root.append(...Object.values(this.made).map(({ root }) => root), this.plus);
    listen(around.root, { pointerover: (event) => this.over(event), pointerleave: () => this.at(null) });
  }

  show(scene: Scene): void {
    const { state, part } = scene;
    this.state = state;
    this.deep = (part.neurons?.[part.index.indexOf(state.layer)] ?? null) !== null;
    for (const each of Object.values(this.made)) each.show(scene);
    this.at(null);
  }

  private over({ target }: PointerEvent): void {
    if (!(target instanceof Element) || this.plus.contains(target)) return;
    const row = target.closest(".toks.l .tok");
    if (row !== this.row) this.at(row);
  }

  // The button stands left of what the token says.
  private at(row: Element | null): void {
    const { plus, state, deep } = this;
    const start = row && state.scale !== "model" && deep ? this.around.start(row) : null;
    this.row = start === null ? null : row;
    plus.hidden = start === null;
    if (start === null || !row) return;
    const expands = state.scale === "head";
    plus.textContent = expands ? "+" : "−";
    plus.title = expands ? "Open the neurons of this token" : "Close the neurons";
    plus.setAttribute("aria-label", plus.title);
    const [there, here] = [(row.querySelector(".t") ?? row).getBoundingClientRect(), this.root.getBoundingClientRect()];
    plus.style.left = `${Math.max(0, there.left - here.left - 22)}px`;
    plus.style.top = `${there.top - here.top + there.height / 2 - 9}px`;
  }

  private turn(): void {
    const start = this.row && this.around.start(this.row);
    if (this.state.scale !== "head") return this.around.set({ scale: "head" });
    if (start !== null) this.around.set({ scale: "neuron", pin: ["from", start], between: null });
  }
}
