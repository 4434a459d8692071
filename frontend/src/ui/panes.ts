// One input's pictures: the grid with its measures on the left, a head or its neurons on the right.

import { strip } from "../draw/canvas";
import { PALETTES } from "../scene/color";
import { clamp } from "../scene/format";
import { summaryBox } from "../scene/gridlayout";
import { alike } from "../scene/made";
import { reading } from "../scene/pointed";
import { differenceOf, heading, legend } from "../scene/says";
import { Scene } from "../scene/scene";
import type { Full, Heeds } from "../scene/state";
import { Answer } from "./answer";
import { controls } from "./controls";
import { around, h } from "./dom";
import { turnable } from "./fold";
import { goldKey } from "./goldkey";
import { Grid } from "./grid";
import { Matrix } from "./matrix";
import { Neuron } from "./neuron";
import { entries, type Picture, type Pictures } from "./pictures";
import { Ranks } from "./ranks";
import { Roles } from "./roles";
import { toolbar } from "./roving";
import { RowTable } from "./rowtable";
import { reads } from "./toolbar";
import { Writers } from "./writers";

export interface Place {
  /** Two columns in the pane, one, or one of two panes side by side. */
  readonly form: "wide" | "narrow" | "half";
  readonly width: number;
  /** Height that a large picture should keep to. */
  readonly room: number;
  /** Height of the window. */
  readonly screen: number;
}

/** From this width on the matrix and the measures have a column of their own. */
const BROAD = 2200;
const GAP = 40;
/** What of the window's height the grid takes beside a picture (and of its smallest cells at most), and above it. */
const [BESIDE, MOST, STRIP] = [0.48, 0.6, [0.18, 96, 220]] as const;
/** A narrower grid has neither its controls above it nor the measures below. */
const SLIM = 400;
/** Measures in a line of their own are no wider. */
const MEASURED = 640;
/** The neuron view is no narrower than this, with value vectors or without: it moves sideways in a box of its own. */
const NEURONS = { without: 288, values: 360 };
/** While layers are read the grid is drawn anew so often, in milliseconds. */
const READ_FOR = 250;
/** A token that is pointed at for so many milliseconds is asked of all heads. */
const REST = 300;
/** On paper nothing scrolls; a canvas may not be taller than this. */
const PRINTED = 8000;

/** The widths of the grid, of a head's picture, and of the matrix and measures where they are not below one of these. */
function columnsOf({ form, width }: Place, model: boolean): readonly [number, number, number] {
  if (form !== "wide" || model) return [width, width, 0];
  if (width < BROAD) {
    const left = Math.round(width < 900 ? width * 0.36 : Math.max(Math.min(580, width * 0.41), width * 0.4));
    return [left, width - left - GAP, 0];
  }
  const [left, last] = [Math.round(width * 0.27), Math.round(width * 0.22)];
  return [left, width - left - last - 2 * GAP, last];
}

/** What the next press sorts by: the measure, the measure reversed, the model's order. */
const turned = ({ sort, ascending }: Full): Partial<Full> =>
  !sort ? { sort: true, ascending: false } : { sort: !ascending, ascending: !ascending };

const AROUND: readonly Heeds[] = [Grid.heeds, Ranks.heeds];
const DRAWN: readonly Heeds[] = [
  Scene.heeds,
  Neuron.heeds,
  ...entries.flatMap(([, { picture }]) => picture.heeds ?? []),
];

/** What of the state each step of drawing a pane heeds; another input or theme is another pane, or all of it anew. */
export const HEEDS: Readonly<Record<"main" | "rest" | "focus", ReadonlySet<keyof Full>>> = {
  main: new Set([...DRAWN.flatMap(({ update = [] }) => update), "input", "side", "theme"]),
  rest: new Set(AROUND.flatMap(({ update = [] }) => update)),
  focus: new Set(DRAWN.flatMap(({ focus = [] }) => focus)),
};

