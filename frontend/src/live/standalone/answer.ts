// A model in a page answers what headscope.live.session.Live answers behind a server (docs/protocol.md).

import type {
  ArrayRef,
  AxisInfo,
  ExplorerPayload,
  InputInfo,
  LiveError,
  LiveInput,
  MeasureColumn,
  NeuronsInfo,
  PartInfo,
  Prediction,
  Shown,
  SourceInfo,
  StandalonePayload,
  Vectors,
  WhyAnswer,
} from "../../protocol";
import type { Numbers } from "../../scene/data";
import { figure, reason } from "../../scene/format";
import { opening } from "../../scene/opening";
import { cut } from "./cut";
import type { Graphs, Pass } from "./graphs";
import { difference, highlights, type Maps, measure, sinks } from "./highlights";
import { type Said, Sayer } from "./says";
import type { Reader, Tokens } from "./tokens";
import { type Change, parse, write } from "./whatif";

/** Weights of a part that the page draws whole; the grid of a larger one has thumbnails. */
const SMALL = 4_000_000;
const THUMB = 64;
/** A context that gives less, in nats, has no shares. */
const MATTERS = Math.LN2;
/** What of a masked part a page does not measure. */
const UNKNOWN = {
  ...{ box: null, low: null, high: null, q: null, estimate: null, deleted: null, lexical: null, attention: null },
  ...{ heads: [], without: "", note: "" },
};

export interface Answer {
  readonly content: object;
  readonly arrays: readonly Numbers[];
}

/** The answer is no longer wanted. */
export class StoppedError extends Error {}

interface Ran {
  readonly label: string;
  readonly tokens: Tokens;
  readonly changes: readonly Change[];
  readonly pass: Pass;
}

type Asked = Record<string, unknown>;

export class Answers {
  private turn = 0;
  private ran: Ran[] = [];
  private arrays = new Map<string, Numbers>();
  private plain: { readonly key: string; readonly ran: Ran } | null = null;
  private readonly sayer: Sayer;

  constructor(
    private readonly page: StandalonePayload,
    private readonly graphs: Graphs,
    private readonly reader: Reader,
  ) {
    this.sayer = new Sayer(page.model, reader);
  }

  /** The answer to a question; one of the kind `error` where there is none. */
  async answer(asked: Asked): Promise<Answer> {
    const ways: Record<string, (asked: Asked) => Promise<Answer> | Answer> = {
      show: (mine) => this.show(mine),
      arrays: (mine) => this.named(mine),
      says: (mine) => this.says(mine),
      who: (mine) => this.who(mine),
      without: (mine) => this.without(mine),
      why: (mine) => this.why(mine),
    };
    const kind = String(asked.kind);
    try {
      const way = ways[kind];
      if (!way)
        throw new Error(
          kind === "quantity"
            ? "a page has no gradients and no norms: headscope serve and hs.explore have"
            : `kind: expected one of ${Object.keys(ways).join(", ")}, found '${kind}'`,
        );
      return await way(asked);
    } catch (error) {
      const told: LiveError = {
        kind: "error",
        id: Number(asked.id) || 0,
        error: reason(error),
        stale: error instanceof StoppedError,
      };
      return { content: told, arrays: [] };
    }
  }

  private async show(asked: Asked): Promise<Answer> {
    const given = (asked.input ?? {}) as LiveInput;
    const tokens = this.read(given);
    const at = place(asked.at);
    const key = JSON.stringify(given);
    if (this.plain?.key !== key)
      this.plain = {
        key,
        ran: { label: "", tokens, changes: [], pass: await this.graphs.run(this.given(tokens, at), []) },
      };
    const { ran, changes, left } = await this.changed(this.plain.ran, asked.changes, at);
    this.arrays = new Map();
    this.ran = ran;
    this.turn++;
    const payload = this.payload(ran);
    const says = await this.said(asked);
    const first = this.first(payload, Number(asked.layer));
    const told: Shown = {
      kind: "shown",
      id: Number(asked.id),
      turn: this.turn,
      payload,
      says,
      tokens: tokens.ids.length,
      notes: [],
      changes: changes.map(write),
      left,
      arrays: first,
    };
    return { content: told, arrays: first.map((name) => this.arrays.get(name)!) };
  }

