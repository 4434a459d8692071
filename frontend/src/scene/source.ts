// The maps of a payload, decoded when they are first asked for and kept.

import type {
  ArrayRef,
  ExplorerPayload,
  ExplorerState,
  MeasureColumn,
  NeuronsInfo,
  PartInfo,
  Vectors,
} from "../protocol";
import type { Layer } from "./cut";
import { blank, type Numbers, type Store } from "./data";
import { Made } from "./made";
import { has, offer, quantityOf } from "./quantities";

/** Vectors [head token dim]. */
export interface Block {
  readonly numbers: Float32Array;
  readonly shape: readonly [number, number, number];
}

export interface LayerNeurons {
  readonly info: NeuronsInfo;
  readonly q: Block;
  readonly k: Block;
  readonly v: Block | null;
  readonly bias: Block | null;
}

/** The places of some heads in their layer, or of all. */
function placesOf(part: PartInfo, index: number, heads?: readonly number[]): number[] {
  const all = part.heads[part.index.indexOf(index)] ?? [];
  return (heads ?? all).map((head) => all.indexOf(head)).filter((place) => place >= 0);
}

/** Masks that are kept. */
const MASKS = 6;

/** The mask of a causal part: later keys are hidden. */
function later(queries: number, keys: number): Uint8Array {
  const found = new Uint8Array(queries * keys);
  for (let query = 0; query < queries; query++)
    found.fill(1, query * keys + Math.min(keys, query + keys - queries + 1), (query + 1) * keys);
  return found;
}

export class Data {
  private readonly layers = new Map<string, Layer>();
  /** Of layers that come a head at a time, when each of their heads is there. */
  private readonly pieces = new Map<string, Map<number, Promise<void> | true>>();
  private readonly numbers = new Map<ArrayRef, Numbers>();
  private readonly blocks = new Map<NeuronsInfo, LayerNeurons>();
  private readonly masks = new Made<Uint8Array>(MASKS);

  constructor(
    readonly payload: ExplorerPayload,
    private readonly store: Store,
    /** A kernel can be asked for what is offered. */
    readonly live = false,
    /** Up to so many weights of a part are kept once they have been read. */
    private readonly keeps = 128_000_000,
  ) {}

  /** The offered matrix that a change of the state needs and that must be asked for; null for none. */
  lacks(change: ExplorerState, part: PartInfo): string | null {
    const name = change.quantity ?? (change.values ? "norms" : "weights");
    return this.live && !has(part, name) && offer(this.payload, name) ? name : null;
  }

  /** A layer of which some heads, or all, have been decoded; undefined where they have not: `load` them first. */
  layer(part: PartInfo, index: number, quantity: string, heads?: readonly number[]): Layer | undefined {
    const ref = this.ref(part, index, quantity);
    const found = this.layers.get(ref?.data ?? "");
    if (!ref?.pieces || !found) return found;
    const there = this.pieces.get(ref.data);
    return placesOf(part, index, heads).every((place) => there?.get(place) === true) ? found : undefined;
  }

  /** Decode some heads of a layer, or all. Of a layer that comes in one piece it is all. */
  async load(part: PartInfo, index: number, quantity: string, heads?: readonly number[]): Promise<void> {
    const ref = this.ref(part, index, quantity);
    if (!ref || (this.layers.has(ref.data) && !ref.pieces)) return;
    const at = part.layers.indexOf(ref);
    const asked = [ref.pieces ? null : ref, at < 0 ? null : part.received].map((one) => one && this.store.get(one));
    const [whole, means] = await Promise.all(asked);
    const [count, , keys] = ref.shape as [number, number, number];
    const before = part.heads.slice(0, at).flat().length;
    if (!this.layers.has(ref.data))
      this.layers.set(ref.data, {
        ...this.layerOf(part, ref, quantity, whole ?? blank(ref)),
        received: means?.subarray(before * keys, (before + count) * keys) as Float32Array | undefined,
      });
    if (ref.pieces) await Promise.all(placesOf(part, index, heads).map((place) => this.piece(ref, place)));
  }

  private piece(ref: ArrayRef, place: number): Promise<void> | true {
    const { numbers, shape } = this.layers.get(ref.data)!;
    const there = this.pieces.get(ref.data) ?? new Map<number, Promise<void> | true>();
    this.pieces.set(ref.data, there);
    const known = there.get(place);
    if (known !== undefined) return known;
    const coming = this.store.piece(ref, place).then((found) => {
      numbers.set(found, place * shape[1] * shape[2]);
      there.set(place, true);
    });
    there.set(place, coming);
    return coming;
  }

  /** A head of a layer in passing: of a part that is too large to be kept nothing is. */
  async passing(
    part: PartInfo,
    index: number,
    quantity: string,
    head: number,
    use: (layer: Layer, place: number) => void,
  ): Promise<void> {
    const ref = this.ref(part, index, quantity);
    const [place] = placesOf(part, index, [head]);
    if (!ref || place === undefined) return;
    const large = ref.shape.reduce((a, b) => a * b, part.index.length) > this.keeps;
    if (!ref.pieces || !large) {
      await this.load(part, index, quantity, [head]);
      return use(this.layers.get(ref.data)!, place);
    }
    const [, queries, keys] = ref.shape as [number, number, number];
    use({ ...this.layerOf(part, ref, quantity, await this.store.piece(ref, place)), shape: [1, queries, keys] }, 0);
  }

