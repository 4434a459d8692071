// All heads beside one another: how each is drawn, in which order, where it stands, and what is said of it.

import type { MeasureColumn } from "../protocol";
import { length } from "./axis";
import { fromValues } from "./cut";
import { SQUARE } from "./data";
import { bare, brief, fixed } from "./format";
import { type Box, box, LINES_UP_TO, places, type Room } from "./gridlayout";
import { lineOf, reading } from "./pointed";
import { looksOf, meansOf, usual } from "./rows";
import type { Scene } from "./scene";
import { pointedIn, pool, type Thumb, Thumbs } from "./thumbs";

/** Lines in a smaller cell of the screen are a blot. */
const OF_LINES = 18;
/** Pixels that each token of a thumbnail must have for gold links to be drawn. */
const ROOM_OF_TOKEN = 2;

/** What a digit beside the grid takes, and the room between two numbers. */
const [DIGIT, APART] = [7, 5];

export interface Label {
  readonly index: number;
  /** Empty where there is no room for each. */
  readonly text: string;
  /** Where its column or its row begins. */
  readonly at: number;
}

const pooled = new WeakMap<Float64Array, Thumb>();

export class Heads {
  readonly thumbs: Thumbs;
  kind: Room["kind"] = "beside";
  box!: Box;
  order: readonly { readonly layer: number; readonly head: number }[] = [];
  /** The heads that any layer has, by the model's own indices. */
  columns: readonly number[] = [];

  /** `screen`: layers run across where there are more of them than heads, and small cells have no lines. */
  constructor(
    readonly scene: Scene,
    private readonly screen = false,
  ) {
    this.thumbs = new Thumbs(scene);
  }

  get measure(): MeasureColumn | undefined {
    return this.scene.part.measures.find((measure) => measure.name === this.scene.state.measure);
  }

  get lines(): boolean {
    const { part, state, against } = this.scene;
    if (this.kind === "mini" || against) return false;
    if (state.draw !== "auto") return state.draw === "lines";
    const tokens = Math.max(length(part.query, state.unfolded), length(part.key, state.unfolded));
    return !this.pictured && tokens <= LINES_UP_TO && !(this.screen && this.box.cell < OF_LINES);
  }

  /** Each cell is the input's picture, with what the head looks at. */
  get pictured(): boolean {
    const { part, state, input, against } = this.scene;
    const both =
      !against ||
      (part.peaks !== undefined &&
        against.part.peaks !== undefined &&
        part.key.boxes?.length === against.part.key.boxes?.length);
    return (
      part.looks !== undefined &&
      input.picture !== undefined &&
      both &&
      state.draw === "auto" &&
      state.quantity === "weights"
    );
  }

  /** Layers run across, and heads down. */
  get turned(): boolean {
    return this.screen && !this.scene.owner.printing && this.scene.part.index.length > this.columns.length;
  }

  /** How many cells stand side by side. */
  get across(): number {
    return (this.turned ? this.scene.part.index : this.columns).length;
  }

  /** What stands beside the numbers. */
  get axes(): { readonly across: string; readonly down: string } {
    return this.turned ? { across: "Layers", down: "Heads" } : { across: "Heads", down: "Layers" };
  }

  get sorted(): boolean {
    return this.scene.state.sort && this.noted;
  }

  /** A bar and a figure stand below each cell. */
  get noted(): boolean {
    return !!this.measure && this.kind !== "mini";
  }

  /** Tokens have room enough for gold links. */
  private get golden(): boolean {
    const { rows, columns, state, links } = this.scene;
    const tokens = Math.max(rows.items.length, columns.items.length);
    return state.gold && links.length > 0 && this.kind !== "mini" && this.box.cell / tokens >= ROOM_OF_TOKEN;
  }

  /** Of what is pointed at the head's row or column, or the weight between two tokens; null where it is not known. */
  along(layer: number, head: number): Thumb | null {
    const { scene, thumbs } = this;
    const focus = scene.pointed;
    if (!focus) return null;
    const line = lineOf(scene, focus, layer, head);
    const { rows, columns, quantity } = scene;
    if (!line) return pointedIn(thumbs.get(layer, head), focus, rows.items.length, columns.items.length);
    const across = focus.to === null ? line.length : 1;
    // Made once for a line: while others are read the cells are drawn again and again.
    const made = pooled.get(line);
    if (made) return made;
    const thumb = pool(
      fromValues(head, line.length / across, across, Float32Array.from(line), quantity.scale, quantity.signed),
    );
    pooled.set(line, thumb);
    return thumb;
  }

  /** What the token that is pointed at gives to each piece, for cells that are pictures. */
  given(layer: number, head: number): Float64Array | null {
    const { scene } = this;
    const from = scene.pointed?.from ?? null;
    const line = from === null ? null : lineOf(scene, { from, to: null }, layer, head);
    if (!line) return null;
    const found = new Float64Array(scene.part.key.pieces.length);
    scene.columns.items.forEach(({ start, end }, at) => found.fill(line[at]!, start, end));
    return found;
  }

  missing(): Promise<void>[] {
    const { data, part, against, lacking } = this.scene;
    if (!this.pictured || lacking) return this.thumbs.missing();
    const wanted = against ? [part.looks, part.peaks, against.part.looks, against.part.peaks] : [part.looks];
    return data.wanted(wanted);
  }

