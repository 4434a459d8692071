// What one input shows: its tokens, its maps, and what is pointed at. Every picture of the input draws from this.

import type { AxisInfo, MeasureColumn, PartInfo, ReadsInfo } from "../protocol";
import { type Item, type Side, side } from "./axis";
import { COLOURS, type Theme } from "./color";
import { combine, cut, difference, received, type Shown } from "./cut";
import { type Gold, type Judged, judge, placed } from "./gold";
import { namesOf } from "./inputs";
import { Made } from "./made";
import { has, nameOf, quantityOf } from "./quantities";
import type { Data } from "./source";
import { choices, type Full, type Heeds, headsOf, partOf, unequal, unread, valuesOf } from "./state";

/** Places of the tokens that are pointed at, on their shown axes; null for none. */
export interface Focus {
  readonly from: number | null;
  readonly to: number | null;
  readonly neuron?: number;
}

export const focusOn = (side: "from" | "to", place: number): Focus => ({ from: null, to: null, [side]: place });

/** A line of a head, by places of pieces; with a query alone it is to the key with the largest weight. */
export interface Line {
  readonly layer: number;
  readonly head: number;
  readonly query: number;
  readonly key: number | null;
}

/** What the page calls two inputs, and what a live model is asked. */
export interface Sides {
  /** What the sentence of an input begins with, where other figures stand beside it. */
  readonly begins?: string;
  /** The weights of the model are rounded, which changes every figure. */
  readonly rounded?: boolean;
  /** Beside figures of theirs: "A", "B"; by default by their names. */
  readonly letters?: readonly string[];
  /** Whose the figures over the corpus are, where the inputs are of two models. */
  readonly measured?: string;
  /** Whether nothing is said of what heads do, as a lab asks for it. */
  asks?(): boolean;
  /** Why a line of an input is there. */
  why?(input: number, part: string, line: Line): Promise<ReadsInfo>;
  /** Change what the model does, such as "L4H2 off". */
  change?(text: string): void;
}

/** What the pictures ask of the explorer. */
export interface Owner {
  readonly state: Full;
  readonly theme: Theme;
  readonly set: (change: Partial<Full>) => void;
  /** Open a head; `add` adds it to those of its layer, or takes it away. */
  open(layer: number, head: number, add: boolean): void;
  hover(scene: Scene, focus: Focus | null): void;
  /** A token was clicked: it stands beside what is chosen on the other side. */
  pin(scene: Scene, side: "from" | "to", place: number): void;
  /** Pin one token, choose one on each side, or let go. */
  choose(scene: Scene, places: { readonly from: number | null; readonly to: number | null }): void;
  /** Something else sounds, while what sounds is followed. */
  follow(scene: Scene, focus: Focus | null): void;
  tip(content: Node | null, at?: Pick<MouseEvent, "clientX" | "clientY">, where?: "pointer" | "left" | "right"): void;
  ink(name: string): string;
  readonly host: Sides;
  /** The page is being printed: all is drawn at once, nothing scrolls. */
  readonly printing: boolean;
  /** Exact values of a head's row, by pieces; null where nobody can be asked. */
  exact(scene: Scene, head: number, quantity: string, row: number): Promise<Float32Array> | null;
  /** Say what went wrong in the place of the pictures. */
  fail(error: unknown): void;
}

/** What the maps are of, beside the tokens. */
const MAPS = ["part", "layer", "heads", "aggregate", "quantity", "renormalise"] as const;

export class Scene {
  static readonly heeds = {
    update: ["scale", "picture", "filter", "special", "sinks", "unit", "unfolded", ...MAPS, "gold"],
    focus: ["pin", "between"],
  } as const satisfies Heeds;
  hovered: Focus | null = null;
  /** What sounds while nothing is pointed at or pinned. */
  followed: Focus | null = null;
  /** The role whose heads alone are seen in the grid. */
  only: string | null = null;
  rows!: Side;
  columns!: Side;
  part!: PartInfo;
  private readonly maps = new Made<Shown[]>();
  private readonly sight = new Made<Uint32Array>();
  private readonly judgements = new Made<readonly Judged[]>();
  private readonly linked = new Made<readonly Gold[]>();

  constructor(
    readonly data: Data,
    readonly place: number,
    readonly owner: Owner,
    /** The input that is subtracted from this one. */
    readonly against: Scene | null = null,
  ) {
    this.refresh();
  }

  get state(): Full {
    return this.owner.state;
  }

  get input() {
    return this.data.payload.inputs[this.place]!;
  }

