// The choice of layer and heads, how several are put together, and the way to the neurons.

import { brief } from "../scene/format";
import { Of } from "../scene/made";
import { has, missing, offer } from "../scene/quantities";
import type { Owner, Scene } from "../scene/scene";
import { type Full, headsOf } from "../scene/state";
import { controls } from "./controls";
import { around, h } from "./dom";
import { entries } from "./pictures";

/** What the slider of the strongest lines a token steps through; 0 for all. */
const TOP = [1, 2, 3, 4, 5, 8, 10, 15, 20, 0];

const turnedAll = ({ part, state, head, heads }: Scene): Partial<Full> => ({
  heads: heads.length > 1 ? [head] : [...headsOf(part, state.layer).filter((each) => each !== head), head],
});

const PICTURED = Object.fromEntries(entries) as Record<Full["picture"], (typeof entries)[number][1]>;

export class HeadBar {
  private readonly layer = h("span");
  private readonly chips = h("div.chips", { role: "group", "aria-label": "Heads" });
  private readonly made: ReturnType<HeadBar["make"]>;
  private readonly neuronHead = h("span");
  private readonly stepHead: HTMLElement;
  private readonly stepLayer: HTMLElement;
  /** Few controls are shown. */
  private few = false;
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
    this.made = this.make();
    const { heads, aggregate, picture, values, threshold, top_k } = this.made;
    this.chips.dataset.keys = "heads";
    this.lines = h("div.ctlrow", picture.root, threshold.root, top_k.root);
    this.rest = h("div.rest", this.chips, heads.root, aggregate.root, values.root, this.lines);
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
    this.owner.set(turnedAll(this.scene));
  }

  private make() {
    const { owner } = this;
    const beside = ({ state }: Scene): boolean => state.scale !== "neuron";
    const lines = ({ state }: Scene): boolean => state.picture === "lines";
    const norms = ({ part }: Scene): boolean => Boolean(part.neurons?.some((layer) => layer?.v)) || has(part, "norms");
    const offered = ({ data }: Scene): ReturnType<typeof offer> => offer(data.payload, "norms");
    return controls(owner.set, {
      heads: {
        label: ({ part, state, heads, head }) =>
          heads.length === headsOf(part, state.layer).length ? `only ${head}` : "all",
        title: "All heads, or only the open one (a)",
        when: beside,
        next: turnedAll,
      },
      aggregate: {
        label: "Put together",
        options: [
          ["none", "Each"],
          ["mean", "Mean", "The mean of the chosen heads"],
          ["max", "Max", "The largest of the chosen heads"],
          ["layers", "Layers", "The mean of the chosen heads over all layers"],
        ],
        when: (scene) =>
          beside(scene) &&
          (scene.heads.length > 1 || scene.state.aggregate === "layers" || scene.part.index.length > 1),
        choice: ({ heads, state }, how) =>
          heads.length === 1 && ["mean", "max"].includes(how) && state.aggregate !== how
            ? "One head is open, and is its own mean and maximum: choose several (click their numbers, or a)"
            : null,
        look: "small",
      },
      picture: {
        label: "Picture",
        options: entries.map(([name, { label, title }]) => [name, label, title]),
        choice: ({ part, state }, name) =>
          PICTURED[name].offered?.(part) !== false &&
          (this.few && state.scale !== "head" ? "pictures of one head" : null),
        look: "small",
      },
      values: {
        label: "Values",
        title: "Value vectors, and the norm of what each key adds: ‖α · v · W_O‖",
        when: (scene) => !beside(scene) && (norms(scene) || offered(scene) !== undefined),
        choice: (scene) => (norms(scene) || scene.data.live ? null : missing(offered(scene)!)),
      },
      threshold: {
        label: "Weakest line",
        title: "Weaker lines are not drawn; on the left: those below an even share, 1/n",
        steps: 200,
        step: (threshold) =>
          threshold === null ? [0, "1/n"] : [Math.max(1, Math.round(Math.sqrt(threshold) * 200)), brief(threshold)],
        value: (at) => (at === 0 ? null : Math.round((at / 200) ** 2 * 1000) / 1000),
        when: lines,
      },
      top_k: {
        label: "Lines a token",
        title: "The strongest lines of each token",
        steps: TOP.length - 1,
        step: (kept) => [TOP.includes(kept) ? TOP.indexOf(kept) : TOP.length - 1, kept === 0 ? "all" : String(kept)],
        value: (at) => TOP[at] ?? 0,
        when: lines,
      },
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
      if (panel) this.root.append(this.made.picture.root);
      else this.lines.prepend(this.made.picture.root);
    }
    this.few = panel !== null;
    for (const each of Object.values(this.made)) each.show(scene);
    const { part, state, heads } = scene;
    const own = headsOf(part, state.layer);
    const neurons = state.scale === "neuron";
    this.layer.replaceChildren(h("i", { "data-short": "L" }, "Layer "), String(state.layer));
    this.neuronHead.replaceChildren(
      ...(heads.length > 1 && !neurons
        ? [`${heads.length} heads`]
        : [h("i", { "data-short": "H" }, "Head "), String(scene.head)]),
    );
    this.stepHead.hidden = !neurons && !panel;
    this.chips.hidden = this.lines.hidden = neurons;
    this.stepLayer.classList.toggle("off", state.aggregate === "layers");
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