export class Pane {
  readonly root = h("div.pane");
  readonly grid: Grid;
  readonly matrix: Matrix;
  /** The pictures of a head, of which one is shown. */
  readonly pictures: Pictures;
  readonly neuron: Neuron;
  private readonly ranks: Ranks;
  private readonly spoken: RowTable;
  private readonly writers: Writers;
  /** What the outlines of gold links say. */
  private readonly gold = h("div.goldkey");
  private readonly left = h("div.left");
  readonly right = h("div.rightpane");
  private readonly summary = h("div.summary");
  private readonly title = h("h2");
  private readonly answer: Answer;
  private readonly roles: Roles;
  private readonly which = h("div.which");
  /** Stands in the place of pictures that cannot be drawn. */
  private readonly gap = h("p.gap", { role: "status" });
  private readonly saved: HTMLElement[];
  private readonly made: ReturnType<Pane["make"]>;
  private readonly least: HTMLInputElement;
  private readonly ramp = h("canvas");
  private readonly ticks = h("div.ticks");
  /** What the scale is of: the matrix by its name. */
  private readonly scaled = h("span.scaled", { "aria-hidden": "true" });
  private readonly legend = h("div.legend", { "aria-hidden": "true" }, this.ramp, this.ticks);
  private readonly gridHead: HTMLElement;
  readonly gridPane: HTMLElement;
  /** To be called when the controls of the grid have changed. */
  readonly stops: () => void;
  /** Where the controls of the head stand, in a pane that has its own. */
  readonly slot = h("div.slot");
  private frame = 0;
  private job = 0;
  /** Layers were read that the grid and the sentence do not know of yet. */
  private unshown = false;
  /** Null until it has been drawn. */
  private place: Place | null = null;

  constructor(readonly scene: Scene) {
    const { owner } = scene;
    this.made = this.make();
    this.least = h("input.least", {
      type: "range",
      min: 0,
      max: 100,
      step: 1,
      "aria-label": "Dim heads below",
      title: "Dim heads below",
      oninput: () => owner.set({ least: Math.round((Number(this.least.value) / 100) * this.top * 1000) / 1000 }),
    });
    this.gridHead = h(
      "div.panehead",
      { "data-export": "no" },
      h("h2", "Heads"),
      this.made.draw.root,
      this.made.measure.root,
      this.made.sort.root,
      this.least,
      h("span.grow"),
      this.scaled,
      this.legend,
    );
    this.stops = toolbar(this.gridHead, "Grid");
    this.gridPane = h("div.gridpane", this.gridHead);
    this.grid = new Grid(this.gridPane, scene);
    this.roles = new Roles(scene, () => {
      this.roles.update();
      this.grid.point(false);
    });
    this.left.append(this.gap, this.gridPane, this.roles.root, this.summary);
    this.answer = new Answer(scene);
    this.matrix = new Matrix(this.summary, scene, false);
    this.ranks = new Ranks(this.summary, scene);
    this.right.append(h("div.panehead", this.title), this.slot);
    this.pictures = Object.fromEntries(
      entries.map(([name, { picture: One }]) => [name, new One(this.right, scene)]),
    ) as Pictures;
    this.neuron = new Neuron(this.right, scene);
    this.writers = new Writers(scene);
    this.right.append(this.gold, this.writers.root);
    // A picture that leaves the page says of what it is.
    this.saved = [h("div.saved.sub"), h("div.saved.sub")];
    this.right.append(this.saved[0]!);
    this.gridPane.append(this.saved[1]!);
    this.spoken = new RowTable(this.right, scene);
    turnable(this.root, scene);
    this.root.append(this.which, this.answer.root, this.left, this.right);
    this.left.dataset.undrawn = "";
    for (const picture of [...Object.values(this.pictures), this.neuron]) picture.root.hidden = true;
    // A picture that is not shown, or not drawn yet, has no geometry: it answers to nothing.
    const unseen = (event: Event): void => {
      if (around(event, "[hidden], [data-undrawn]")) event.stopImmediatePropagation();
    };
    for (const kind of ["click", "pointerover", "pointermove", "pointerup", "focus"])
      this.root.addEventListener(kind, unseen, { capture: true });
  }