  /** Read the tokens again: the state has changed. */
  refresh(): void {
    const { rows, columns } = choices(this.state);
    this.against?.refresh();
    this.part = partOf(this.input, this.state.part);
    this.rows = side(this.part.query, rows);
    this.columns = side(this.part.key, columns);
    this.hovered = this.followed = null;
  }

  /** The shown tokens of a side. */
  tokens(side: "from" | "to"): Side {
    return side === "from" ? this.rows : this.columns;
  }

  /** All tokens of a side. */
  axis(side: "from" | "to"): AxisInfo {
    return side === "from" ? this.part.query : this.part.key;
  }

  /** The gold links that the shown tokens have. */
  get links(): readonly Gold[] {
    const { part, rows, columns } = this;
    return this.linked.of([part, rows, columns], () => placed(part, rows, columns));
  }

  /** Why nothing can be drawn, in a sentence; null where it can. */
  get lacking(): string | null {
    const { against, state } = this;
    for (const one of [this, ...(against ? [against] : [])]) {
      if (one.rows.items.length === 0 || one.columns.items.length === 0)
        return one.part.query.pieces.length * one.part.key.pieces.length === 0
          ? "This input has no tokens."
          : "No tokens are left: what is shown of this input is all hidden.";
      const why = state.scale === "neuron" && unread(one.part, state.layer, one.head);
      if (why) return `Input ${one.place + 1}: ${why}.`;
      if (!has(one.part, state.quantity))
        return `Input ${one.place + 1} has no ${nameOf(state.quantity)}: it came as maps, and a ${nameOf(state.quantity)} needs a model or to be given with them.`;
    }
    const why = against && unequal(this.data.payload, state);
    return why && `${why}. Show them side by side, or let another filter make them equal.`;
  }

  /** The matrix that is drawn; a difference has a sign. */
  get quantity() {
    const found = quantityOf(this.part, this.state.quantity);
    return { ...found, scale: found?.scale ?? 1, signed: this.against !== null || found?.signed === true };
  }

  /** The open head and, before it, the others that are shown. */
  get heads(): readonly number[] {
    const heads = headsOf(this.part, this.state.layer);
    const found = this.state.heads.filter((head) => heads.includes(head));
    return found.length > 0 ? found : heads.slice(0, 1);
  }

  /** The open layer, or all where the mean over them is shown. */
  get layers(): readonly number[] {
    const { aggregate, layer } = this.state;
    return aggregate === "layers" ? this.part.index : [layer];
  }

  get head(): number {
    return this.heads.at(-1) ?? 0;
  }

  get aggregated(): boolean {
    return this.state.aggregate === "layers" || (this.state.aggregate !== "none" && this.heads.length > 1);
  }

  get many(): boolean {
    return this.heads.length > 1 && !this.aggregated;
  }

  /** What must be decoded before the scene can be shown; empty when all is there. */
  missing(): Promise<void>[] {
    const { data, part, state, heads } = this;
    if (this.lacking) return [];
    const wanted = [
      ...this.layers.flatMap((layer) => data.wantedLayer(part, layer, state.quantity, heads)),
      ...data.wanted(this.layers.map((layer) => part.hidden?.[part.index.indexOf(layer)])),
    ];
    if (state.scale === "neuron") {
      const norms = state.values && has(part, "norms");
      wanted.push(
        // The softmax beside q and k is that of the weights, whatever else is drawn.
        ...data.wantedLayer(part, state.layer, "weights", heads),
        ...(norms ? data.wantedLayer(part, state.layer, "norms", heads) : []),
        ...(part.neurons && !data.neurons(part, state.layer) ? [data.loadNeurons(part, state.layer)] : []),
        ...data.wanted([part.sink?.[part.index.indexOf(state.layer)]]),
      );
    }
    return [...wanted, ...(this.against?.missing() ?? [])];
  }

  /** The measures that must be decoded before anything can be said of the heads. */
  unmeasured(): Promise<void>[] {
    const { data, part } = this;
    if (this.lacking) return [];
    const own = part.quantities.flatMap(({ measures = [] }) => measures);
    return data.wanted([...part.measures, ...own].map(({ values }) => values));
  }

  /** One map of a head as it is filtered now. */
  map(layer: number, head: number, quantity = this.state.quantity): Shown | null {
    const found = this.data.layer(this.part, layer, quantity, [head]);
    const place = headsOf(this.part, layer).indexOf(head);
    if (!found || place < 0) return null;
    return cut(found, place, head, this.rows, this.columns, this.state.renormalise && quantity === "weights");
  }

