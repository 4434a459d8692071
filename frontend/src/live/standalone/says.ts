// What the model says of a pass: the next token, that of a mask, a class, or how alike two texts are
// (headscope.live.predictions).

import type { Prediction, StandaloneModel } from "../../protocol";
import type { Reader, Tokens } from "./tokens";

const TOP = 10;

/** What one input's pass gave: of `next` the logits of the place `at` alone. */
export interface Said {
  readonly tokens: Tokens;
  readonly rows: number;
  readonly data: Float32Array;
  readonly at: number | null;
}

export class Sayer {
  constructor(
    private readonly model: StandaloneModel,
    private readonly reader: Reader,
  ) {}

  /** The token that is asked about, or else the one that a reader asks about first; null for none. */
  place(tokens: Tokens, rows: number, asked: number | null): number | null {
    const { predicts, tokenizer } = this.model;
    const count = tokens.ids.length;
    if (predicts === "cosine" || predicts === "none") return null;
    if (predicts === "class" && rows === 1) return 0;
    if (asked !== null && asked >= 0 && asked < count) return asked;
    if (predicts !== "mask") return predicts === "next" ? count - 1 : 0;
    const found = tokens.ids.indexOf(tokenizer.mask ?? -1);
    return found < 0 ? null : found;
  }

  /** Of each input the same candidates: the likeliest of each, and the one chosen. */
  predictions(said: readonly Said[], asked: number | null, chosen: number | null): Prediction[] {
    const best = said.flatMap((one) => this.best(one, asked));
    const follows = chosen ?? best[0] ?? null;
    return said.map((one) => this.prediction(one, asked, follows, best));
  }

  /** The number that changes are judged by: a log probability in nats, or the cosine. */
  followed(said: Said, asked: number | null, chosen: number | null): number {
    const number = this.cosine(said);
    if (number !== null) return number;
    const row = this.row(said, asked);
    if (!row) throw new Error("there is no prediction here whose heads could be asked for");
    return logSoftmax(row)[chosen !== null && chosen < row.length ? chosen : top(row, 1)[0]!]!;
  }

  best(said: Said, asked: number | null): number[] {
    const row = this.row(said, asked);
    if (!row) return [];
    return top(row, TOP);
  }

  private prediction(said: Said, asked: number | null, chosen: number | null, of: readonly number[]): Prediction {
    const { predicts: kind } = this.model;
    const place = this.place(said.tokens, said.rows, asked);
    const row = this.row(said, asked);
    const single = kind === "class" && said.rows === 1;
    const number = this.cosine(said);
    const found: Prediction = {
      kind: kind === "cosine" && number === null ? "none" : kind,
      place: single ? null : place,
      after: "",
      entropy: null,
      top: [],
      chosen: null,
      number,
    };
    if (!row || place === null) return found;
    if (found.place !== null) found.after = said.tokens.texts[place] || said.tokens.pieces[place]!;
    const logs = logSoftmax(row);
    let entropy = 0;
    for (const log of logs) if (log > -700) entropy -= Math.exp(log) * log;
    found.entropy = entropy;
    const candidate = (id: number): Prediction["top"][number] => ({ id, text: this.name(id), p: Math.exp(logs[id]!) });
    const known = [...new Set([...top(row, TOP), ...of])].filter((id) => id < row.length);
    found.top = known.map(candidate).sort((a, b) => b.p - a.p || a.id - b.id);
    if (chosen !== null && chosen < row.length) found.chosen = candidate(chosen);
    return found;
  }

  private row({ tokens, rows, data, at }: Said, asked: number | null): Float32Array | null {
    const place = this.place(tokens, rows, asked);
    if (place === null) return null;
    const size = data.length / rows;
    const number = at === null ? place : 0;
    return data.subarray(number * size, (number + 1) * size);
  }

  // Of the mean hidden states of A and B, special tokens left out.
  private cosine({ tokens, rows, data }: Said): number | null {
    if (this.model.predicts !== "cosine") return null;
    const size = data.length / rows;
    const means = [0, 1].map((side) => {
      const total = new Float64Array(size);
      let number = 0;
      tokens.sequences.forEach((sequence, place) => {
        if (sequence !== side) return;
        number++;
        for (let at = 0; at < size; at++) total[at]! += data[place * size + at]!;
      });
      return number > 0 ? total.map((value) => value / number) : null;
    });
    const [a, b] = means;
    if (!a || !b) return null;
    const dot = (x: Float64Array, y: Float64Array): number => x.reduce((total, value, at) => total + value * y[at]!, 0);
    return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  }

  /** The word or the class of a number. */
  name(id: number): string {
    return this.model.predicts === "class" ? (this.model.classes[id] ?? String(id)) : this.reader.named(id);
  }
}

function logSoftmax(row: Float32Array): Float64Array {
  let most = -Infinity;
  for (const value of row) most = Math.max(most, value);
  let whole = 0;
  for (const value of row) whole += Math.exp(value - most);
  const shift = most + Math.log(whole);
  return Float64Array.from(row, (value) => value - shift);
}

function top(row: Float32Array, count: number): number[] {
  const found: number[] = [];
  for (let at = 0; at < row.length; at++) {
    if (found.length === count && row[at]! <= row[found.at(-1)!]!) continue;
    let place = found.length;
    while (place > 0 && row[found[place - 1]!]! < row[at]!) place--;
    found.splice(place, 0, at);
    if (found.length > count) found.pop();
  }
  return found;
}