  private read(given: LiveInput): Tokens {
    const { info } = this.page.model;
    if (!given.text?.trim()) throw new Error("Text: type something; there is nothing to read");
    const tokens = this.reader.read(given.text, given.pair || null, given.written ?? []);
    if (tokens.ids.length > info.longest)
      throw new Error(`${tokens.ids.length} tokens: at most ${info.longest} are read here as you type`);
    if (tokens.ids.length < 2) throw new Error("Text: one token has nothing else to look at; type another one");
    return tokens;
  }

  private given(
    tokens: Tokens,
    at: number | null,
  ): { ids: readonly number[]; types: readonly number[]; place: number } {
    return { ids: tokens.ids, types: tokens.types, place: this.sayer.place(tokens, tokens.ids.length, at) ?? 0 };
  }

  // What is shown with the changes that fit the input, these, and why each of the others is left out.
  private async changed(plain: Ran, given: unknown, at: number | null) {
    const texts = Array.isArray(given) ? given.map(String) : [];
    const left: Record<string, string> = {};
    const changes: Change[] = [];
    for (const text of texts) {
      try {
        changes.push(this.fitting(plain, parse(text)));
      } catch (error) {
        left[text] = reason(error);
      }
    }
    return { ran: await this.with(plain, changes, at), changes, left };
  }

  private fitting({ tokens, pass }: Ran, change: Change): Change {
    const { layer, head, query, key, last } = change;
    const where = layer === null ? 0 : this.graphs.layers.findIndex((one) => one.layer === layer);
    if (where < 0 || Math.max(query ?? 0, last ?? key ?? 0) >= tokens.ids.length)
      throw new Error(`${write(change)}: this model has no such head, its input no such token, or it did not run`);
    const { heads } = this.graphs.vectors(pass, where, "q");
    if (head !== null && head >= heads)
      throw new Error(`${write(change)}: no head ${head} in layer ${layer}; it has ${heads}`);
    return change;
  }

  // What is, and beside it what changes make of it.
  private async with(plain: Ran, changes: readonly Change[], at: number | null): Promise<Ran[]> {
    if (changes.length === 0) return [plain];
    const first = Math.min(
      ...changes.map(({ layer }) => (layer === null ? 0 : this.graphs.layers.findIndex((one) => one.layer === layer))),
    );
    const pass = await this.graphs.run(this.given(plain.tokens, at), changes, plain.pass, first + 1);
    return [
      { ...plain, label: "as it is" },
      { ...plain, label: "changed", changes, pass },
    ];
  }

  private async says(asked: Asked): Promise<Answer> {
    this.current(asked);
    return { content: { kind: "says", id: Number(asked.id), says: await this.said(asked) }, arrays: [] };
  }

  private async said(asked: Asked): Promise<Prediction[]> {
    const at = place(asked.at);
    const said: Said[] = [];
    for (const ran of this.ran) said.push(await this.of(ran, at));
    return this.sayer.predictions(said, at, place(asked.chosen));
  }

  // What a pass says at a place: the last segment gives the logits of one place alone, where it can.
  private async of(ran: Ran, at: number | null): Promise<Said> {
    const given = this.given(ran.tokens, at);
    const before = ran.pass.values.get("places")!.data as BigInt64Array;
    const same = !this.page.model.inputs.includes("places") || Number(before[0]) === given.place;
    const pass = same ? ran.pass : await this.graphs.run(given, ran.changes, ran.pass, this.graphs.layers.length);
    return this.told(ran, given.place, pass);
  }

  private told({ tokens }: Ran, place: number, pass: Pass): Said {
    const one = this.page.model.inputs.includes("places");
    return { tokens, ...this.graphs.said(pass), at: one ? place : null };
  }

