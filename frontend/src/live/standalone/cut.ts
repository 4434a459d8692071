// The input in sentences or words, as `headscope.why` cuts it.

import type { Tokens } from "./tokens";

const ENDS = /[.!?…。！？]+["'”’)\]]*(?:\s+|(?<=[。！？]))|\n+\s*/gu;
const WORDS = /[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]+/gu;

export interface Span {
  readonly text: string;
  /** Its characters, as Python counts them. */
  readonly start: number;
  readonly end: number;
  readonly tokens: readonly number[];
}

/** The parts of the first `count` tokens; `sink`: the first is in none, as heads park their attention there. */
export function cut(tokens: Tokens, count: number, level: "sentence" | "word", sink: boolean): Span[] {
  const texts = tokens.texts.slice(0, count);
  const whole = texts.join("");
  const places: number[] = [];
  let pair = 0;
  let at = 0;
  texts.forEach((text, token) => {
    const gap = text.length - text.trimStart().length;
    places.push(text === "" || (sink && token === 0) ? -1 : at + (gap < text.length ? gap : 0));
    at += text.length;
    if (tokens.sequences[token] === 0) pair += text.length;
  });
  if (!tokens.sequences.slice(0, count).includes(1)) pair = 0;
  const sides = pair > 0 ? [whole.slice(0, pair), whole.slice(pair)] : [whole];
  const points = (end: number): number => [...whole.slice(0, end)].length;
  return sides.flatMap((side, number) =>
    (level === "word" ? words(side) : sentences(side)).flatMap(([from, to]) => {
      const [start, end] = [from + number * pair, to + number * pair];
      const inside = [...places.keys()].filter((token) => places[token]! >= start && places[token]! < end);
      if (inside.length === 0) return [];
      return [{ text: whole.slice(start, end).trim(), start: points(start), end: points(end), tokens: inside }];
    }),
  );
}

const words = (text: string): [number, number][] =>
  [...text.matchAll(WORDS)].map(({ index, 0: word }) => [index, index + word.length]);

function sentences(text: string): [number, number][] {
  const ends = [...text.matchAll(ENDS)].map(({ index, 0: mark }) => index + mark.length);
  const edges = [...new Set([0, ...ends, text.length])].sort((a, b) => a - b);
  const found: [number, number][] = [];
  edges.slice(1).forEach((end, number) => {
    const start = edges[number]!;
    if (found.length > 0 && !text.slice(start, end).trim()) found.at(-1)![1] = end;
    else found.push([start, end]);
  });
  return found;
}