  /** What must be decoded before the heads of a layer can be drawn; null when all is there. */
  needs(layer: number): Promise<unknown> | null {
    const { data, part, state, pointed, owner } = this.scene;
    // On paper nothing is filled in later.
    const lacking = pointed && owner.printing ? reading(this.scene, pointed, layer) : null;
    if (this.pictured || lacking) return lacking;
    const found = this.thumbs.needs(layer);
    return found || !this.golden ? found : (data.wantedLayer(part, layer, state.quantity)[0] ?? null);
  }

  /** `room`: the height that it should keep to, endless on paper; `aspect`: how tall a cell is for its width. */
  lay(width: number, kind: Room["kind"], room: number, aspect: number): void {
    const { part } = this.scene;
    this.kind = kind;
    this.columns = [...new Set(part.heads.flat())].sort((a, b) => a - b);
    const letters = [
      `L${Math.max(...part.index)}H${Math.max(...this.columns)}`.length,
      this.measure?.units === "share" ? 4 : 5,
    ] as const;
    const { pictured, noted, sorted, across } = this;
    this.box = box({
      rows: (part.index.length * this.columns.length) / across,
      columns: across,
      width,
      kind,
      room,
      noted,
      sorted,
      letters,
      pictured,
      aspect,
      paper: room === Infinity,
    });
  }

  arrange(): void {
    const { scene, sorted, measure } = this;
    this.order = places(scene, sorted ? measure : undefined, scene.state.ascending, this.turned);
  }

  /** Where the cell at a place of the order stands, from the first one's corner. */
  corner(place: number): [number, number] {
    const { across } = this;
    return [(place % across) * this.box.step, Math.floor(place / across) * this.box.down];
  }

  /** The numbers of heads above the cells, and of layers before them, or turned; a sorted grid has none. */
  labels(): { readonly across: readonly Label[]; readonly down: readonly Label[] } {
    if (this.sorted) return { across: [], down: [] };
    const { box, turned, columns } = this;
    const { index } = this.scene.part;
    const some = (indices: readonly number[], from: number, step: number, least: number): Label[] =>
      indices.map((index, i) => ({
        index,
        text: i % Math.ceil(least / step) ? "" : String(index),
        at: from + i * step,
      }));
    const across = turned ? index : columns;
    const widest = DIGIT * String(Math.max(...across)).length + APART;
    return {
      across: some(across, box.gutter, box.step, widest),
      down: some(turned ? columns : index, box.top, box.down, 12),
    };
  }

  /** The figure below each place of the order; null where there are none. */
  figures(): readonly number[] | null {
    const { scene, measure, noted } = this;
    if (!measure || !noted) return null;
    return this.order.map(({ layer, head }) => scene.data.figure(scene.part, measure, layer, head));
  }

  /** What a head gives each key on average, or gives it more than the other of two inputs does. */
  means(layer: number, head: number): ArrayLike<number> {
    const { scene } = this;
    if (!scene.against) return Float64Array.from(looksOf(scene, layer, head) ?? [], (code) => SQUARE[code]!);
    const [mine, other] = [meansOf(scene, layer, head), meansOf(scene.against, layer, head)];
    return mine?.map((mean, key) => mean - (other?.[key] ?? 0)) ?? [];
  }

  /** What a head makes of the gold links, and of how many tokens; null where they are not drawn. */
  judged(layer: number, head: number) {
    const map = this.golden ? this.scene.map(layer, head) : null;
    return map && { rows: map.rows, columns: map.columns, links: this.scene.judge([map]) };
  }

  /** What the cells and what is below them mean, a sentence each, for who sees no controls. */
  notes(): string[] {
    const { scene, measure, sorted } = this;
    const { ascending, least } = scene.state;
    const found: string[] = [];
    if (this.pictured) {
      const [what, part, less] = scene.input.sound ? ["sound", "stretch", "pale"] : ["picture", "part", "dark"];
      const who = usual(scene.part) === "text" ? "the tokens of the text" : "all queries";
      const colours = scene.against ? "blue more, orange less in the first input" : `what gets less is ${less}`;
      found.push(`Each head on the ${what}: what ${who} give each ${part} on average; ${colours}.`);
    }
    if (measure && this.noted) {
      const units = measure.units === "share" ? "" : ` (${measure.units})`;
      const order = sorted ? `, the ${ascending ? "smallest" : "largest"} first, row by row` : "";
      const [whose, title] = scene.titled(measure);
      found.push(`Below each head${whose && `, ${whose}`}: ${title}${units}${order}.`);
      if (sorted && this.box.named === "none") {
        const first = this.order.slice(0, 5).map(({ layer, head }) => {
          const figure = scene.data.figure(scene.part, measure, layer, head);
          return `${scene.name(head, layer)} (${bare(fixed(figure, 2))})`;
        });
        found.push(`They begin with ${first.join(", ")}.`);
      }
      if (least > 0) found.push(`Heads below ${bare(brief(least))} are faint.`);
    }
    if (this.golden && !scene.against) found.push("Gold links are solid or filled where the head is right.");
    return found;
  }
}
