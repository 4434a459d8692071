// Generated from src/headscope/views/payload.py by tools/protocol.py: edit that, and run this.

/**
 * An array in a blob: little-endian, in C order, gzip, base64.
 *
 * With the encoding "sqrt" a byte b stands for the weight (b / 255)², which is off by less than 0.004.
 */
export interface ArrayRef {
  dtype: "uint8" | "int32" | "float32" | "float64";
  shape: number[];
  encoding: "plain" | "sqrt";
  data: string;
}

/**
 * The model that was measured.
 */
export interface ModelInfo {
  name: string;
  layers: number;
  heads: number;
  parameters: number | null;
  dtype: string | null;
  causal: boolean;
  revision: string | null;
}

/**
 * What it was measured on.
 *
 * `shares` is the share of the tokens in each class, `split_words` the share of words in several pieces.
 */
export interface CorpusInfo {
  name: string;
  documents: number | null;
  examples: number | null;
  tokens: number | null;
  words: number | null;
  split_words: number | null;
  shares: Record<string, number>;
}

/**
 * One measure: its name, and how to read it.
 */
export interface MeasureInfo {
  name: string;
  title: string;
  description: string;
  units: string;
  by: string;
  over: string;
  source: string;
}

/**
 * A measure that does not apply to this model or corpus, and why.
 */
export interface Absent {
  measure: string;
  reason: string;
}

/**
 * A stretch of a sentence; with a layer and a head it is the name of that head.
 */
export interface Part {
  text: string;
  layer: number | null;
  head: number | null;
}

/**
 * The maps of one input: an array [head query key] a layer, and the model's own index of each layer.
 */
export interface ExampleInfo {
  query: string[];
  key: string[];
  query_sequences: number[] | null;
  key_sequences: number[] | null;
  causal: boolean;
  index: number[];
  layers: ArrayRef[];
}

/**
 * The report page. `layers` and `heads` are the indices along the arrays' axes.
 *
 * `value`, `error` and `count` are [measure layer head], `chance` is [measure layer]; NaN: there is none.
 */
export interface ReportPayload {
  kind: "report";
  version: 1;
  title: string;
  model: ModelInfo;
  corpus: CorpusInfo;
  measures: MeasureInfo[];
  layers: number[];
  heads: number[];
  value: ArrayRef;
  error: ArrayRef;
  count: ArrayRef;
  chance: ArrayRef;
  summary: Part[][];
  absent: Absent[];
  examples: ExampleInfo[];
  options: Record<string, string>;
  versions: Record<string, string>;
  command: string | null;
  created: string | null;
  seconds: number | null;
  route: string | null;
}
