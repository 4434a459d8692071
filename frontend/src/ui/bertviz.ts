// What a reader of BertViz looks for, above a view that its calls made: layer and head, attention between sentences, and
// beside the token that is pointed at the "+" that opens its neurons.

import type { PartInfo } from "../protocol";
import { hasPair } from "../scene/axis";
import { type Full, headsOf } from "../scene/state";
import { Select, type Setter } from "./controls";
import { h } from "./dom";
import { PARTS } from "./toolbar";

const FILTERS = [
  ["all", "All"],
  ["aa", "Sentence A -> Sentence A"],
  ["bb", "Sentence B -> Sentence B"],
  ["ab", "Sentence A -> Sentence B"],
  ["ba", "Sentence B -> Sentence A"],
] as const;

/** What it needs of the explorer. */
export interface Around {
  readonly root: HTMLElement;
  readonly set: Setter;
  /** The first token of a row. */
  start(row: Element): number | null;
}

const numbers = (list: readonly number[]): [string, string][] => list.map((each) => [String(each), String(each)]);

export class BertViz {
  readonly root = h("div.bertviz", { role: "group", "aria-label": "As in BertViz" });
  private readonly plus: HTMLButtonElement;
  private readonly layer: Select;
  private readonly head: Select;
  private readonly filter: Select;
  private readonly part: Select;
  private readonly fields: Record<"layer" | "head" | "filter" | "part", HTMLElement>;
  private state!: Full;
  private heads: readonly number[] = [];
  /** There are neurons of the layer that is open. */
  private deep = false;
  private row: Element | null = null;

  constructor(private readonly around: Around) {
    const { set } = around;
    this.layer = new Select("Layer", (value) => set({ layer: Number(value) }));
    this.head = new Select("Head", (value) => set({ heads: value === "all" ? [...this.heads] : [Number(value)] }));
    this.filter = new Select("Attention", (value) => set({ filter: value as Full["filter"] }));
    this.part = new Select("Part", (value) => set({ part: value }));
    const field = (name: string, { input }: Select): HTMLElement => h("label.field", h("span.cap", name), input);
    this.fields = {
      layer: field("Layer", this.layer),
      head: field("Head", this.head),
      filter: field("Attention", this.filter),
      part: field("Attention", this.part),
    };
    this.plus = h("button.plus", { hidden: true, onclick: () => this.turn() });
    this.root.append(...Object.values(this.fields), this.plus);
    around.root.addEventListener("pointerover", (event) => this.over(event));
    around.root.addEventListener("pointerleave", () => this.at(null));
  }

  show(state: Full, part: PartInfo, parts: readonly string[]): void {
    this.state = state;
    this.heads = headsOf(part, state.layer);
    this.deep = (part.neurons?.[part.index.indexOf(state.layer)] ?? null) !== null;
    const open = state.scale !== "model";
    const { fields, heads } = this;
    fields.layer.hidden = fields.head.hidden = !open;
    fields.filter.hidden = !hasPair(part.query) || !hasPair(part.key);
    fields.part.hidden = parts.length === 1;
    this.layer.show(String(state.layer), numbers(part.index));
    const several = state.heads.length > 1;
    const all = several && state.heads.length === heads.length;
    this.head.show(several ? (all ? "all" : "some") : String(state.heads[0]), [
      ["all", "All"],
      ...(several && !all ? ([["some", state.heads.join(", ")]] as const) : []),
      ...numbers(heads),
    ]);
    this.filter.show(state.filter, FILTERS);
    this.part.show(
      state.part,
      parts.map((name) => [name, PARTS[name] ?? name] as const),
    );
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