  private async who(asked: Asked): Promise<Answer> {
    this.current(asked);
    const { said, at, chosen } = await this.followed(asked);
    const number = this.sayer.followed(said, at, chosen);
    const heads = this.graphs.layers.flatMap(({ layer }, where) =>
      Array.from({ length: this.graphs.vectors(this.ran[0]!.pass, where, "q").heads }, (_, head) => ({
        layer,
        head,
        estimate: null,
      })),
    );
    return { content: { kind: "who", id: Number(asked.id), number, heads: heads.reverse() }, arrays: [] };
  }

  private async without(asked: Asked): Promise<Answer> {
    this.current(asked);
    const ran = this.ran.at(-1)!;
    const { at, chosen } = await this.followed(asked);
    const where = this.graphs.layers.findIndex(({ layer }) => layer === Number(asked.layer));
    const number = await this.numbered(
      ran,
      [this.fitting(ran, parse(`L${asked.layer}H${asked.head} off`))],
      at,
      chosen,
      where + 1,
    );
    return { content: { kind: "without", id: Number(asked.id), number }, arrays: [] };
  }

  // The followed number of an input after more changes, of the layers from `first - 1` on.
  private async numbered(
    ran: Ran,
    more: readonly Change[],
    at: number | null,
    chosen: number | null,
    first = 1,
  ): Promise<number> {
    const given = this.given(ran.tokens, at);
    const pass = await this.graphs.run(given, [...ran.changes, ...more], ran.pass, first);
    return this.sayer.followed(this.told(ran, given.place, pass), at, chosen);
  }

  // What the followed word or class loses where nothing else sees a part of the input, as `headscope.why` masks it.
  private async why(asked: Asked): Promise<Answer> {
    this.current(asked);
    const ran = this.ran[0]!;
    const { tokens } = ran;
    const { info, predicts, causal } = this.page.model;
    const said = await this.of(ran, place(asked.at));
    const at = this.sayer.place(tokens, said.rows, place(asked.at));
    const [best = null] = this.sayer.best(said, at);
    const chosen = place(asked.chosen) ?? best;
    if (at === null || chosen === null)
      throw new Error("why: expected a next word, a masked one or a class that the model says, found none");
    const level = asked.spans === "word" ? "word" : "sentence";
    const parts = cut(tokens, predicts === "next" ? at + 1 : tokens.ids.length, level, causal);
    if (parts.length === 0) throw new Error("why: expected parts of the text before the followed word, found none");
    const one = predicts === "class" && said.rows === 1; // read of all the input
    const reader = one ? (causal ? tokens.ids.length - 1 : -1) : at;
    const masks = parts.map(
      (part): Change => ({ ...parse("all hide >0"), part: { tokens: new Set(part.tokens), reader } }),
    );
    const before = this.sayer.followed(said, at, chosen);
    const lost = async (some: readonly Change[]): Promise<number> =>
      before - (await this.numbered(ran, some, at, chosen));
    const context = await lost(masks);
    const spans: SourceInfo[] = [];
    for (const [number, { tokens: inside, ...part }] of parts.entries()) {
      const effect = await lost([masks[number]!]);
      const [first, last] = [inside[0]!, inside.at(-1)!];
      const share = Math.abs(context) >= MATTERS ? effect / context : null;
      spans.push({ ...part, ...UNKNOWN, level, first, last, effect, words: [effect], share });
    }
    const answer = this.sayer.name(chosen);
    const sources: WhyAnswer["sources"] = {
      kind: "sources",
      version: 1,
      title: `Which part made this answer? · ${info.model}`,
      model: info.model,
      prompt: tokens.texts.slice(0, predicts === "next" ? at + 1 : undefined).join(""),
      answer: [answer],
      against: "",
      origin: chosen === best ? "said" : "given",
      spans,
      statements: [{ words: [0, 0], q: spans.map(() => null) }],
      says: [`The answer loses ${figure(context, 2)} nats without any of these parts.`],
      state: { by: "effect", level, words: null, span: null, theme: "auto" },
    };
    return { content: { kind: "why", id: Number(asked.id), sources } satisfies WhyAnswer, arrays: [] };
  }