  private layerOf(part: PartInfo, ref: ArrayRef, quantity: string, numbers: Numbers): Layer {
    const found = quantityOf(part, quantity);
    return {
      shape: ref.shape as [number, number, number],
      numbers,
      encoding: ref.encoding,
      scale: found?.scale ?? 1,
      signed: found?.signed ?? false,
      counts: part.query.counts,
    };
  }

  async loadArray(ref: ArrayRef): Promise<void> {
    if (!this.numbers.has(ref)) this.numbers.set(ref, await this.store.get(ref));
  }

  array(ref: ArrayRef): Numbers | undefined {
    return this.numbers.get(ref);
  }

  /** What decodes those of some arrays that are not here yet. */
  wanted(refs: readonly (ArrayRef | null | undefined)[]): Promise<void>[] {
    return refs.flatMap((ref) => (ref && !this.array(ref) ? [this.loadArray(ref)] : []));
  }

  /** What decodes some heads of a layer, or all, where they are not here yet. */
  wantedLayer(part: PartInfo, index: number, quantity: string, heads?: readonly number[]): Promise<void>[] {
    return this.layer(part, index, quantity, heads) ? [] : [this.load(part, index, quantity, heads)];
  }

  neurons(part: PartInfo, index: number): LayerNeurons | undefined {
    const info = part.neurons?.[part.index.indexOf(index)];
    return info ? this.blocks.get(info) : undefined;
  }

  async loadNeurons(part: PartInfo, index: number): Promise<void> {
    const info = part.neurons?.[part.index.indexOf(index)];
    if (!info || this.blocks.has(info)) return;
    const [q, k, v, bias] = await Promise.all([
      this.vectors(info.q),
      this.vectors(info.k),
      info.v && this.vectors(info.v),
      info.bias && this.plain(info.bias),
    ]);
    this.blocks.set(info, { info, q, k, v, bias });
  }

  /** Whether a query cannot see a key, both pieces; the layer's `hidden`, where there is one, must have been loaded. */
  unseen(part: PartInfo, layer: number, head: number, query: number, key: number): boolean {
    const [queries, keys] = [part.query.pieces.length, part.key.pieces.length];
    const place = part.index.indexOf(layer);
    const ref = part.hidden?.[place];
    const hidden = ref && this.array(ref);
    if (!hidden) return part.causal && key > query + keys - queries;
    const own = ref.shape[0] === 1 ? 0 : (part.heads[place]?.indexOf(head) ?? 0);
    return hidden[(own * queries + query) * keys + key] === 1;
  }

  /**
   * What the mask hides from all of some heads of some layers, [query key] of pieces; null where that is nothing, or
   * not decoded.
   */
  hidden(part: PartInfo, layers: readonly number[], heads: readonly number[]): Uint8Array | null {
    if (!part.hidden && !part.causal) return null;
    const at = layers.map((layer) => part.index.indexOf(layer));
    const refs = at.map((place) => part.hidden?.[place]);
    if (part.hidden && !refs.every((ref) => ref && this.array(ref))) return null;
    const [queries, keys] = [part.query.pieces.length, part.key.pieces.length];
    const places = at.map((place) => heads.map((head) => part.heads[place]?.indexOf(head)));
    return this.masks.of([queries, keys, refs, part.hidden && places], () => {
      const each = part.hidden ? layers.flatMap((layer) => this.masksOf(part, layer, heads)) : [later(queries, keys)];
      return each.length === 1
        ? each[0]!
        : new Uint8Array(queries * keys).map((_, pair) => Number(each.every((mask) => mask[pair])));
    });
  }

  private masksOf(part: PartInfo, layer: number, heads: readonly number[]): Uint8Array[] {
    const at = part.index.indexOf(layer);
    const ref = part.hidden![at]!;
    const all = this.array(ref) as Uint8Array;
    const size = part.query.pieces.length * part.key.pieces.length;
    const places =
      ref.shape[0] === 1 ? [0] : heads.map((head) => part.heads[at]!.indexOf(head)).filter((place) => place >= 0);
    return places.map((place) => all.subarray(place * size, (place + 1) * size));
  }

  /** A figure of a head; NaN where there is none. */
  figure(part: PartInfo, measure: MeasureColumn, layer: number, head: number): number {
    const place = part.index.indexOf(layer);
    const columns = measure.values.shape[1] ?? 0;
    return this.array(measure.values)?.[place * columns + (part.heads[place]?.indexOf(head) ?? -1)] ?? NaN;
  }

  private ref(part: PartInfo, index: number, quantity: string): ArrayRef | undefined {
    const place = part.index.indexOf(index);
    return quantity === "weights" ? part.layers[place] : quantityOf(part, quantity)?.layers[place];
  }

  private async plain(ref: ArrayRef): Promise<Block> {
    return { numbers: Float32Array.from(await this.store.get(ref)), shape: ref.shape as [number, number, number] };
  }

  private async vectors({ codes, low, step }: Vectors): Promise<Block> {
    const shape = codes.shape as [number, number, number];
    const raw = await this.store.get(codes);
    if (!low || !step) return { numbers: Float32Array.from(raw), shape };
    const [lows, steps] = await Promise.all([this.store.get(low), this.store.get(step)]);
    const [heads, tokens, size] = shape;
    const numbers = new Float32Array(raw.length);
    for (let head = 0, at = 0; head < heads; head++) {
      for (let token = 0; token < tokens; token++) {
        for (let d = 0; d < size; d++, at++) numbers[at] = lows[head * size + d]! + steps[head * size + d]! * raw[at]!;
      }
    }
    return { numbers, shape };
  }
}
