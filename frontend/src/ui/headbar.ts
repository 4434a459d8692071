// The choice of layer and heads, how several are put together, and the way to the neurons.

import { brief } from "../scene/format";
import { Of } from "../scene/made";
import { missing, offer } from "../scene/quantities";
import type { Owner, Scene } from "../scene/scene";
import { headsOf, unread } from "../scene/state";
import { Segments, Slider, Switch } from "./controls";
import { around, h } from "./dom";
import { entries } from "./pictures";

/** What the slider of the strongest lines a token steps through; 0 for all. */
const TOP = [1, 2, 3, 4, 5, 8, 10, 15, 20, 0];

export class HeadBar {
  private readonly layer = h("span");
  private readonly chips = h("div.chips", { role: "group", "aria-label": "Heads" });
  private readonly all: HTMLButtonElement;
  private readonly aggregate: Segments<"aggregate">;
  private readonly picture: Segments<"picture">;
  private readonly values: Switch;
  private readonly neuronHead = h("span");
  private readonly stepHead: HTMLElement;
  private readonly stepLayer: HTMLElement;
  /** Expand and collapse; stands beside the title. */
  readonly toggle: HTMLButtonElement;
  private readonly threshold: Slider;
  private readonly top: Slider;
  private readonly lines: HTMLElement;
  /** What a first look does not need. */
  private readonly rest: HTMLElement;
  readonly root: HTMLElement;
  private readonly listed = new Of();
  private scene!: Scene;
  private before: readonly number[] = [];
  private several: readonly number[] | null = null;

  constructor(private readonly owner: Owner) {
    const step = (what: HTMLElement, name: string, by: (amount: number) => void): HTMLElement =>
      h(
        "div.stepper",
        h("button", { "aria-label": `Previous ${name}`, onclick: () => by(-1) }, "‹"),
        what,
        h("button", { "aria-label": `Next ${name}`, onclick: () => by(1) }, "›"),
      );
    this.stepLayer = step(this.layer, "layer", (by) => this.move(by, 0));
    this.stepHead = step(this.neuronHead, "head", (by) => this.move(0, by));
    this.all = h("button.link", { title: "All heads, or only the open one (a)", onclick: () => this.toggleAll() });
    this.aggregate = new Segments(
      "Put together",
      "aggregate",
      (change) => owner.set(change),
      [
        ["none", "Each"],
        ["mean", "Mean", "The mean of the chosen heads"],
        ["max", "Max", "The largest of the chosen heads"],
        ["layers", "Layers", "The mean of the chosen heads over all layers"],
      ],
      true,
    );
    this.picture = new Segments(
      "Picture",
      "picture",
      (change) => owner.set(change),
      entries.map(([name, { label, title }]) => [name, label, title] as const),
      true,
    );
    this.values = new Switch(
      "values",
      (change) => owner.set(change),
      "Values",
      "Value vectors, and the norm of what each key adds: ‖α · v · W_O‖",
    );
    this.threshold = new Slider(
      "Weakest line",
      "Weaker lines are not drawn; on the left: those below an even share, 1/n",
      200,
      (at) => owner.set({ threshold: at === 0 ? null : Math.round((at / 200) ** 2 * 1000) / 1000 }),
    );
    this.top = new Slider("Lines a token", "The strongest lines of each token", TOP.length - 1, (at) =>
      owner.set({ top_k: TOP[at] ?? 0 }),
    );
    const rare = [
      [this.chips, "heads"],
      [this.all, "heads"],
      [this.aggregate.root, "aggregate,heads"],
      [this.threshold.root, "threshold"],
      [this.top.root, "top_k"],
    ] as const;
    for (const [control, keys] of rare) control.dataset.keys = keys;
    this.lines = h("div.ctlrow", this.picture.root, this.threshold.root, this.top.root);
    this.toggle = h("button.cta", {
      "data-export": "no",
      onclick: () => owner.set({ scale: owner.state.scale === "neuron" ? "head" : "neuron" }),
    });
    this.rest = h("div.rest", this.chips, this.all, this.aggregate.root, this.values.root, this.lines);
    this.root = h("div.ctl", { "data-export": "no" }, this.stepLayer, this.stepHead, this.rest);
    this.chips.addEventListener("click", (event) => this.click(event));
  }

  /** Move through layers and heads; the head stays where the layer has it. */
  move(layers: number, heads: number): void {
    const { part, state } = this.scene;
    const at = part.index.indexOf(state.layer) + layers;
    const layer = part.index[Math.min(part.index.length - 1, Math.max(0, at))]!;
    if (heads === 0) return this.owner.set({ layer });
    const own = headsOf(part, layer);
    const place = own.indexOf(this.scene.head) + heads;
    this.owner.set({ heads: [own[Math.min(own.length - 1, Math.max(0, place))]!] });
  }