  /** The share of the open head's weight, by the mean of the shown queries, that the sinks which are left out take; null for none. */
  get leftOut(): number | null {
    const { data, part, state, head } = this;
    const at = part.key.sinks ?? [];
    if (state.sinks || at.length === 0 || state.quantity !== "weights" || this.many || this.aggregated || this.against)
      return null;
    const found = data.layer(part, state.layer, "weights", [head]);
    const place = headsOf(part, state.layer).indexOf(head);
    if (!found || place < 0) return null;
    const every = side(part.key, { ...choices(state).columns, sinks: true });
    const shares = received(cut(found, place, head, this.rows, every, false));
    return at.reduce((sum, start) => sum + (shares[every.of[start]!] ?? 0), 0);
  }

  /** Whether none of the open heads can see a shown pair, nor those of the input that is subtracted. */
  hides(from: number, to: number): boolean {
    const { data, part, against } = this;
    const [row, column] = [this.rows.items[from], this.columns.items[to]];
    if (!row || !column) return false;
    if (!part.hidden) {
      // Later keys are unseen, and no others.
      const last = row.end - 1 + part.key.pieces.length - part.query.pieces.length;
      return part.causal && column.start > last && (against?.hides(from, to) ?? true);
    }
    const differ = part.hidden.some((ref) => ref.shape[0] !== 1);
    const heads = differ ? this.heads : [this.head];
    for (const layer of this.layers) {
      for (const head of heads) {
        for (let query = row.start; query < row.end; query++) {
          for (let key = column.start; key < column.end; key++)
            if (!data.unseen(part, layer, head, query, key)) return false;
        }
      }
    }
    return against?.hides(from, to) ?? true;
  }

  /** How many of the shown keys each shown query sees, [row]. */
  get seen(): Uint32Array {
    const { part, state, rows, columns } = this;
    const differ = part.hidden?.some((ref) => ref.shape[0] !== 1);
    const layer = state.aggregate === "layers" ? "all" : state.layer;
    const of = [part, layer, differ && this.heads, rows, columns, this.decoded];
    return this.sight.of(of, () => this.see());
  }

  private see(): Uint32Array {
    const { part, rows, columns } = this;
    const { items } = columns;
    const later = part.key.pieces.length - part.query.pieces.length;
    const mask =
      part.hidden && !this.against && rows.all && columns.all ? this.data.hidden(part, this.layers, this.heads) : null;
    const count = ({ end }: Item, from: number): number => {
      if (mask)
        return (
          items.length -
          mask.subarray(from * items.length, (from + 1) * items.length).reduce((sum, one) => sum + one, 0)
        );
      if (part.hidden) return items.reduce((sum, _, to) => sum + Number(!this.hides(from, to)), 0);
      const first = part.causal ? items.findIndex((item) => item.start >= end + later) : -1;
      return first < 0 ? items.length : first;
    };
    return Uint32Array.from(rows.items, count);
  }

  // What the maps are of.
  private get open(): readonly unknown[] {
    return [...valuesOf(this.state, MAPS), this.rows, this.columns, this.decoded];
  }

  // How much of what is open has been decoded: what is made before is made anew, as when a token is pointed at
  // meanwhile.
  private get decoded(): number {
    const { data, part, state, against } = this;
    const there = this.layers.flatMap((layer) => {
      const hidden = part.hidden?.[part.index.indexOf(layer)];
      return [data.layer(part, layer, state.quantity, this.heads), hidden && data.array(hidden)].filter(Boolean);
    });
    return there.length + (against?.decoded ?? 0);
  }

  /**
   * The maps that are open: one a head, or their aggregate; of the difference where two inputs are compared, if they
   * have as many tokens. The same list while they are the same.
   */
  shown(): Shown[] {
    return this.maps.of(this.open, () => {
      const [shown, others] = [this.own(), this.against?.own()];
      if (!others) return shown;
      const equal = shown.every(
        (map, at) => !others[at] || (others[at].rows === map.rows && others[at].columns === map.columns),
      );
      return equal ? shown.map((map, at) => (others[at] ? difference(map, others[at]) : map)) : [];
    });
  }

  /** The gold links as what is open makes of them; beside q and k by the weights of one head. */
  judged(): readonly Judged[] {
    const { scale, gold, layer } = this.state;
    return this.judgements.of([...this.open, scale, gold], () => {
      const alone = scale === "neuron" ? this.map(layer, this.head, "weights") : null;
      return this.judge(scale !== "neuron" ? this.shown() : alone ? [alone] : []);
    });
  }

