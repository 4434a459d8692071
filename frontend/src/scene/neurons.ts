// The open head neuron by neuron: the query that is followed, what its row is made of, and what is said of it.

import type { Item } from "./axis";
import { value } from "./cut";
import { brief, figure, fixed } from "./format";
import { concerns, type Judged } from "./gold";
import { type NeuronBox, type NeuronRoom, neuronBox } from "./neuronlayout";
import { highlight, shows } from "./opening";
import { has } from "./quantities";
import type { Scene } from "./scene";
import { product, type Scores, scores, span, vector } from "./scores";
import type { LayerNeurons } from "./source";
import { headsOf, unread } from "./state";

/** The shown keys of the query that is followed. */
export interface Row extends Scores {
  readonly query: number;
  readonly weights: Float32Array;
  readonly norms: Float32Array | null;
  readonly sink: { readonly logit: number; readonly weight: number } | null;
  /** q × k of each key; null for those that it cannot see. */
  readonly products: readonly (Float32Array | null)[];
  /** The largest score and norm: what fills a bar. */
  readonly most: { readonly score: number; readonly norm: number };
}

/** What stands above a block. */
export interface Head {
  readonly x: number;
  readonly width: number;
  readonly title: string;
  readonly below: string;
}

/** Vectors under one another, and what the strongest colours stand for. */
export interface Block {
  readonly name: "q" | "k" | "v";
  readonly vectors: readonly Float32Array[];
  readonly scale: number;
}

/** All numbers of one vector. */
export interface Chart {
  readonly name: string;
  readonly values: Float32Array;
}

/** A sentence in which tokens stand out. */
export type Words = readonly (Item | string)[];

/** What the ends of the colours mean. */
export const SIGNS = ["negative", "positive"] as const;

export class Neurons {
  private constructor(
    private readonly scene: Scene,
    readonly layer: LayerNeurons,
    /** The head's place among those of its layer whose queries are here. */
    private readonly place: number,
    /** That of its keys and values. */
    private readonly keyHead: number,
  ) {}

  /** Null where q and k are not there, or not decoded. */
  static of(scene: Scene): Neurons | null {
    const { data, part, state, head } = scene;
    const layer = unread(part, state.layer, head) ? undefined : data.neurons(part, state.layer);
    if (!layer) return null;
    const place = layer.info.heads.indexOf(head);
    return new Neurons(scene, layer, place, layer.info.key_head[place] ?? 0);
  }

  get size(): number {
    return this.layer.q.shape[2];
  }

  get vectors(): boolean {
    return this.scene.state.values && this.layer.v !== null;
  }

  get normed(): boolean {
    return this.scene.state.values && has(this.scene.part, "norms");
  }

  /** Rows of the picture: tokens, and the sink below the keys. */
  get rows(): number {
    const { rows, columns } = this.scene;
    return Math.max(rows.items.length, columns.items.length + (this.layer.info.sinks ? 1 : 0));
  }

  /** The geometry in so much room; `widest`: of the tokens. */
  box(room: Pick<NeuronRoom, "width" | "widest" | "tallest" | "touch" | "paper">): NeuronBox {
    const { rows, size, vectors, normed: norms, scene } = this;
    const { query, key } = scene.part;
    const tokens = Math.max(query.pieces.length, key.pieces.length);
    return neuronBox({ ...room, rows, tokens, size, vectors, norms });
  }

  /** The query that is followed: pointed at, pinned, that of what stands out, or the first that is no special token. */
  get query(): number {
    const { hovered, pinned, rows, part, state, head } = this.scene;
    const does = highlight(part, state.layer, head);
    const link = does && shows({ ...does, moved: null }) > 1 ? (rows.of[does.query] ?? -1) : -1;
    const first = part.causal ? rows.items.length - 1 : rows.items.findIndex((item) => !item.special);
    return hovered?.from ?? pinned?.from ?? (link >= 0 ? link : Math.max(0, first));
  }

