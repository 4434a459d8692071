// Generated from the typed dictionaries in src/headscope by tools/protocol.py: edit those, and run this.

/**
 * An array in a blob: little-endian, in C order, gzip, and in a page `lettered`.
 *
 * An array of large heads comes in `pieces`, a gzip stream a head, so that a page unpacks only those it shows:
 * each says how many bytes its stream has. Zeros fill up each stream to a multiple of four bytes, so that its
 * letters stand apart too.
 *
 * With the encoding "sqrt" a byte b stands for the weight (b / 255)², which is off by less than 0.004. With
 * "signed" it stands for ±((b - 127) / 127)², the sign that of b - 127: a share of a scale said beside it.
 */
export interface ArrayRef {
  dtype: "uint8" | "int32" | "float32" | "float64";
  shape: number[];
  encoding: "plain" | "sqrt" | "signed";
  data: string;
  pieces?: number[];
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
 * A token that is pinned: its side, and its place on that axis.
 */
export interface Pin {
  side: "from" | "to";
  place: number;
}

/**
 * Why a head is named, and where that is seen.
 *
 * `says` is what `figure` is of, `over` what it is over, by default the corpus. The head opens on `example` (by its
 * place) with the token of `pin`, and of the example's links those of `label`; where there is no example, on the one
 * that shows `measure`. `here` is the figure on that example alone. What is not there is left out: a page has a
 * thousand of these.
 */
export interface Reason {
  says: string;
  figure: string;
  over?: string;
  measure?: string | null;
  example?: number | null;
  pin?: Pin | null;
  label?: string | null;
  here?: string | null;
}

/**
 * A stretch of a sentence; with a layer and a head it is the name of that head, which `reason` opens.
 *
 * `token`: it is a piece of the vocabulary, which is set off. `title` is said when it is pointed at. In a list with a
 * bar it is there while its `low` lies above that.
 */
export interface Part {
  text: string;
  layer: number | null;
  head: number | null;
  reason: Reason | null;
  token?: boolean;
  title?: string;
  low?: number;
}

/**
 * The words of an axis: the word that each piece belongs to, counted from 0, and what each word reads.
 */
export interface WordsInfo {
  group: number[];
  texts: string[];
}

/**
 * One of several media on a sheet, and its `box` there: left, top, right and bottom.
 *
 * Of a step of a video `frames` are the first and the one after the last, of a series `channels` are the names of its
 * lanes from top to bottom, and `letters` are those of a sequence, which are written at even distances.
 */
export interface MediumInfo {
  kind: "picture" | "sound" | "series" | "letters";
  name: string;
  box: number[];
  frames?: number[];
  channels?: string[];
  letters?: string;
}

/**
 * A picture as an address that holds it (`src`), and how large it was when the areas on it were told.
 *
 * Of a sound it is the spectrogram. Of several `media`, of a series and of letters it is the sheet on which these lie.
 */
export interface PictureInfo {
  kind: "picture" | "sound" | "series" | "letters";
  src: string;
  width: number;
  height: number;
  name: string;
  media?: MediumInfo[];
}

/**
 * A word that is heard: from when to when, in seconds.
 */
export interface SpokenInfo {
  text: string;
  begin: number;
  end: number;
}

/**
 * A sound: the model hears `seconds`, of which the sound itself fills the first `heard`.
 *
 * `samples` are its bytes, 16 bits a sample, little-endian, of one channel; None where the page leaves them out.
 * `words` are those whose times are known.
 */
export interface SoundInfo {
  rate: number;
  seconds: number;
  heard: number;
  samples: ArrayRef | null;
  words: SpokenInfo[];
}

/**
 * A picture, or a sound, within a text: where it begins, what follows it, and what it is called.
 */
export interface WithinInfo {
  start: number;
  end: number;
  name: string;
}

/**
 * One axis of a map.
 *
 * `sequences` is 0 for text A, 1 for text B, -1 for none. `written` is the place of the first token that the model
 * wrote itself, where it did. `sinks` are the places of keys that take much of all heads' attention
 * (`headscope.views.highlights.sinks`), where there are such, `changed` those of pieces that the other of two inputs
 * has not. `boxes` are the areas of the input's picture that tokens stand for: left, top, right, bottom in its pixels
 * (None: none). `counts` is how many tokens each stands for, where some are blocks of patches
 * (`headscope.views.images`), and `of` the block of each token. `images` are the pictures within a text. `ids` are
 * those of the vocabulary.
 */
export interface AxisInfo {
  pieces: string[];
  ids?: number[];
  special: boolean[];
  sequences: number[] | null;
  words: WordsInfo | null;
  written?: number;
  sinks?: number[];
  changed?: number[];
  boxes?: (number[] | null)[];
  counts?: number[];
  of?: number[];
  images?: WithinInfo[];
}

/**
 * What softmax is taken of in one layer: ``softcap(scaling · q kᵀ + bias)``.
 *
 * `heads` are those whose queries are there, by the model's own indices. `groups` query heads share one key head;
 * `key_head` is the place of the key head that serves each query head, `keys` the model's own index of each key
 * head. `bias` is [head query key]; `sinks` is a logit a head.
 */
export interface NeuronsInfo {
  q: Vectors;
  k: Vectors;
  v: Vectors | null;
  heads: number[];
  key_head: number[];
  keys: number[];
  groups: number;
  scaling: number;
  softcap: number | null;
  bias: ArrayRef | null;
  sinks: number[] | null;
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
 * Another matrix per pair, drawn in place of the weights: shares of `scale`, signed or not.
 *
 * `of` says what it is of, where that is known (a gradient: "the loss on the input"). `measures` are figures of every
 * head in it, of a signed one, and `largest` the size of each head's largest number, layer by layer.
 */
export interface QuantityInfo {
  name: string;
  of: string | null;
  signed: boolean;
  scale: number;
  layers: ArrayRef[];
  measures?: MeasureColumn[];
  largest?: number[];
}

/**
 * A line around a region of the input's picture: x, y, x, y, … as of boxes. `side` is that of its tokens.
 */
export interface OutlineInfo {
  side: "from" | "to";
  points: number[];
}

/**
 * A gold link of a part, by places of tokens.
 *
 * `side` is where its source stands: a query that should look at one of `targets` ("from"), or a key that one of them
 * should look at ("to"). `candidates` is what there is to choose from; None: every other token, or word (`units`).
 * `outlines` are those of its regions of a picture, where it has such.
 */
export interface LinkInfo {
  label: string;
  side: "from" | "to";
  source: number[];
  targets: number[][];
  candidates: number[][] | null;
  units: "tokens" | "words";
  outlines?: OutlineInfo[];
}

/**
 * What each shown head of a part does on this input, a figure a head (`headscope.views.highlights`).
 *
 * `query` and `key` are the first pieces of the two words whose link stands out most, `weight` is its own, `score` how
 * far it stands out, `share` the part of the words that look at another so, `alike` the part of these that look at the
 * same word elsewhere. Of media `query` is −1, and `key` the number of a part: a ninth of a picture, row by row, a
 * tenth of another medium, or one of several media; `weight` is the share that the part gets. `near` is that on the
 * previous token, on the next or on the token itself, whichever is most; `evenness` the part of the visible tokens on
 * which even attention would be as spread out, over rows that see five (−1: none does); `moved`, of two inputs, the
 * share that moves from one to the other (−1: none).
 */
export interface HighlightsInfo {
  query: number[];
  key: number[];
  weight: number[];
  score: number[];
  share: number[];
  alike: number[];
  near: number[];
  evenness: number[];
  moved?: number[];
}

/**
 * Who wrote a part of what a head reads, and its term of the contrast.
 *
 * Of a head, its layer and number; `line` is where it is seen: the query at which it wrote, and the key at which it
 * looks most from there, in the picture of `part` where it is of another part of the model.
 */
export interface WriterInfo {
  name: string;
  term: number;
  head?: number[];
  part?: string;
  line?: number[];
}

/**
 * Why a head looks from a query at a key: who wrote the key (`by_key`) and who wrote the query (`by_query`).
 *
 * The terms of either sum to the `contrast`: the score of the key less the mean of the other keys that the query
 * sees, of which `position` comes from their distance where positions turn queries and keys (None: they do not);
 * `capped`: before the softcap that the model takes of it.
 */
export interface ReadsInfo {
  layer: number;
  head: number;
  query: number;
  key: number;
  contrast: number;
  position: number | null;
  capped: boolean;
  by_key: WriterInfo[];
  by_query: WriterInfo[];
}

/**
 * One part of a model on one input: ``self``, or ``encoder``, ``decoder``, ``cross``.
 *
 * `index` is the model's own index of each layer, `heads` that of each layer's heads, `layers` their maps ``[head
 * query key]``, of which `received`, where they are bytes, is the mean over queries, ``[head key]`` of all layers.
 * `thumbs` holds ``[head row column]`` of all layers, pooled by the maximum: the grid of a large input is drawn from
 * it. `sink` is ``[head query]`` a layer. `hidden` is 1 where a query cannot see a key, ``[head query key]`` a layer,
 * or ``[1 query key]`` where its heads agree; None where `causal` says all. `neurons` is None for a layer without
 * them. `looks`, where keys are areas of a picture, is ``[head key]`` of all layers: the mean weight over the queries
 * that see the key, as a share of the head's largest on an area, which `peaks` has (``[head]``). Of a picture `means`
 * and `rollout` are ``[1 query key]`` a shown layer: the mean over all heads of the layer, and attention rollout up to
 * it; `unrolled` says why there is no rollout. `folds` are `thumbs` in which each picture within a text is one token.
 * `reads` says of some lines why they are there.
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
  received?: ArrayRef;
  thumbs: ArrayRef | null;
  sink: ArrayRef[] | null;
  hidden: ArrayRef[] | null;
  neurons: (NeuronsInfo | null)[] | null;
  quantities: QuantityInfo[];
  measures: MeasureColumn[];
  looks?: ArrayRef;
  peaks?: ArrayRef;
  means?: ArrayRef[];
  rollout?: ArrayRef[];
  unrolled?: string;
  folds?: ArrayRef;
  links?: LinkInfo[];
  highlights?: HighlightsInfo;
  reads?: ReadsInfo[];
}

/**
 * A stretch of a text; `changed`: the other of two inputs has not got it.
 */
export interface RunInfo {
  text: string;
  changed: boolean;
}

/**
 * One input that is shown; `text` is what it reads, where it is more than its label says.
 *
 * `unseen` says what of the model's layers has no attention map, where there is such.
 */
export interface InputInfo {
  label: string;
  parts: PartInfo[];
  text?: RunInfo[];
  unseen?: string;
  picture?: PictureInfo;
  sound?: SoundInfo;
}

/**
 * What an explorer shows; every key may be left out (`headscope.views.state.STATE` lists them).
 *
 * `pin` is ``["from", 10]`` or ``["to", 3]``: the side and the token's place on its axis. `between` has a place on
 * each axis; beside it `pin` says which was chosen first. `zoom` is first row, rows, first column, columns of the
 * matrix. `time` and `span` are seconds of the sound. `layer` and `heads` are the model's own indices.
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
  picture?: "lines" | "matrix" | "text" | "image";
  smooth?: boolean;
  opacity?: number;
  medium?: number | null;
  queries?: "all" | "patches";
  strip?: "head" | "mean";
  rollout?: boolean;
  unfolded?: number[];
  measure?: string;
  sort?: boolean;
  ascending?: boolean;
  least?: number;
  threshold?: number | null;
  sinks?: boolean;
  top_k?: number;
  aggregate?: "none" | "mean" | "max" | "layers";
  quantity?: string;
  pin?: (string | number)[] | null;
  between?: number[] | null;
  zoom?: number[] | null;
  input?: number;
  side?: "one" | "both" | "difference";
  gold?: boolean;
  time?: number | null;
  follow?: boolean;
  span?: number[] | null;
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
 * not there. `explains`: that model says why lines are there; a widget asks for it.
 * `bertviz`: a call of BertViz made it, and its controls stand above, in its words.
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
  explains?: boolean;
  bertviz?: boolean;
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
  values: (Vectors | null)[] | null;
}

/**
 * A head that carries a span to the answer: its part of the estimate.
 *
 * `effect` is what the answer loses where this head alone does not see the span; None: not measured.
 */
export interface CarrierInfo {
  part: string;
  layer: number;
  head: number;
  estimate: number | null;
  effect: number | null;
}

/**
 * A span of a prompt: its characters (none: −1), or its `box` on the picture; its first and last token.
 *
 * Figures are those of `headscope.why`, None where there is none. `words` are what each of the answer loses (empty:
 * not masked); `heads` are the first that carry it; `without` is what the model writes where it is masked; `note` what
 * its attention says beside its effect.
 */
export interface SourceInfo {
  level: string;
  text: string;
  start: number;
  end: number;
  first: number;
  last: number;
  box: number[] | null;
  effect: number | null;
  low: number | null;
  high: number | null;
  q: number | null;
  share: number | null;
  estimate: number | null;
  deleted: number | null;
  lexical: number | null;
  attention: number | null;
  words: (number | null)[];
  heads: CarrierInfo[];
  without: string;
  note: string;
}

/**
 * A statement of an answer, by its first and its last word, with q of what it loses without each span.
 */
export interface StatementInfo {
  words: number[];
  q: (number | null)[];
}

/**
 * How sources are shown: shaded `by` what, spans of which `level`, and what is chosen (None: nothing).
 *
 * Of the answer these are `words` in a row: the first and the last.
 */
export interface SourcesState {
  by: "effect" | "estimate";
  level: string;
  words: number[] | null;
  span: number | null;
  theme: "auto" | "light" | "dark";
}

/**
 * Which part of a prompt made an `answer` (words), or that rather than `against`: `says` what figures say.
 */
export interface SourcesPayload {
  kind: "sources";
  version: 1;
  title: string;
  model: string;
  prompt: string;
  answer: string[];
  against: string;
  origin: "given" | "wrote" | "said";
  spans: SourceInfo[];
  statements: StatementInfo[];
  says: string[];
  state: SourcesState;
  picture?: PictureInfo;
  maps?: ExplorerPayload;
}

/**
 * A unit of a text or, with its `box`, a picture: what the similarity loses without it, and q (None: unmeasured).
 *
 * `first` and `last` are its tokens; `heads` those through which it reaches the vector.
 */
export interface NearUnit {
  level: string;
  text: string;
  first: number;
  last: number;
  effect: number | null;
  q: number | null;
  box: number[] | null;
  heads: CarrierInfo[];
}

/**
 * Two texts, or a text and a `picture`: units of A and B, and of each two the interaction and its q.
 *
 * ``[unit of A, unit of B]``
 */
export interface NearTexts {
  name: string;
  similarity: number | null;
  says: string;
  units: NearUnit[][];
  interactions: ((number | null)[])[];
  q: ((number | null)[])[];
  picture: PictureInfo | null;
}

/**
 * Which of several documents is shown, how, units of which `level`, and the pinned unit: its side, its place.
 */
export interface SimilarState {
  input: number;
  drawn: "lines" | "matrix";
  level: string;
  pin: number[] | null;
  theme: "auto" | "light" | "dark";
}

/**
 * Why texts that are read apart are near; `notes` say how they were read, `ranked` is a line a document.
 */
export interface SimilarPayload {
  kind: "similar";
  version: 1;
  title: string;
  model: string;
  pairs: NearTexts[];
  ranked: string[];
  notes: string[];
  state: SimilarState;
}

/**
 * A figure: its charts, at most `across` of them in a row, over what its numbers are; on a page, its `frames`.
 */
export interface ChartsPayload {
  kind: "charts";
  title: string;
  frames: ChartsFrame[];
  charts: Chart[];
  across: number;
  caption: string;
  state: ChartsState;
}

/**
 * A table as it is read.
 */
export interface FiguresPayload {
  kind: "figures";
  version: 1;
  title: string;
  columns: string[];
  rows: string[][];
}

/**
 * What is to be guessed before a picture is shown.
 */
export interface LabGuess {
  ask: string;
  choices: string[];
}

/**
 * What has to be so for a task to be solved; all that is there has to be.
 *
 * One of `heads` is open, a token at one of the places `pin` is pinned, the state has what `state` has, one of
 * `changes` is made, `own_text`: a text of the reader's is read, and a figure from `low` to `high` is typed.
 */
export interface LabCheck {
  heads?: number[][];
  pin?: number[];
  state?: ExplorerState;
  changes?: string[];
  own_text?: boolean;
  low?: number;
  high?: number;
}

/**
 * A task of a lab: where its picture begins, what is asked, and what is right.
 *
 * The picture of `text`, `pair` and `state` comes after the `guess`, where there is one.
 */
export interface LabTask {
  title: string;
  guess: LabGuess | null;
  text: string;
  pair: string | null;
  state: ExplorerState;
  ask: string;
  check: LabCheck;
  hint: string;
  answer: string;
}

/**
 * A lab beside its picture; with `answers` it is the instructor's.
 */
export interface LabInfo {
  title: string;
  intro: string;
  tasks: LabTask[];
  answers: boolean;
}

/**
 * A page of explorers, sources of answers, and figures. The blobs of the view at place i are named ``i-name``.
 */
export interface ViewsPayload {
  kind: "views";
  version: 1;
  title: string;
  views: (ExplorerPayload | SourcesPayload | SimilarPayload | FiguresPayload | ChartsPayload)[];
  lab?: LabInfo;
}

/**
 * The model that was measured; `unseen` says what of its layers has no attention map (empty: nothing).
 */
export interface ModelInfo {
  name: string;
  layers: number;
  heads: number;
  parameters: number | null;
  dtype: string | null;
  causal: boolean;
  revision: string | null;
  unseen: string;
}

/**
 * What it was measured on.
 *
 * `noun` is what its inputs are, `shares` the share of the tokens in each class, `split_words` the share of words in
 * several pieces.
 */
export interface CorpusInfo {
  noun: string;
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
 * The report page. `layers` and `heads` are the indices along the arrays' axes.
 *
 * `value`, `error` and `count` are [measure layer head], `chance` is [measure layer]; NaN: there is none. `seen` is
 * [measure layer head 2]: the example and the query's place that show a figure (-1: none does), `here` [measure layer
 * head] the figure on that example alone.
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
  seen: ArrayRef;
  here: ArrayRef;
  sections: SectionInfo[];
  examples: ExplorerPayload[];
  options: Record<string, string>;
  versions: Record<string, string>;
  command: string | null;
  created: string | null;
  seconds: number | null;
  route: string | null;
}

/**
 * A turn of a conversation.
 */
export interface Message {
  role: string;
  content: string;
}

/**
 * What the model is to read: a text (and `pair`, or a decoder's `target`), or `messages`; then ids `written`.
 *
 * A model of sentences reads a text and its pair apart, or `together` as one input.
 */
export interface LiveInput {
  text?: string;
  pair?: string;
  together?: boolean;
  target?: string;
  messages?: Message[];
  written?: number[];
}

/**
 * An input to begin with: its `name`, what to `look` at, the head and the `place` that open, a `change` to try.
 */
export interface LiveExample {
  name: string;
  input: LiveInput;
  look?: string;
  layer?: number;
  head?: number;
  place?: number;
  change?: string;
}

/**
 * A live model: what it can be given. `against` is another one that reads the same; `longest` is in tokens.
 *
 * `shared`: both have one vocabulary; `pair`: a second text beside the first; `apart`: how near two texts
 * are that it reads apart, by name; `target`: what a decoder reads;
 * `chat`: turns of a conversation; `mask`: the token that stands for one to be told; `reads`: it can be asked why a
 * line is there; `sources`: which part of the input made the answer can be asked; `rounded`: how its weights were,
 * where they are not those of the model itself; `loaded`: what makes it in Python, where somebody is to be told.
 */
export interface LiveInfo {
  model: string;
  against: string | null;
  shared: boolean;
  pair: boolean;
  apart: string | null;
  target: boolean;
  chat: boolean;
  mask: string | null;
  longest: number;
  examples: LiveExample[];
  reads: boolean;
  sources: boolean;
  rounded: string | null;
  loaded: string | null;
}

/**
 * A token or a class with its probability.
 */
export interface Candidate {
  id: number;
  text: string;
  p: number;
}

/**
 * What a model says of an input.
 *
 * ``next``: the token after `place`; ``mask``: the token at `place`; ``class``: the class of the input, or of the
 * token at `place`; ``cosine``: `number` is that of the two texts. `top` are the likeliest, of several inputs those of
 * each; `entropy` is in nats, `chosen` the one whose probability is followed.
 */
export interface Prediction {
  kind: "next" | "mask" | "class" | "cosine" | "none";
  place: number | null;
  after: string;
  entropy: number | null;
  top: Candidate[];
  chosen: Candidate | null;
  number: number | null;
}

/**
 * What a head adds to the followed number: estimated from its gradient, gradient × attention summed over pairs.
 *
 * None where there is no gradient: each head is to be taken out.
 */
export interface Effect {
  layer: number;
  head: number;
  estimate: number | null;
}

/**
 * The answer to an input: the explorer's payload, what each of its inputs says, and notes. `turn` names it.
 *
 * `changes` are made; `left` are the others, each with why it cannot be.
 */
export interface Shown {
  kind: "shown";
  id: number;
  turn: number;
  payload: ExplorerPayload;
  says: Prediction[];
  tokens: number;
  notes: string[];
  changes: string[];
  left: Record<string, string>;
  arrays: string[];
}

/**
 * What each input says at another place, or of another candidate.
 */
export interface SaysAnswer {
  kind: "says";
  id: number;
  says: Prediction[];
}

/**
 * The heads by what they add to the followed number, the largest first, and that number.
 */
export interface WhoAnswer {
  kind: "who";
  id: number;
  number: number;
  heads: Effect[];
}

/**
 * The sources of the followed word or class.
 */
export interface WhyAnswer {
  kind: "why";
  id: number;
  sources: SourcesPayload;
}

/**
 * Why two texts are near that are read apart, with the `changes` that are made, and how near they were `before`.
 */
export interface NearAnswer {
  kind: "near";
  id: number;
  before: number | null;
  changes: string[];
  sources: SimilarPayload;
}

/**
 * The followed number without a head, or how near two texts are without some of their words.
 */
export interface WithoutAnswer {
  kind: "without";
  id: number;
  number: number;
}

/**
 * Arrays by name, in the buffers.
 */
export interface ArraysAnswer {
  kind: "arrays";
  id: number;
  arrays: string[];
}

/**
 * A matrix per pair that was computed, with its arrays in the buffers.
 */
export interface QuantityAnswer {
  kind: "quantity";
  id: number;
  added: Added[];
  arrays: string[];
}

/**
 * Why a line is there.
 */
export interface ReadsAnswer {
  kind: "reads";
  id: number;
  why: ReadsInfo;
}

/**
 * Why a question has no answer; `stale`: its input is no longer the one that is shown.
 */
export interface LiveError {
  kind: "error";
  id: number;
  error: string;
  stale: boolean;
}

/**
 * A page whose model answers behind a server.
 */
export interface LivePayload {
  kind: "live";
  version: 1;
  info: LiveInfo;
}

/**
 * Weights of a model in a page, ``[…]``: float32, or float16 or int8 as bytes.
 *
 * A row along `axis` of an int8 matrix is ``scale · code``; `scale` is float32, a number a row.
 */
export interface StoredWeights {
  name: string;
  kind: "float32" | "float16" | "int8";
  shape: number[];
  codes: ArrayRef;
  scale: ArrayRef | null;
  axis: number;
}

/**
 * A part of a model: an ONNX graph (bytes), its tensors, and the weights that stand one behind the other.
 */
export interface SegmentInfo {
  graph: ArrayRef;
  inputs: string[];
  outputs: string[];
  weights: string[];
}

/**
 * What a layer's tensors are called: its weights, queries, keys, and what each query sees (None: all).
 */
export interface LayerTensors {
  layer: number;
  scaling: number;
  weights: string;
  q: string;
  k: string;
  seen: string | null;
}

/**
 * A tokenizer: `json` is its tokenizer.json (bytes); ids of special, unknown and named tokens.
 *
 * `probes` are texts and the ids that Python gives: what the page's own must give as well.
 */
export interface TokenizerInfo {
  json: ArrayRef;
  config: Record<string, unknown>;
  special: number[];
  unknown: number[];
  named: Record<string, number>;
  mask: number | null;
  types: boolean;
  probes: ProbeText[];
}

/**
 * A text, and its ids.
 */
export interface ProbeText {
  text: string;
  pair: string | null;
  ids: number[];
}

/**
 * What stored weights do to the attention maps, beside float32: over so many texts and weights of attention.
 *
 * `largest` and `mean` are of the absolute differences, `same` is the share of rows whose largest weight stays.
 */
export interface Rounded {
  kind: "float32" | "float16" | "int8";
  largest: number;
  mean: number;
  same: number;
  texts: number;
  weights: number;
}

/**
 * A figure of every head of an input: its name, and how to read it.
 */
export interface FigureName {
  name: string;
  title: string;
  units: string;
}

/**
 * A model in a page (`headscope.live.standalone`).
 *
 * `figures` stand beside the grid. `engine` is WebAssembly, `worker` the script that runs it. `inputs` are the model's
 * own; `output` is the tensor of what it `predicts`: logits of the next token, of the masked one or of classes, or
 * hidden states whose means give a cosine.
 */
export interface StandaloneModel {
  info: LiveInfo;
  causal: boolean;
  tokenizer: TokenizerInfo;
  inputs: string[];
  layers: LayerTensors[];
  segments: SegmentInfo[];
  weights: StoredWeights[];
  output: string;
  predicts: "next" | "mask" | "class" | "cosine" | "none";
  classes: string[];
  rounded: Rounded;
  parameters: number;
  figures: FigureName[];
  engine: ArrayRef;
  worker: ArrayRef;
}

/**
 * What a page reads first, and the changes that are made.
 */
export interface Asking {
  input: LiveInput;
  changes: string[];
}

/**
 * A page that carries its model: what it reads, and the picture that it opens with (None: none).
 */
export interface StandalonePayload {
  kind: "standalone";
  version: 1;
  title: string;
  view: ExplorerPayload | null;
  model: StandaloneModel;
  asked: Asking;
  lab?: LabInfo;
}

/**
 * A side of a chart. `names`: of the places 0, 1, …; else numbers, from `low` to `high` or as far as rows go.
 *
 * `ticks`: false where only distances count; `root`: it goes by the square root; `opposite`: what stands at the other
 * end of each place.
 */
export interface ChartAxis {
  title: string;
  names?: string[];
  low?: number;
  high?: number;
  ticks?: boolean;
  root?: boolean;
  opposite?: string[];
}

/**
 * What the rows' colours are of: numbers up to `high`, which diverge where `low` is negative, else `names`.
 *
 * `names` of numbers stand below their colours. `root`: they go by the square root; `none`: what rows without a
 * colour are. `counts` stand behind names. `lettered`: cells have the letter and the colour by which names are known.
 */
export interface ChartColour {
  title: string;
  of: "numbers" | "heads" | "layers";
  names?: string[];
  none?: string;
  counts?: number[];
  lettered?: boolean;
  low?: number;
  high?: number;
  root?: boolean;
}

/**
 * The rows of a chart, a list a column. `link`: the head of each; `marked`: rows with an edge or their name.
 *
 * `against`: what each is held against; `text`: what a cell of a map says in place of its number.
 */
export interface ChartRows {
  x: (number | null)[];
  y: (number | null)[];
  colour?: (number | null)[];
  link?: string[];
  marked?: number[];
  against?: (number | null)[];
  text?: string[];
}

/**
 * A figure of each place of `x`, with its interval. `steps`: dashed, a step a place; `name`: at its end.
 */
export interface ChartLine {
  y: (number | null)[];
  low?: (number | null)[];
  high?: (number | null)[];
  colour?: number;
  dots?: boolean;
  steps?: boolean;
  name?: string;
}

/**
 * A chart: its kind, and the rows that it shows. `equal`: a step is as long on either axis.
 *
 * `label`: said in place of the title to readers who hear the page.
 */
export interface Chart {
  kind: "layers" | "head_map" | "scatter" | "strips" | "bars";
  title: string;
  x: ChartAxis;
  y: ChartAxis;
  rows: ChartRows;
  colour?: ChartColour;
  lines?: ChartLine[];
  equal?: boolean;
  label?: string;
}

/**
 * The ground that charts are on.
 */
export interface ChartsState {
  theme: "light" | "dark";
}

/**
 * What stands above the charts at a step, such as a checkpoint.
 */
export interface ChartsFrame {
  name: string;
  charts: Chart[];
}

/**
 * A column of a table by the name that it is saved under, and what it says (`headscope.measures.columns`).
 *
 * `label` is there where it is other than the name, `format` where it is no ``figure``, `digits` where they are not 3.
 */
export interface ColumnInfo {
  name: string;
  label?: string;
  format?: "share" | "figure" | "fixed" | "probability" | "whole" | "flag" | "text" | "token" | "tokens" | "head";
  digits?: number;
  help?: string;
}

/**
 * What stands in a column of the page: the figures of the column `of`, and what others say beside them.
 *
 * `draw` draws them in place of writing them: a ``bar`` from 0 to 1 with its interval, the baseline `base` and
 * `chance` (in other units up to the most that there can be), a ``change`` to both sides of 0, or a ``range`` in
 * figures; a ``tint`` by its scale and with all that is known where `of` is a measure of the page; ``heads`` are those
 * of the table's `heads`, and a ``measure`` asks its section to show the one that `name` says.
 * Below a figure stand its interval (with `digits`, as the figures of other rows) and what the column `under` says,
 * behind it what `aside` says and, when it is pointed at, `title`. `label` stands above where it is other than the
 * column's. The column `name` names what is no head, or counts what stands behind a plus. `error` stands where there
 * is no interval; `most` fills half of a change, by default the largest.
 */
export interface CellInfo {
  of: string;
  label?: string;
  draw?: "bar" | "change" | "range" | "heads" | "measure" | "tint";
  low?: string;
  high?: string;
  base?: string;
  chance?: string;
  under?: string;
  aside?: string;
  title?: string;
  name?: string;
  error?: string;
  most?: number;
  digits?: number;
  tone?: "strong" | "dim";
}

/**
 * Where heads are seen that have no figures: on an example, in a part of the model.
 */
export interface LookInfo {
  example: number;
  part: string;
}

/**
 * An input by its words or tokens, and its place among the examples.
 *
 * `spans` are units of several words, [first, last] each; their numbers go on after those of the words. `second` is
 * where text B begins.
 */
export interface LinkSentence {
  words: string[];
  spans: number[][];
  second: number | null;
  example: number | null;
}

/**
 * What a head does in an input.
 *
 * `words` are the sources, by the numbers of words and spans, `targets` what would be right for each, `predicted` the
 * head's choices (-1: none), `right` whether they are targets. `arcs` are [word, word, weight]: attention from the
 * first to the second. `pins` are the tokens at which the sources begin, on the side where the head is read.
 */
export interface LinkShown {
  sentence: number;
  words: number[];
  pins: Pin[];
  targets: number[][];
  predicted: number[];
  right: boolean[];
  arcs: number[][];
}

/**
 * A text with mentions, [first word, word after its last, head word] each; its place among the examples.
 *
 * `spaces` tells whether white space follows each word, where the corpus does.
 */
export interface MentionText {
  words: string[];
  mentions: number[][];
  example: number | null;
  spaces: boolean[] | null;
}

/**
 * A mention, the word that a head chooses for it, and the mentions that would be right, by their places.
 *
 * `pin` is the token at which the mention's head word begins.
 */
export interface MentionShown {
  window: number;
  mention: number;
  predicted: number;
  weight: number;
  antecedents: number[];
  right: boolean;
  pin: Pin;
}

/**
 * Where the head of a row is right and where it is wrong.
 *
 * `title` and `about` stand above. `missing` says that there are none of one kind, `none` that there are none at all
 * (empty: that of each kind). `towards`: a source is the query.
 */
export interface CasesOf {
  title: string;
  about: string;
  missing: string;
  none: string;
  towards: boolean;
  links: LinkShown[];
  mentions: MentionShown[];
}

/**
 * Real inputs, of the row that is chosen: `sentences` with arcs, of `link`, or `texts` with mentions.
 *
 * `rows` has those of each row (None: none), `first` is the row whose are shown at first.
 */
export interface CasesInfo {
  link: string;
  sentences: LinkSentence[];
  texts: MentionText[];
  rows: (CasesOf | null)[];
  first: number | null;
}

/**
 * A table: columns as they are saved, with their values, and `cells` that show them.
 *
 * Without `cells` it is saved alone, without `columns` shown alone. With columns ``layer`` and ``head`` a row stands
 * for a head, which `reasons` opens, or `look`. Values of columns that are not in `columns` are shown and not saved.
 * Rows of which the column `faint` is true are grey. `others` are rows that stand below, which are neither saved nor
 * open anything; `off` says why they are grey. `shown` are the places of rows that are shown, where others are saved
 * alone; the column `units` has the units of a row's figures. `heads` are names in a row, by column.
 */
export interface TableBlock {
  kind: "table";
  name: string;
  title: string;
  columns: ColumnInfo[];
  more: ColumnInfo[];
  values: Record<string, (string | number | boolean | null)[]>;
  cells: CellInfo[];
  reasons: (Reason | null)[];
  look?: LookInfo;
  faint?: string;
  shown?: number[];
  units?: string;
  others?: Record<string, (string | number | boolean | null)[]>;
  off?: string;
  heads?: Record<string, Part[][]>;
  cases?: CasesInfo;
}

/**
 * A paragraph: a plain one, a `headline`, names of `heads`, a small `note`, the title of a `part`, or `why` figures
 * are no ground for conclusions.
 */
export interface TextBlock {
  kind: "text";
  tone: "plain" | "headline" | "heads" | "note" | "part" | "why";
  parts: Part[];
}

/**
 * What is said of a name; the parts are set off by commas.
 */
export interface ListEntry {
  name: string;
  parts: Part[];
}

/**
 * A bar that can be moved from `least` to `most`: parts above it stay; `none` is said where none does.
 */
export interface BarInfo {
  label: string;
  least: number;
  most: number;
  step: number;
  value: number;
  none: string;
}

/**
 * Names, and what is said of each.
 */
export interface ListBlock {
  kind: "list";
  entries: ListEntry[];
  bar?: BarInfo;
}

/**
 * What a head (`reader`, its place among the heads) reads of another (`writer`), as keys, queries or values.
 */
export interface GraphEdge {
  writer: number;
  reader: number;
  kind: "K" | "Q" | "V";
  share: number;
  reason: Reason;
}

/**
 * Heads that feed each other; the `title` of a head is its role.
 */
export interface GraphBlock {
  kind: "graph";
  title: string;
  heads: Part[];
  edges: GraphEdge[];
}

/**
 * Charts beside one another, `height` pixels high each or as high as they are by their width.
 *
 * `reasons` open the heads of their rows (None: that of the measure that the page shows), and `tips` say more of these
 * when they are pointed at. `measures` of the page are those of each chart, a colour each: its rows open their heads
 * for these figures.
 */
export interface ChartBlock {
  kind: "chart";
  charts: Chart[];
  height: number | null;
  reasons: (Reason | null)[];
  tips: string[];
  measures?: string[][];
}

/**
 * Where a head is seen: an example, and a token of it.
 */
export interface SeenHead {
  example: number;
  pin: Pin | null;
}

/**
 * Measures of all heads as maps, each small and one of them large.
 *
 * Those of the page; or of two models, where the section has tables of ``heads``, their ``layers`` and measures that
 * ``changed``: then heads are `seen`, by their names, where the maps of both are.
 */
export interface MeasuresBlock {
  kind: "measures";
  seen?: Record<string, SeenHead>;
}

/**
 * A table of every measure of the page: every head a row.
 */
export interface HeadsBlock {
  kind: "heads";
}

/**
 * An example by its place among those of the page, with a head's score on it.
 *
 * `rank` counts from the strongest of all inputs (None: not among the first); `decile` is from 1 to 10, the strongest.
 */
export interface CardExample {
  example: number;
  score: number;
  rank: number | null;
  decile: number;
  reason: Reason;
}

/**
 * One head: its roles, and real examples by the named measure: the strongest, and one of each decile.
 */
export interface CardInfo {
  layer: number;
  head: number;
  roles: string[];
  measure: string;
  units: string;
  least: boolean;
  strongest: CardExample[];
  sample: CardExample[];
}

/**
 * A card a head; `inputs` is how many inputs the examples are chosen from. `alone`: only that of the open head.
 */
export interface CardsBlock {
  kind: "cards";
  cards: CardInfo[];
  inputs: number;
  alone: boolean;
}

/**
 * What is unfolded by a click.
 */
export interface FoldedBlock {
  kind: "folded";
  summary: string;
  blocks: (TableBlock | TextBlock | ListBlock | GraphBlock | ChartBlock | MeasuresBlock | HeadsBlock | CardsBlock | FoldedBlock | ColumnsBlock | ItemsBlock | GlancesBlock | CaseBlock)[];
}

/**
 * Columns beside one another where they have room, of which the first is the narrower one.
 */
export interface ColumnsBlock {
  kind: "beside";
  columns: ((TableBlock | TextBlock | ListBlock | GraphBlock | ChartBlock | MeasuresBlock | HeadsBlock | CardsBlock | FoldedBlock | ColumnsBlock | ItemsBlock | GlancesBlock | CaseBlock)[])[];
}

/**
 * Blocks with a small picture beside them, where there is one.
 */
export interface PicturedItem {
  picture: (TableBlock | TextBlock | ListBlock | GraphBlock | ChartBlock | MeasuresBlock | HeadsBlock | CardsBlock | FoldedBlock | ColumnsBlock | ItemsBlock | GlancesBlock | CaseBlock)[];
  blocks: (TableBlock | TextBlock | ListBlock | GraphBlock | ChartBlock | MeasuresBlock | HeadsBlock | CardsBlock | FoldedBlock | ColumnsBlock | ItemsBlock | GlancesBlock | CaseBlock)[];
}

/**
 * Findings, one below another.
 */
export interface ItemsBlock {
  kind: "items";
  items: PicturedItem[];
}

/**
 * What heads look at where they were named, in small pictures.
 */
export interface GlancesBlock {
  kind: "glances";
  heads: Part[];
}

/**
 * One case of a head that is named.
 */
export interface CaseBlock {
  kind: "case";
  head: Part;
  cases: CasesInfo;
}

/**
 * A section that is data; `name` says what it is about.
 */
export interface BlocksSection {
  title: string;
  about: string;
  kind: "blocks";
  name: string;
  blocks: (TableBlock | TextBlock | ListBlock | GraphBlock | ChartBlock | MeasuresBlock | HeadsBlock | CardsBlock | FoldedBlock | ColumnsBlock | ItemsBlock | GlancesBlock | CaseBlock)[];
  notes: string[];
  command: string | null;
}

/**
 * The model itself, to type and look: it is unpacked when a reader asks for it.
 */
export interface StandaloneSection {
  title: string;
  about: string;
  kind: "standalone";
  page: StandalonePayload;
}

/**
 * A token on the planes: its piece, and where it stands: the example and its place there.
 */
export interface PlaneToken {
  piece: string;
  example: number;
  place: number;
}

/**
 * Queries and keys of every head on a plane of its own, in bytes.
 *
 * `query` and `key` are ``[head token 2]``: 0 to 255 over the square that holds both. `looks` is ``[head token]``, the
 * token that a query looks at most, and `weight` the weight on it; it is itself with the weight 0 where there is none.
 * `share` is what each plane shows of the variance.
 */
export interface PlanesInfo {
  tokens: PlaneToken[];
  query: ArrayRef;
  key: ArrayRef;
  looks: ArrayRef;
  weight: ArrayRef;
  share: (number | null)[];
}

/**
 * Every head a point by any two figures of the page.
 *
 * `layer`, `head`, `roles` and `places` (x and y on the map by distances; None where there is none) are of the heads
 * in their order.
 */
export interface AtlasSection {
  title: string;
  about: string;
  kind: "atlas";
  layer: number[];
  head: number[];
  roles: string[][];
  places: ((number | null)[])[] | null;
  planes: PlanesInfo | null;
  notes: string[];
  command: string | null;
}

/**
 * One range of keys: its measure, and the figures of every head ``[layer][head]``.
 *
 * `label` is its distances or its tokens. `chance` is by layer. `example` and `place` say where a head's
 * figure is seen: an example of the page and the query, -1 for none.
 */
export interface PositionColumn {
  measure: string;
  title: string;
  label: string;
  group: "tokens" | "before" | "itself" | "after";
  value: ((number | null)[])[];
  se: ((number | null)[])[];
  n: ((number | null)[])[];
  chance: (number | null)[];
  example: number[][];
  place: number[][];
}

/**
 * Shares of attention by position and distance, by layer and head.
 */
export interface PositionsSection {
  title: string;
  about: string;
  kind: "positions";
  layers: number[];
  heads: number[];
  columns: PositionColumn[];
  notes: string[];
  command: string | null;
}

export type SectionInfo =
  | BlocksSection
  | StandaloneSection
  | AtlasSection
  | PositionsSection;

/** What the state says where it says nothing: part is then the first, layer and heads are telling ones. */
export const STATE_DEFAULTS: Required<ExplorerState> = {
  scale: "head",
  part: "",
  layer: -1,
  heads: [],
  filter: "all",
  special: true,
  renormalise: false,
  unit: "pieces",
  draw: "auto",
  picture: "lines",
  smooth: false,
  opacity: 0.8,
  medium: null,
  queries: "all",
  strip: "head",
  rollout: false,
  unfolded: [],
  measure: "none",
  sort: false,
  ascending: false,
  least: 0.0,
  threshold: null,
  sinks: true,
  top_k: 0,
  aggregate: "none",
  quantity: "weights",
  pin: null,
  between: null,
  zoom: null,
  input: 0,
  side: "one",
  gold: true,
  time: null,
  follow: false,
  span: null,
  values: false,
  theme: "auto",
};

/** What its keys of few values take. */
export const STATE_CHOICES: { readonly [K in keyof ExplorerState]?: readonly string[] } = {
  scale: ["model", "head", "neuron"],
  filter: ["all", "aa", "ab", "ba", "bb"],
  unit: ["pieces", "words"],
  draw: ["auto", "heat", "lines"],
  picture: ["lines", "matrix", "text", "image"],
  queries: ["all", "patches"],
  strip: ["head", "mean"],
  aggregate: ["none", "mean", "max", "layers"],
  side: ["one", "both", "difference"],
  theme: ["auto", "light", "dark"],
};

/** Words that say little by themselves. */
export const SMALL_WORDS = ["a", "an", "the", "this", "that", "to", "of", "in", "on", "at", "by", "for", "from", "with", "as", "into", "and", "or", "but", "nor", "so", "if", "than", "then", "because", "while", "when", "too", "very", "just", "also", "not", "no"];
