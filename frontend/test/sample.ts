import { gzipSync } from "node:zlib";
import type { ArrayRef, MeasureInfo, PartInfo, ReportPayload } from "../src/protocol";
import { Figures } from "../src/report/figures";
import { LETTERS, Store } from "../src/scene/data";

export const texts = new Map<string, string>();

/** A part of a model of which there is nothing but what a test gives it. */
export const PART: Omit<PartInfo, "query" | "key" | "index" | "heads"> = {
  name: "self",
  kind: "self",
  causal: false,
  layers: [],
  thumbs: null,
  sink: null,
  hidden: null,
  neurons: null,
  quantities: [],
  measures: [],
};

/** Bytes as `lettered` in blobs.py writes them. */
function lettered(bytes: Uint8Array): string {
  const padded = new Uint8Array(4 * Math.ceil(bytes.length / 4));
  padded.set(bytes);
  const words = Array.from({ length: padded.length / 4 }, (_, at) => new DataView(padded.buffer).getUint32(4 * at));
  const text = words.map((word) =>
    [4, 3, 2, 1, 0].map((power) => LETTERS[Math.floor(word / 85 ** power) % 85]).join(""),
  );
  return text.join("").slice(0, Math.ceil((5 * bytes.length) / 4));
}

export function pack(
  numbers: Float64Array | Float32Array | Uint8Array,
  shape: number[],
  encoding: ArrayRef["encoding"] = "plain",
): ArrayRef {
  const data = String(texts.size);
  const dtype = numbers instanceof Uint8Array ? "uint8" : numbers instanceof Float32Array ? "float32" : "float64";
  texts.set(data, lettered(gzipSync(new Uint8Array(numbers.buffer))));
  return { dtype, shape, encoding, data };
}

/** Heads that come a piece each, as `Blobs` packs large layers. */
export function packPieces(heads: readonly Uint8Array[], shape: number[]): ArrayRef {
  const data = String(texts.size);
  const streams = heads.map((head) => gzipSync(head));
  const filled = streams.flatMap((stream) => [...stream, ...Array<number>(-stream.length & 3).fill(0)]);
  texts.set(data, lettered(Uint8Array.from(filled)));
  return { dtype: "uint8", shape, encoding: "sqrt", data, pieces: streams.map((stream) => stream.length) };
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
      noun: "examples",
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