  private make() {
    return controls(this.scene.owner.set, {
      draw: {
        label: "Thumbnails",
        options: [
          ["auto", "Picture"],
          ["heat", "Heat"],
          ["lines", "Lines"],
        ],
        when: ({ against, part }) => against === null || Boolean(part.peaks),
        of: () => this.grid.drawing,
        choice: ({ part, against }, draw) =>
          ({ auto: part.looks !== undefined, heat: true, lines: !against })[draw] && null,
        look: "small",
      },
      measure: {
        label: "Measure",
        cap: "Colour heads by",
        look: "list",
        options: (scene) => [
          ["none", "nothing"],
          ...scene.part.measures.map((each) => [each.name, scene.called(each)] as const),
        ],
        set: (measure) => ({ measure, ...(measure === "none" && { sort: false, ascending: false }), least: 0 }),
      },
      sort: {
        label: ({ state }) => (!state.sort ? "sort by it" : state.ascending ? "smallest first ↑" : "largest first ↓"),
        title: ({ state }) =>
          !state.sort
            ? "Sort the heads by the measure, the largest first"
            : state.ascending
              ? "Back to the model's order"
              : "Reverse: the smallest first",
        when: ({ state }) => state.measure !== "none",
        next: ({ state }) => turned(state),
      },
    });
  }

  /** The picture of a head that is shown; null beside q and k, and where there is the grid alone. */
  private get shown(): Picture | null {
    const { scale, picture } = this.scene.state;
    return scale === "head" ? this.pictures[picture] : null;
  }

  missing(): Promise<void>[] {
    const { scene } = this;
    if (scene.lacking) return [];
    return [...this.grid.missing(), ...scene.missing(), ...scene.unmeasured()];
  }

  get settled(): boolean {
    return this.grid.done && this.shown?.done !== false;
  }

  private get top(): number {
    const { scene } = this;
    const measure = scene.part.measures.find((each) => each.name === scene.state.measure);
    if (!measure || measure.units === "share") return 1;
    return Math.max(1e-6, ...[...(scene.data.array(measure.values) ?? [])].filter(Number.isFinite));
  }

  /** What was pointed at: drawn at once. `rest` follows a frame later. */
  main(place: Place): void {
    this.place = place;
    const { scene, left, right } = this;
    const { state } = scene;
    const { form } = place;
    const model = state.scale === "model";
    const wide = form === "wide" && !model;
    const mini = form !== "wide" && !model;
    const [leftWidth, rightWidth, last] = columnsOf(place, model);
    this.root.classList.toggle("columns2", wide);
    this.root.classList.toggle("broad", last > 0);
    this.root.classList.toggle("mini", mini);
    left.style.width = `${leftWidth}px`;
    right.style.width = `${rightWidth}px`;
    // Below the picture, or in a column of their own, or below the grid.
    const home = mini || last > 0 || leftWidth < SLIM ? this.root : left;
    if (this.summary.parentElement !== home) home.append(this.summary);
    this.summary.style.width = last > 0 ? `${last}px` : "";
    const { lacking } = scene;
    right.hidden = model || lacking !== null;
    this.gap.hidden = lacking === null;
    this.gap.textContent = lacking;
    this.gridPane.hidden = this.roles.root.hidden = lacking !== null;
    const { inputs } = scene.data.payload;
    this.which.hidden = inputs.length !== 2;
    const told = (place: number): HTMLElement => h("div", ...reads(inputs[place]!));
    this.which.replaceChildren(
      ...(state.side === "both" ? [scene.place] : inputs.length === 2 ? [0, 1] : []).map(told),
    );
    for (const picture of Object.values(this.pictures)) picture.root.hidden = picture !== this.shown;
    this.neuron.root.hidden = state.scale !== "neuron";
    this.answer.update();
    this.writers.update();
    if (lacking !== null) return;
    for (const line of this.saved) line.textContent = `${scene.data.payload.model}: ${differenceOf(scene)}`;
    this.title.textContent = heading(scene);
    void this.read();
    if (model) return this.drawGrid(leftWidth, place);
    const tallest = scene.owner.printing
      ? PRINTED
      : wide
        ? Math.min(1000, Math.max(620, place.room - 40))
        : Math.max(480, Math.min(place.room - 60, 900));
    this.shown?.update({ width: rightWidth, tallest, tall: Math.max(420, place.room - 60) });
    goldKey(this.gold, scene);
    if (!this.neuron.root.hidden)
      this.neuron.update(Math.max(state.values ? NEURONS.values : NEURONS.without, rightWidth), tallest);
  }