  /** The gold links as some maps make of them; none over a difference, where nothing is right or wrong. */
  judge(maps: readonly Shown[]): Judged[] {
    return this.state.gold && !this.against ? this.links.map((gold) => judge(gold, maps)) : [];
  }

  private own(): Shown[] {
    const { aggregate } = this.state;
    const maps = this.layers.flatMap((one) => this.heads.flatMap((head) => this.map(one, head) ?? []));
    if (!this.aggregated) return maps;
    return maps.length > 0
      ? [combine(maps, aggregate === "max" ? "max" : "mean")].map((map) => ({ ...map, head: -1 }))
      : [];
  }

  /** What is pointed at, and what is pinned under it, or what sounds. */
  get focus(): Focus | null {
    return this.under ?? this.followed;
  }

  /** What is pointed at, on either side. */
  get focused(): Focus {
    return this.focus ?? { from: null, to: null };
  }

  /** The tokens that all heads are asked about: one that is pointed at or pinned, or two. */
  get pointed(): Focus | null {
    const { rows, columns, under } = this;
    // What is pointed at may be a token that is shown no longer.
    const from = under?.from != null && rows.items[under.from] ? under.from : null;
    const to = under?.to != null && columns.items[under.to] ? under.to : null;
    return from === null && to === null ? null : { from, to };
  }

  private get under(): Focus | null {
    const { pinned, hovered } = this;
    if (!pinned) return hovered;
    if (!hovered || (hovered.from === null && hovered.to === null))
      return { ...pinned, ...(hovered?.neuron === undefined ? {} : { neuron: hovered.neuron }) };
    return { ...hovered, from: hovered.from ?? pinned.from, to: hovered.to ?? pinned.to };
  }

  /** The place of the pinned token on its shown axis; of two chosen ones both. */
  get pinned(): Focus | null {
    const { pin, between } = this.state;
    if (between) {
      const [from, to] = [this.rows.of[between[0]!] ?? -1, this.columns.of[between[1]!] ?? -1];
      return from < 0 && to < 0 ? null : { from: from < 0 ? null : from, to: to < 0 ? null : to };
    }
    if (!pin) return null;
    const side = pin[0] as "from" | "to";
    const place = this.tokens(side).of[Number(pin[1])] ?? -1;
    return place < 0 ? null : focusOn(side, place);
  }

  /** The two chosen tokens' places on their shown axes; null where not both are chosen and shown. */
  get pair(): { readonly from: number; readonly to: number } | null {
    const { from, to } = this.pinned ?? { from: null, to: null };
    return from === null || to === null ? null : { from, to };
  }

  /** Nothing is pointed at any more. */
  leave(): void {
    this.owner.hover(this, null);
    this.owner.tip(null);
  }

  get colours(): typeof COLOURS.light {
    return COLOURS[this.owner.theme];
  }

  get accent(): string {
    return this.colours.accent;
  }

  /** Whose figures are, "in A", where two inputs are there; beside a difference too they are the first's. */
  whose(of: MeasureColumn["of"] = "input"): string {
    const { letters, measured } = this.owner.host;
    if (of === "corpus") return measured ? `in ${measured}` : "";
    return this.data.payload.inputs.length === 2 ? `in ${namesOf(this.data.payload.inputs, letters)[this.place]}` : "";
  }

  /** What a measure is called in a list; whose it is stands first, as the end of a long name is cut. */
  called(measure: MeasureColumn): string {
    return this.titled(measure).filter(Boolean).join(": ");
  }

  /** Whose a measure is, where that is not plain, and its title. */
  titled({ name, of, title }: MeasureColumn): [whose: string, title: string] {
    const whose = name !== "difference" && (of === "corpus" || this.against) ? this.whose(of) : "";
    return [whose, of === "corpus" ? `${title} over the corpus` : title];
  }

  /** The colour of a head: its own where several are open. */
  color(head: number): string {
    return this.many && head >= 0 ? this.colours.heads[head % 12]! : this.accent;
  }

  /** The colour of a line or bar. */
  stroke(map: Shown, at: number): string {
    if (map.sign && !this.many) return map.sign[at]! < 0 ? this.colours.minus : this.colours.plus;
    return this.color(map.head);
  }

  name(head = this.head, layer = this.state.layer): string {
    const { aggregate } = this.state;
    if (head >= 0) return `L${layer}H${head}`;
    const what = aggregate === "max" ? "max" : "mean";
    if (aggregate === "layers")
      return this.heads.length > 1 ? `mean of ${this.heads.length} heads, all layers` : `H${this.head}, mean of layers`;
    return `L${layer} ${what} of ${this.heads.length}`;
  }
}