  q(item: Item): Float32Array {
    return vector(this.layer.q, this.place, item.start);
  }

  k(item: Item): Float32Array {
    return vector(this.layer.k, this.keyHead, item.start);
  }

  v(item: Item): Float32Array | null {
    return this.layer.v && vector(this.layer.v, this.keyHead, item.start);
  }

  /** The vectors of each block that does not change with the query, and the scale of its colours. */
  blocks(): Block[] {
    const { rows, columns } = this.scene;
    const block = (name: Block["name"], items: readonly Item[], of: (item: Item) => Float32Array): Block => {
      const vectors = items.map(of);
      return { name, vectors, scale: span(vectors) };
    };
    return [
      block("q", rows.items, (item) => this.q(item)),
      block("k", columns.items, (item) => this.k(item)),
      ...(this.vectors ? [block("v", columns.items, (item) => this.v(item)!)] : []),
    ];
  }

  /** What a query's row is made of; null where its weights have not been decoded. */
  row(query = this.query): Row | null {
    const { scene, layer } = this;
    const { part, state, head, data } = scene;
    const columns = scene.columns.items;
    const item = scene.rows.items[query];
    const map = item && scene.map(state.layer, head, "weights");
    if (!map) return null;
    const found = scores(layer, this.place, item.start, (key) => data.unseen(part, state.layer, head, item.start, key));
    const pick = (from: Float32Array): Float32Array => Float32Array.from(columns, (column) => from[column.start]!);
    const norms = this.normed ? scene.map(state.layer, head, "norms") : null;
    const of = (from: typeof map): Float32Array =>
      Float32Array.from(columns, (_, b) => value(from, query * from.columns + b));
    const masked = Uint8Array.from(columns, (column) => found.masked[column.start]!);
    const [all, added] = [pick(found.scores), norms && of(norms)];
    const mine = this.q(item);
    return {
      query,
      dots: pick(found.dots),
      bias: found.bias && pick(found.bias),
      scores: all,
      masked,
      weights: of(map),
      norms: added,
      sink: this.sink(item.start),
      products: columns.map((column, b) => (masked[b] ? null : product(mine, this.k(column)))),
      most: {
        score: all.reduce((most, score, b) => (masked[b] ? most : Math.max(most, Math.abs(score))), 1e-6),
        norm: added?.reduce((most, norm) => Math.max(most, norm), 1e-9) ?? 1,
      },
    };
  }

  // What the sink of this head takes of a query's row.
  private sink(query: number): Row["sink"] {
    const { layer, scene } = this;
    const { part, state, data, head } = scene;
    const logit = layer.info.sinks?.[this.place];
    if (logit === undefined) return null;
    const given = part.sink?.[part.index.indexOf(state.layer)];
    const byte =
      (given && data.array(given)?.[headsOf(part, state.layer).indexOf(head) * layer.q.shape[1] + query]) ?? 0;
    return { logit, weight: given?.encoding === "sqrt" ? (byte / 255) ** 2 : byte };
  }

  /** The gold links of a query. */
  links(query: number): Judged[] {
    return this.scene.judged().filter(({ gold }) => concerns(gold, { from: query, to: null }));
  }

  /** What stands above each block. */
  heads(box: NeuronBox): Head[] {
    const { info } = this.layer;
    const { narrow } = box;
    const head = (x: number, width: number, title: string, below: string): Head => ({ x, width, title, below });
    // Where there is little room the notes name the key head, and the bias.
    const shared = info.groups > 1 && !narrow;
    const made = [this.scaling, info.bias && !narrow && "+ bias"].filter(Boolean).join(" ") || "not scaled";
    const wider = narrow ? 8 : 0;
    return [
      head(box.q, box.block, "q", "query"),
      head(box.k, box.block, "k", shared ? `key head ${info.keys[this.keyHead]}` : "key"),
      head(box.product, box.block, narrow ? "q×k" : "q × k", narrow ? "each" : "elementwise"),
      head(box.dot - 6, box.dotWidth + 12, narrow ? "q·k" : "q · k", made),
      head(box.soft - wider, box.softWidth + 2 * wider, "softmax", "weight"),
      ...(box.v ? [head(box.v, box.block, "v", "value")] : []),
      ...(box.norm ? [head(box.norm - wider, box.normWidth + wider, "‖αvWₒ‖", "added")] : []),
    ];
  }