  toggleAll(): void {
    const { scene } = this;
    const all = headsOf(scene.part, scene.state.layer);
    this.owner.set({
      heads: scene.heads.length > 1 ? [scene.head] : [...all.filter((head) => head !== scene.head), scene.head],
    });
  }

  // A click toggles and the last stays on; a double click isolates, and restores.
  private click(event: MouseEvent): void {
    const button = around(event, "button");
    if (!button) return;
    const head = Number(button.dataset.head);
    const { heads } = this.scene;
    if (event.detail === 2) {
      const alone = this.before.length === 1 && this.before[0] === head;
      this.owner.set({ heads: alone && this.several ? [...this.several] : [head] });
      if (this.before.length > 1) this.several = this.before;
      return;
    }
    if (event.detail > 2) return;
    this.before = heads;
    const without = heads.filter((each) => each !== head);
    this.owner.set({ heads: heads.includes(head) ? (without.length > 0 ? without : [head]) : [...heads, head] });
  }

  /** `panel`: where few controls are shown, what takes the others; a stepper stands for the row of heads. */
  update(scene: Scene, panel: HTMLElement | null): void {
    this.scene = scene;
    if (this.rest.parentElement !== (panel ?? this.root)) {
      if (panel) panel.prepend(this.rest);
      else this.root.append(this.rest);
      if (panel) this.root.append(this.picture.root);
      else this.lines.prepend(this.picture.root);
    }
    const { part, state, heads } = scene;
    const own = headsOf(part, state.layer);
    const neurons = state.scale === "neuron";
    this.layer.replaceChildren(h("i", { "data-short": "L" }, "Layer "), String(state.layer));
    this.neuronHead.replaceChildren(
      ...(heads.length > 1 && !neurons
        ? [`${heads.length} heads`]
        : [h("i", { "data-short": "H" }, "Head "), String(scene.head)]),
    );
    this.values.root.hidden = !neurons;
    this.stepHead.hidden = !neurons && !panel;
    this.chips.hidden = this.all.hidden = this.lines.hidden = neurons;
    this.threshold.root.hidden = this.top.root.hidden = state.picture !== "lines";
    const { threshold } = state;
    this.threshold.show(
      threshold === null ? 0 : Math.max(1, Math.round(Math.sqrt(threshold) * 200)),
      threshold === null ? "1/n" : brief(threshold),
    );
    const kept = TOP.indexOf(state.top_k);
    this.top.show(kept < 0 ? TOP.length - 1 : kept, state.top_k === 0 ? "all" : String(state.top_k));
    this.stepLayer.classList.toggle("off", state.aggregate === "layers");
    this.all.textContent = heads.length === own.length ? `only ${scene.head}` : "all";
    this.aggregate.root.hidden =
      neurons || (heads.length === 1 && state.aggregate !== "layers" && part.index.length === 1);
    this.aggregate.show(state);
    const alone =
      heads.length === 1
        ? "One head is open, and is its own mean and maximum: choose several (click their numbers, or a)"
        : null;
    for (const how of ["mean", "max"]) this.aggregate.disable(how, state.aggregate === how ? null : alone);
    this.picture.show(state);
    for (const [name, { offered }] of entries) {
      this.picture.offer(name, offered?.(part) ?? true);
      this.picture.disable(name, panel && state.scale !== "head" ? "pictures of one head" : null);
    }
    this.values.show(state);
    const norms =
      part.neurons?.some((layer) => layer?.v) || part.quantities.some((quantity) => quantity.name === "norms");
    const offered = offer(scene.data.payload, "norms");
    if (!norms && !offered) this.values.root.hidden = true;
    this.values.disable(norms || scene.data.live || !offered ? null : missing(offered));
    this.toggle.hidden = unread(part, state.layer, scene.head) !== null || state.side === "difference";
    this.toggle.classList.toggle("back", neurons);
    this.toggle.replaceChildren(
      ...(neurons ? [h("span", "←"), "Collapse to lines"] : ["Expand into q and k", h("span", "→")]),
    );
    this.toggle.title = neurons ? "Back to the head (Esc)" : "See how q and k make these weights (3)";
    if (this.listed.renewed(own))
      this.chips.replaceChildren(
        ...own.map((head) =>
          h(
            "button",
            {
              "data-head": head,
              "aria-label": `Head ${head}`,
              title: `Head ${head}: click toggles, double click isolates`,
            },
            String(head),
          ),
        ),
      );
    for (const chip of this.chips.children as Iterable<HTMLElement>) {
      const head = Number(chip.dataset.head);
      const on = heads.includes(head);
      chip.setAttribute("aria-pressed", String(on));
      chip.classList.toggle("cat", on && scene.many);
      chip.classList.toggle("alt", head >= 12);
      chip.style.setProperty("--c", on ? scene.color(head) : "transparent");
    }
  }
}