  private async followed(asked: Asked): Promise<{ said: Said; at: number | null; chosen: number | null }> {
    const at = place(asked.at);
    const chosen = place(asked.chosen) ?? this.sayer.best(await this.of(this.ran[0]!, at), at)[0] ?? null;
    return { said: await this.of(this.ran.at(-1)!, at), at, chosen };
  }

  private named(asked: Asked): Answer {
    this.current(asked);
    const names = (asked.names as string[]).map(String);
    const unknown = names.find((name) => !this.arrays.has(name));
    if (unknown !== undefined) throw new Error(`names: no array '${unknown}'`);
    return {
      content: { kind: "arrays", id: Number(asked.id), arrays: names },
      arrays: names.map((name) => this.arrays.get(name)!),
    };
  }

  private current(asked: Asked): void {
    if (this.ran.length === 0 || asked.turn !== this.turn)
      throw new StoppedError("this input is no longer the one that is shown");
  }

  // Of large maps the thumbnails and the layer that opens come first; others when they are asked for.
  private first(payload: ExplorerPayload, layer: number): string[] {
    const names: string[] = [];
    for (const { parts } of payload.inputs) {
      for (const part of parts) {
        names.push(...part.measures.map(({ values }) => values.data), ...(part.hidden ?? []).map(({ data }) => data));
        const opens = part.index.includes(layer) ? layer : opening(part).layer;
        names.push(
          ...(part.thumbs ? [part.thumbs, part.layers[part.index.indexOf(opens)]!] : part.layers).map(
            ({ data }) => data,
          ),
        );
      }
    }
    return [...new Set(names)];
  }

  private keep(array: Numbers, shape: readonly number[]): ArrayRef {
    const data = String(this.arrays.size);
    this.arrays.set(data, array);
    return { dtype: array instanceof Uint8Array ? "uint8" : "float32", shape: [...shape], encoding: "plain", data };
  }

  private payload(ran: readonly Ran[]): ExplorerPayload {
    const maps = ran.map(({ tokens, pass }) => this.maps(tokens, pass));
    const inputs = ran.map((one, place): InputInfo => {
      const [a, b] = [0, 1].map((side) =>
        one.tokens.texts
          .filter((_, at) => one.tokens.sequences[at] === side && !one.tokens.special[at])
          .join("")
          .trim(),
      );
      const text = [a, b].filter(Boolean).join(" ");
      return {
        label: one.label,
        parts: [this.part(one, maps[place]!, maps.length === 2 ? maps[1 - place]! : null)],
        text: [{ text, changed: false }],
      };
    });
    const { model } = this.page.model.info;
    const cut = [...(inputs[0]!.text?.[0]?.text ?? "")];
    const title = `${cut.length > 80 ? `${cut.slice(0, 79).join("")}…` : cut.join("")} · ${model}`;
    return {
      kind: "explorer",
      version: 1,
      title,
      model,
      inputs,
      state: inputs.length === 2 ? { side: "both" } : {},
      exact: true,
      offers: [],
    };
  }

  private maps(tokens: Tokens, pass: Pass): Maps {
    const layers = this.graphs.layers.map((_, place) => this.graphs.layer(pass, place));
    return { tokens: pass.tokens, special: tokens.special, layers };
  }