  rest(): void {
    const { scene, place } = this;
    if (!place) return;
    const model = scene.state.scale === "model";
    const [leftWidth, , last] = columnsOf(place, model);
    this.summary.hidden = scene.lacking !== null || (model && !scene.pair);
    if (this.summary.hidden) return;
    if (!model) {
      this.spoken.update();
      this.drawGrid(leftWidth, place);
    }
    const own = this.shown === this.pictures.matrix || this.shown === this.pictures.image; // of areas it says nothing
    const alone = model || place.form !== "wide" || leftWidth < SLIM || own;
    this.matrix.root.hidden = alone;
    if (!alone) {
      const matrix = last > 0 ? Math.min(last, place.screen / 2) : summaryBox(leftWidth).matrix;
      this.matrix.update({ width: matrix, tall: matrix });
    }
    const beside = alone ? 0 : this.matrix.size + 28;
    const width = leftWidth < SLIM ? place.width : leftWidth;
    this.ranks.update(last > 0 ? last : model ? width : Math.min(MEASURED, width - beside));
  }

  private drawGrid(width: number, place: Place): void {
    const { scene } = this;
    const { state } = scene;
    const kind = state.scale === "model" ? "large" : place.form === "wide" ? "beside" : "mini";
    delete this.left.dataset.undrawn;
    this.gridHead.hidden = kind !== "large" && (kind === "mini" || width < SLIM);
    const { screen } = place;
    const [share, least, most] = STRIP;
    const room = { large: place.room - 60, beside: screen * BESIDE, mini: clamp(screen * share, least, most) }[kind];
    this.grid.update(width, kind, room, kind === "beside" ? screen * MOST : room);
    for (const each of Object.values(this.made)) each.show(scene);
    this.least.hidden = state.measure === "none";
    this.least.value = String(Math.round((state.least / this.top) * 100));
    this.roles.update();
    this.legend.hidden = this.scaled.hidden = this.grid.drawing !== "heat";
    this.scale();
  }

  private scale(): void {
    const palette = PALETTES[this.scene.owner.theme];
    const { of, signed, ticks } = legend(this.scene);
    strip(this.ramp, signed ? palette.diverging : palette.sequential, 132, 8);
    this.scaled.textContent = this.scaled.title = of;
    this.ticks.replaceChildren(...ticks.map(({ at, text }) => h("span", { style: `left:${100 * at}%` }, text)));
  }

  /** Only what is pointed at has changed. */
  focus(): void {
    if (!this.place || this.scene.lacking) return;
    this.point();
    if (this.scene.state.scale !== "model") this.spoken.update();
    this.shown?.focus();
    if (!this.neuron.root.hidden) this.neuron.focus();
    this.writers.update();
    if (this.scene.state.scale !== "model" && !this.matrix.root.hidden) this.matrix.focus();
  }

  // All heads answer to what is pointed at, a frame later.
  private point(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      this.answer.update();
      this.grid.point(false);
      void this.read();
    });
  }

  // Of a token that is pinned, or rested on, the layers that are not there are read, one after another; what is known of
  // them is shown.
  private async read(): Promise<void> {
    const job = ++this.job;
    const { scene } = this;
    const { pinned, pointed } = scene;
    if (!pointed) return;
    if (!alike(pinned, pointed)) await new Promise((rested) => window.setTimeout(rested, REST));
    if (job !== this.job) return;
    let shown = performance.now();
    const show = (): void => {
      shown = performance.now();
      this.unshown = false;
      this.answer.update();
      this.grid.point(true);
    };
    for (const layer of scene.part.index) {
      const wanted = reading(scene, pointed, layer);
      if (!wanted) continue;
      try {
        await wanted;
      } catch (error) {
        return scene.owner.fail(error);
      }
      this.unshown = true;
      if (job !== this.job) return;
      if (performance.now() - shown > READ_FOR) show();
    }
    if (this.unshown) show();
  }

  /** Where the keyboard enters what a reader comes for: the open head, or the grid of all. */
  get entrance(): HTMLElement {
    const from = this.scene.state.scale === "model" ? this.grid.root : this.right;
    const stops = [...from.querySelectorAll<HTMLElement>(":scope [tabindex='0']:is(canvas, [role=listbox])")];
    return stops.find((each) => each.checkVisibility()) ?? from;
  }

  destroy(): void {
    this.job++;
    cancelAnimationFrame(this.frame);
    for (const part of [this.grid, ...(Object.values(this.pictures) as Picture[]), this.spoken]) part.destroy?.();
    this.root.remove();
  }
}
