// Generated from src/headscope/views/payload.py by tools/protocol.py: edit that, and run this.

/**
 * An array in a blob: little-endian, in C order, gzip, base64.
 *
 * With the encoding "sqrt" a byte b stands for the weight (b / 255)², which is off by less than 0.004. With
 * "signed" it stands for ±((b - 127) / 127)², the sign that of b - 127: a share of a scale said beside it.
 */
export interface ArrayRef {
  dtype: "uint8" | "int32" | "float32" | "float64";
  shape: number[];
  encoding: "plain" | "sqrt" | "signed";
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
 * The words of an axis: the word that each piece belongs to, counted from 0, and what each word reads.
 */
export interface WordsInfo {
  group: number[];
  texts: string[];
}

/**
 * One axis of a map. `sequences` is 0 for text A, 1 for text B, -1 for none.
 */
export interface AxisInfo {
  pieces: string[];
  special: boolean[];
  sequences: number[] | null;
  words: WordsInfo | null;
}

/**
 * Vectors ``[head token dim]`` in bytes: ``low + step · code``, `low` and `step` ``[head dim]``.
 *
 * Exact ones are float32 in `codes` with no `low` and `step`.
 */
export interface Vectors {
  codes: ArrayRef;
  low: ArrayRef | null;
  step: ArrayRef | null;
}

/**
 * What softmax is taken of in one layer: ``softcap(scaling · q kᵀ + bias)``.
 *
 * `groups` query heads share one key head; `key_head` is the place of the key head that serves each query
 * head, `keys` the model's own index of each key head. `bias` is [head query key]; `sinks` is a logit a head.
 * `hidden` is [query key], 1 where no head of the layer sees the key for another reason than that it comes
 * later (a window, padding).
 */
export interface NeuronsInfo {
  q: Vectors;
  k: Vectors;
  v: Vectors | null;
  key_head: number[];
  keys: number[];
  groups: number;
  scaling: number;
  softcap: number | null;
  bias: ArrayRef | null;
  sinks: number[] | null;
  hidden: ArrayRef | null;
}

/**
 * Another matrix per pair, drawn in place of the weights: shares of `scale`, signed or not.
 *
 * `of` says what it is of, where that is known (a gradient: "the loss on the input").
 */
export interface QuantityInfo {
  name: string;
  of: string | null;
  signed: boolean;
  scale: number;
  layers: ArrayRef[];
}

/**
 * A figure of every head, ``[layer head]`` (NaN: none), from this input or from a corpus.
 */
export interface MeasureColumn {
  name: string;
  title: string;
  units: string;
  of: "input" | "corpus";
  values: ArrayRef;
}

/**
 * One part of a model on one input: ``self``, or ``encoder``, ``decoder``, ``cross``.
 *
 * `index` is the model's own index of each layer, `heads` that of each layer's heads, `layers` their maps
 * ``[head query key]``. `thumbs` holds ``[head row column]`` of all layers, pooled by the maximum: the grid of
 * a large input is drawn from it. `sink` is ``[head query]`` a layer.
 */
export interface PartInfo {
  name: string;
  kind: string;
  causal: boolean;
  query: AxisInfo;
  key: AxisInfo;
  index: number[];
  heads: number[][];
  layers: ArrayRef[];
  thumbs: ArrayRef | null;
  sink: ArrayRef[] | null;
  neurons: NeuronsInfo[] | null;
  quantities: QuantityInfo[];
  measures: MeasureColumn[];
}

/**
 * One input that is shown.
 */
export interface InputInfo {
  label: string;
  parts: PartInfo[];
}

/**
 * What an explorer shows; every key may be left out (`headscope.views.explorer.STATE` lists them).
 *
 * `pin` is ``["from", 10]`` or ``["to", 3]``: the side and the token's place on its axis. `zoom` is first
 * row, rows, first column, columns of the matrix. `layer` and `heads` are the model's own indices.
 */
export interface ExplorerState {
  scale?: "model" | "head" | "neuron";
  part?: string;
  layer?: number;
  heads?: number[];
  filter?: "all" | "aa" | "ab" | "ba" | "bb";
  special?: boolean;
  renormalise?: boolean;
  unit?: "pieces" | "words";
  draw?: "auto" | "heat" | "lines";
  picture?: "lines" | "matrix";
  measure?: string;
  sort?: boolean;
  least?: number;
  threshold?: number;
  top_k?: number;
  aggregate?: "none" | "mean" | "max" | "layers";
  quantity?: string;
  pin?: (string | number)[] | null;
  zoom?: number[] | null;
  input?: number;
  side?: "one" | "both" | "difference";
  values?: boolean;
  theme?: "auto" | "light" | "dark";
}

/**
 * A matrix per pair that the model can give, here or not; `how` says in words how a page gets it.
 */
export interface Offer {
  name: string;
  how: string;
}

/**
 * The explorer: the maps of one or two inputs (or more, to choose from), and the state it begins with.
 *
 * `offers` are the matrices per pair that the model behind it can give: a widget asks for those that are
 * not there.
 */
export interface ExplorerPayload {
  kind: "explorer";
  version: 1;
  title: string;
  model: string;
  inputs: InputInfo[];
  state: ExplorerState;
  exact: boolean;
  offers: Offer[];
}

/**
 * What a kernel adds to a part when it is asked for a matrix per pair.
 *
 * `values` are the value vectors, a layer each, where they come along (with ‖α·v·W_O‖). The arrays are in
 * the message's buffers.
 */
export interface Added {
  input: number;
  part: string;
  quantity: QuantityInfo;
  values: Vectors[] | null;
}

/**
 * A page of explorers. The blobs of the view at place i are named ``i-name``.
 */
export interface ViewsPayload {
  kind: "views";
  version: 1;
  title: string;
  views: ExplorerPayload[];
}

/**
 * Sentences on what the heads do.
 */
export interface SummarySection {
  kind: "summary";
  title: string;
  about: string;
  lines: Part[][];
}

/**
 * Every measure small, one of them large, and the heads that stand out in it.
 */
export interface MeasuresSection {
  kind: "measures";
  title: string;
  about: string;
}

/**
 * The named measures against the layer, a point a head.
 */
export interface LayersSection {
  kind: "layers";
  title: string;
  about: string;
  measures: string[];
}

/**
 * The table: every head a row, every measure a column.
 */
export interface HeadsSection {
  kind: "heads";
  title: string;
  about: string;
}

/**
 * Measures that do not apply to this model or corpus.
 */
export interface AbsentSection {
  kind: "absent";
  title: string;
  about: string;
  absent: Absent[];
}

/**
 * What each measure means and how it was averaged.
 */
export interface MethodsSection {
  kind: "methods";
  title: string;
  about: string;
}

/**
 * The report page. `layers` and `heads` are the indices along the arrays' axes.
 *
 * `value`, `error` and `count` are [measure layer head], `chance` is [measure layer]; NaN: there is none.
 * Sections name an example by its place in `examples`; the blobs of the example at place i are named ``i-name``.
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
  sections: (SummarySection | MeasuresSection | LayersSection | HeadsSection | AbsentSection | MethodsSection)[];
  examples: ExplorerPayload[];
  options: Record<string, string>;
  versions: Record<string, string>;
  command: string | null;
  created: string | null;
  seconds: number | null;
  route: string | null;
}