  private part({ tokens, pass }: Ran, maps: Maps, other: Maps | null): PartInfo {
    const { layers } = this.graphs;
    const n = pass.tokens;
    const { tokenizer, causal } = this.page.model;
    const separators = [...tokens.ids.keys()].filter((place) => tokens.ids[place] === tokenizer.named.sep);
    const measures: MeasureColumn[] = [];
    const most = Math.max(...maps.layers.map(({ heads }) => heads));
    const column = (
      about: Pick<MeasureColumn, "name" | "title" | "units">,
      values: readonly (readonly number[])[],
    ): void => {
      const flat = Float32Array.from(values.flatMap((row) => [...row, ...Array<number>(most - row.length).fill(NaN)]));
      measures.push({ ...about, of: "input", values: this.keep(flat, [values.length, most]) });
    };
    for (const { name, title, units } of this.page.model.figures) {
      if (name === "sep" && separators.length === 0) continue;
      const values = measure(name, maps, separators);
      if (values) column({ name, title, units }, values);
    }
    const moved = other && difference(maps, other);
    if (moved) column({ name: "difference", title: "difference", units: "share" }, moved);
    const refs = maps.layers.map(({ weights, heads }) => this.keep(weights, [heads, n, n]));
    const large = maps.layers.reduce((total, { weights }) => total + weights.length, 0) > SMALL;
    const axis = this.axis(tokens);
    const keys = sinks(maps);
    return {
      name: "self",
      kind: "self",
      causal,
      query: axis,
      key: keys.length > 0 ? { ...axis, sinks: keys } : axis,
      index: layers.map(({ layer }) => layer),
      heads: maps.layers.map(({ heads }) => [...Array(heads).keys()]),
      layers: refs,
      thumbs: large ? this.thumbs(maps) : null,
      sink: null,
      hidden: this.hidden(maps),
      neurons: layers.map((_, place) => this.neurons(pass, place)),
      quantities: [],
      measures,
      highlights: highlights(maps, axis, (name) => measure(name, maps, separators)!, moved),
    };
  }

  private axis(tokens: Tokens): AxisInfo {
    const texts: string[] = [];
    const pieces: string[] = [];
    tokens.words.forEach((word, place) => {
      texts[word] = (texts[word] ?? "") + tokens.texts[place]!;
      pieces[word] = (pieces[word] ?? "") + tokens.pieces[place]!.replace(/^(?:##|[▁Ġ]+)(?=.)/, "");
    });
    return {
      pieces: [...tokens.pieces],
      ids: [...tokens.ids],
      special: [...tokens.special],
      sequences: [...tokens.sequences],
      words: { group: [...tokens.words], texts: texts.map((text, word) => text.trim() || pieces[word]!) },
      ...(tokens.written !== null && { written: tokens.written }),
    };
  }

  // What queries cannot see, where that is more than what stands after them.
  private hidden(maps: Maps): ArrayRef[] | null {
    const { tokens: n, layers } = maps;
    const { causal } = this.page.model;
    const more = layers.some(({ seen }) =>
      seen?.some((sees, at) => (sees !== 0) !== (!causal || at % n <= Math.floor(at / n))),
    );
    if (!more) return null;
    return layers.map(({ seen }) => this.keep(seen?.map((sees) => 1 - sees) ?? new Uint8Array(n * n), [1, n, n]));
  }

  private thumbs(maps: Maps): ArrayRef {
    const { tokens: n, layers } = maps;
    const side = Math.min(n, THUMB);
    const block = Int32Array.from({ length: n }, (_, at) => Math.floor(((at + 1) * side - 1) / n));
    const heads = layers.reduce((total, one) => total + one.heads, 0);
    const found = new Float32Array(heads * side * side);
    let first = 0;
    for (const { weights, heads: own } of layers) {
      for (let at = 0; at < weights.length; at++) {
        const head = Math.floor(at / (n * n));
        const to = ((first + head) * side + block[Math.floor(at / n) % n]!) * side + block[at % n]!;
        if (weights[at]! > found[to]!) found[to] = weights[at]!;
      }
      first += own;
    }
    return this.keep(found, [heads, side, side]);
  }

  private neurons(pass: Pass, where: number): NeuronsInfo {
    const vectors = (of: "q" | "k"): Vectors & { heads: number } => {
      const { data, heads, dim } = this.graphs.vectors(pass, where, of);
      return { codes: this.keep(data, [heads, pass.tokens, dim]), low: null, step: null, heads };
    };
    const { heads, ...q } = vectors("q");
    const { heads: keys, ...k } = vectors("k");
    const groups = heads / keys;
    const own = [...Array(heads).keys()];
    return {
      q,
      k,
      v: null,
      heads: own,
      key_head: own.map((head) => Math.floor(head / groups)),
      keys: [...Array(keys).keys()],
      groups,
      scaling: this.graphs.layers[where]!.scaling,
      softcap: null,
      bias: null,
      sinks: null,
    };
  }
}

const place = (value: unknown): number | null =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : null;
