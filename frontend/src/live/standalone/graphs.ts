// The model in segments, run one after the other: the weights of each layer leave, are changed, and go back in.

import * as ort from "onnxruntime-web/wasm";
import type { ArrayRef, LayerTensors, StandaloneModel, StoredWeights } from "../../protocol";
import type { Numbers } from "../../scene/data";
import { apply, type Change, type LayerMaps, type Pattern } from "./whatif";

/** What one pass gave: every tensor by its name, and of layers that were changed the weights as they went back in. */
export interface Pass {
  readonly values: ReadonlyMap<string, ort.Tensor>;
  readonly changed: ReadonlyMap<number, Float32Array>;
  readonly tokens: number;
}

/** The arrays of the page. */
type Read = (ref: ArrayRef) => Promise<Numbers>;

export type Given = { readonly ids: readonly number[]; readonly types: readonly number[]; readonly place: number };

const int64 = (values: readonly number[], shape: readonly number[]): ort.Tensor =>
  new ort.Tensor("int64", BigInt64Array.from(values, BigInt), shape);

export class Graphs {
  private constructor(
    readonly model: StandaloneModel,
    private readonly sessions: readonly ort.InferenceSession[],
    private readonly each: () => Promise<void>,
  ) {}

  /** Load the engine and the segments; `said` is told how far it is. `each` will be awaited between segments. */
  static async load(
    model: StandaloneModel,
    read: Read,
    each: () => Promise<void>,
    said: (done: number, of: number) => void,
  ): Promise<Graphs> {
    const steps = model.weights.length + model.segments.length + 1;
    let done = 0;
    const step = (): void => said(++done, steps);
    ort.env.wasm.numThreads = 1;
    ort.env.wasm.proxy = false;
    ort.env.logLevel = "error";
    ort.env.wasm.wasmBinary = (await read(model.engine)).buffer as ArrayBuffer;
    step();
    const weights = new Map<string, Float32Array>();
    const last = new Map<string, number>();
    model.segments.forEach(({ weights: names }, place) => names.forEach((name) => last.set(name, place)));
    for (const stored of model.weights) {
      weights.set(stored.name, await restored(stored, read));
      step();
    }
    const sessions: ort.InferenceSession[] = [];
    for (const [place, { graph, weights: names }] of model.segments.entries()) {
      const size = names.reduce((total, name) => total + weights.get(name)!.byteLength, 0);
      const data = new Uint8Array(size);
      let at = 0;
      for (const name of names) {
        const mine = weights.get(name)!;
        data.set(new Uint8Array(mine.buffer, mine.byteOffset, mine.byteLength), at);
        at += mine.byteLength;
        if (last.get(name) === place) weights.delete(name);
      }
      const options: ort.InferenceSession.SessionOptions = {
        executionProviders: ["wasm"],
        ...(size > 0 && { externalData: [{ path: "weights", data }] }),
      };
      sessions.push(await ort.InferenceSession.create((await read(graph)) as Uint8Array, options));
      step();
    }
    return new Graphs(model, sessions, each);
  }

  get layers(): readonly LayerTensors[] {
    return this.model.layers;
  }

  /**
   * Run the model on an input, from a segment on.
   *
   * `before` is a pass of the same input that is the same up to the weights of layer `first - 1`: of these on, the
   * changes are made anew.
   */
  async run(given: Given, changes: readonly Change[], before: Pass | null = null, first = 0): Promise<Pass> {
    const tokens = given.ids.length;
    const values = new Map(before?.values ?? []);
    const changed = new Map([...(before?.changed ?? [])].filter(([place]) => place < first - 1));
    values.set("input_ids", int64(given.ids, [1, tokens]));
    values.set("token_type_ids", int64(given.types, [1, tokens]));
    values.set("places", int64([given.place], [1]));
    for (let place = first; place <= this.layers.length; place++) {
      if (place > 0) this.change(place - 1, { values, changed, tokens }, changed, changes);
      const { inputs, outputs } = this.model.segments[place]!;
      const feeds = Object.fromEntries(inputs.map((name) => [name, this.fed(name, values, changed)]));
      const made = await this.sessions[place]!.run(feeds, outputs);
      for (const name of outputs) values.set(name, made[name]!);
      await this.each();
    }
    return { values, changed, tokens };
  }