  /** What the model does between q·k and the weights, a sentence each. */
  notes(): string[] {
    const { scene, layer } = this;
    const { info } = layer;
    const key = info.keys[this.keyHead]!;
    const served = key * info.groups;
    const notes = [
      info.groups > 1 && `Key head ${key} serves query heads ${served} to ${served + info.groups - 1}.`,
      info.softcap && `Scores are capped softly: ${info.softcap} · tanh(score / ${info.softcap}).`,
      info.bias && "A bias of the pair's positions is added to the scores.",
      scene.part.hidden && "A mask hides some keys from some queries: they are not seen.",
      info.sinks && "A learned sink, no token, takes part of each row.",
      scene.part.causal && "A query sees only itself and what stands before it.",
      scene.state.unit === "words" && "Neurons are those of pieces.",
    ];
    return notes.filter((note) => typeof note === "string");
  }

  /** Where a query looks most, and by which neurons; null where there are no keys. */
  looks({ query, weights }: Row): { readonly from: Item; readonly best: number; readonly said: Words } | null {
    const best = weights.reduce((most, weight, b) => (weight > weights[most]! ? b : most), 0);
    const [from, to] = [this.scene.rows.items[query]!, this.scene.columns.items[best]];
    if (!to) return null;
    const strong = Array.from(product(this.q(from), this.k(to)), (x, d) => [x, d] as const)
      .sort((a, b) => b[0] - a[0])
      .slice(0, 3);
    const neurons = strong.map((each) => each[1]).join(", ");
    const how = ` (${figure(weights[best]!)}); neurons ${neurons} add most to that score (in this basis: turning q and k alike gives others, and the same score).`;
    return { from, best, said: [from, " looks most at ", to, how] };
  }

  /** The vectors of a query and a key, and their product. */
  charts(from: Item, to: Item): { readonly title: Words; readonly charts: readonly Chart[] } {
    const [q, k, v] = [this.q(from), this.k(to), this.v(to)];
    const charts = [
      { name: "q", values: q },
      { name: "k", values: k },
      { name: "q × k", values: product(q, k) },
    ];
    const title = ["All neurons of ", from, " (q) and ", to, " (k)"];
    return { title, charts: this.vectors && v ? [...charts, { name: "v", values: v }] : charts };
  }

  /** How q·k is scaled, as the heading says it; null where it is not. */
  private get scaling(): string | null {
    const { scaling } = this.layer.info;
    if (Math.abs(scaling * Math.sqrt(this.size) - 1) < 1e-4) return `÷ √${this.size}`;
    return scaling === 1 ? null : `× ${brief(scaling)}`;
  }

  /** From q·k to the score of one key, a number a step. */
  steps({ dots, bias, scores: all }: Row, key: number): [string, number][] {
    const { info } = this.layer;
    const { scaling } = this;
    const found: [string, number][] = [["q · k", dots[key]!]];
    if (scaling) found.push([scaling, dots[key]! * info.scaling]);
    if (bias) found.push(["bias", bias[key]!]);
    return [...found, [info.softcap ? `score, capped at ±${info.softcap}` : "score", all[key]!]];
  }
}

/** How strongly the token of a key is written beside a query's row. */
export const strength = ({ masked, weights }: Row, key: number): number =>
  masked[key] ? 0.35 : 0.6 + 0.4 * Math.min(1, Math.sqrt(weights[key]!) * 1.6);

/** A number with its sign. */
export const signed = (x: number): string => (x < 0 ? "" : "+") + fixed(x, 2);
