import { gzipSync } from "node:zlib";
import type { ArrayRef, MeasureInfo, ReportPayload } from "../src/protocol";
import { Figures } from "../src/report/figures";
import { Store } from "../src/scene/data";

export const texts = new Map<string, string>();

export function pack(
  numbers: Float64Array | Float32Array | Uint8Array,
  shape: number[],
  encoding: ArrayRef["encoding"] = "plain",
): ArrayRef {
  const data = String(texts.size);
  const dtype = numbers instanceof Uint8Array ? "uint8" : numbers instanceof Float32Array ? "float32" : "float64";
  texts.set(data, gzipSync(new Uint8Array(numbers.buffer)).toString("base64"));
  return { dtype, shape, encoding, data };
}

/** Heads that come a piece each, as `Blobs` packs large layers. */
export function packPieces(heads: readonly Uint8Array[], shape: number[]): ArrayRef {
  const data = String(texts.size);
  const streams = heads.map((head) => gzipSync(head).toString("base64"));
  // In base64 a zero byte in the place of the padding is an A in the place of each =.
  texts.set(data, streams.map((stream) => stream.replaceAll("=", "A")).join(""));
  return {
    dtype: "uint8",
    shape,
    encoding: "sqrt",
    data,
    pieces: streams.map((stream) => (3 * stream.length) / 4 - (stream.match(/=/g) ?? []).length),
  };
}

const info = (name: string, units = "share"): MeasureInfo => ({
  name,
  title: name.replace("_", " "),
  description: "",
  units,
  by: "token",
  over: "pieces",
  source: "",
});

/** Two layers (indices 3 and 5) of three heads; the last head of layer 5 does not exist. */
export function figures(examples = 0): Promise<Figures> {
  const value = Float64Array.from([0.1, 0.9, 0.2, 0.6, 0.4, NaN, 1, 2, 3, 4, 0, NaN]);
  const blank = new Float64Array(12).fill(0.01);
  const payload: ReportPayload = {
    kind: "report",
    version: 1,
    title: "Where it looks",
    model: { name: "m", layers: 2, heads: 3, parameters: null, dtype: null, causal: false, revision: null, unseen: "" },
    corpus: {
      kind: "text",
      name: "c",
      documents: 1,
      examples: 2,
      tokens: 3,
      words: null,
      split_words: null,
      shares: {},
    },
    measures: [info("previous"), info("entropy", "nats")],
    layers: [3, 5],
    heads: [0, 1, 2],
    value: pack(value, [2, 2, 3]),
    error: pack(blank, [2, 2, 3]),
    count: pack(new Float64Array(12).fill(100), [2, 2, 3]),
    chance: pack(Float64Array.from([0.05, 0.05, 4.5, 4.5]), [2, 2]),
    here: pack(
      value.map((each) => each / 2),
      [2, 2, 3],
    ),
    seen: pack(
      Float64Array.from({ length: 24 }, (_, i) => (i < 12 ? i % 6 : -1)),
      [2, 2, 3, 2],
    ),
    sections: [],
    examples: Array.from({ length: examples }, () => ({
      kind: "explorer",
      version: 1,
      title: "",
      model: "m",
      inputs: [],
      state: {},
      exact: false,
      offers: [],
    })),
    options: {},
    versions: {},
    command: null,
    created: null,
    seconds: null,
    route: null,
  };
  return Figures.load(payload, new Store((name) => texts.get(name) ?? ""));
}