  private weights(pass: Pass, place: number): Float32Array {
    return pass.changed.get(place) ?? (pass.values.get(this.layers[place]!.weights)!.data as Float32Array);
  }

  /** Queries or keys of a layer, [head token dim], and how many heads they have. */
  vectors(
    pass: Pass,
    place: number,
    of: "q" | "k",
  ): { readonly heads: number; readonly dim: number; readonly data: Float32Array } {
    const { data, dims } = pass.values.get(this.layers[place]![of])!;
    return { heads: dims[1]!, dim: dims[3]!, data: data as Float32Array };
  }

  /** A layer (by its place) after its changes: how many heads it has, their weights, and what each query sees. */
  layer(pass: Pass, place: number): LayerMaps {
    const { heads } = this.vectors(pass, place, "q");
    return { heads, weights: this.weights(pass, place), seen: this.seen(pass, place) };
  }

  private seen({ values, tokens }: Pass, place: number): Uint8Array | null {
    const { seen } = this.layers[place]!;
    const found = seen === null ? null : (values.get(seen)!.data as Uint8Array);
    if (found?.includes(0)) return found;
    return this.model.causal
      ? Uint8Array.from({ length: tokens ** 2 }, (_, at) => Number(at % tokens <= Math.floor(at / tokens)))
      : null;
  }

  /** What the model says, [row …], a row a place or a token. */
  said(pass: Pass): { readonly rows: number; readonly data: Float32Array } {
    const { data, dims } = pass.values.get(this.model.output)!;
    return { rows: dims.length === 3 ? dims[1]! : 1, data: data as Float32Array };
  }

  private change(place: number, pass: Pass, changed: Map<number, Float32Array>, changes: readonly Change[]): void {
    const { layer } = this.layers[place]!;
    for (const change of changes) {
      if (change.layer !== null && change.layer !== layer) continue;
      changed.set(place, apply(change, this.pattern(pass, place)));
    }
  }

  private pattern(pass: Pass, place: number): Pattern {
    const { tokens } = pass;
    const [q, k] = [this.vectors(pass, place, "q"), this.vectors(pass, place, "k")];
    const score = (head: number, query: number, key: number): number => {
      const group = Math.floor((head * k.heads) / q.heads);
      let total = 0;
      for (let at = 0; at < q.dim; at++)
        total += q.data[(head * tokens + query) * q.dim + at]! * k.data[(group * tokens + key) * k.dim + at]!;
      return total * this.layers[place]!.scaling;
    };
    return { ...this.layer(pass, place), tokens, score };
  }

  private fed(
    name: string,
    values: ReadonlyMap<string, ort.Tensor>,
    changed: ReadonlyMap<number, Float32Array>,
  ): ort.Tensor {
    const tensor = values.get(name)!;
    const place = this.layers.findIndex(({ weights }) => weights === name);
    const mine = place < 0 ? undefined : changed.get(place);
    return mine ? new ort.Tensor("float32", mine, tensor.dims) : tensor;
  }
}

/** Weights as the model takes them. */
async function restored({ kind, codes, scale, shape, axis }: StoredWeights, read: Read): Promise<Float32Array> {
  const bytes = (await read(codes)) as Uint8Array;
  if (kind === "float32") return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  if (kind === "float16") {
    const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
    return Float32Array.from(halves, half);
  }
  const whole = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const scales = (await read(scale!)) as Float32Array;
  const columns = shape[1]!;
  const found = new Float32Array(whole.length);
  for (let at = 0; at < whole.length; at++)
    found[at] = whole[at]! * scales[axis === 0 ? Math.floor(at / columns) : at % columns]!;
  return found;
}

/** The number that 16 bits stand for (IEEE 754 binary16). */
export function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const part = bits & 1023;
  if (exponent === 0) return sign * part * 2 ** -24;
  if (exponent === 31) return part ? NaN : sign * Infinity;
  return sign * (1 + part / 1024) * 2 ** (exponent - 15);
}
