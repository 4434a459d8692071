// Where an answer came from: the prompt in stretches, each of a span, the answer in words, and how both are shaded.

import type { SourceInfo, SourcesPayload, SourcesState } from "../protocol";
import { figure, percent, probability, shortened } from "./format";

/** The strongest shade, in percent: dark ink can still be read on it. */
const STRONGEST = 60;
/** The q up to which words hang on a span. */
const LEVEL = 0.05;

/** The first and the last of words in a row. */
type Words = readonly number[];

/** A stretch of text of one span, or of none. */
interface Stretch {
  readonly text: string;
  readonly span: number | null;
}

export interface Shade {
  readonly strength: number;
  readonly tone: "plus" | "minus";
}

export const levels = ({ spans }: SourcesPayload): string[] => [...new Set(spans.map(({ level }) => level))];

/** The prompt, cut at the borders of the spans of a level; of spans that overlap the later one has the text. */
export function stretches({ prompt, spans }: SourcesPayload, level: string): Stretch[] {
  const characters = Array.from(prompt); // as Python counts them
  const owner = new Int32Array(characters.length).fill(-1);
  spans.forEach((span, place) => {
    if (span.level === level && span.start >= 0) owner.fill(place, span.start, span.end);
  });
  const found: Stretch[] = [];
  for (let start = 0, end = 0; start < characters.length; start = end) {
    while (end < characters.length && owner[end] === owner[start]) end++;
    found.push({ text: characters.slice(start, end).join(""), span: owner[start]! < 0 ? null : owner[start]! });
  }
  return found;
}

/** The answer, cut into its words and the white space around them. */
export const written = ({ answer }: SourcesPayload): { text: string; word: number | null }[] =>
  answer.flatMap((text, word) => {
    const parts = text.trim() ? text.split(/^(\s+)|(\s+)$/u).filter(Boolean) : [text];
    return parts.map((part) => ({ text: part, word: part === text || part.trim() ? word : null }));
  });

/** What words in a row lose without a span; null where that was not measured. */
function loss({ spans }: SourcesPayload, [first, last]: Words, span: number): number | null {
  const some = spans[span]!.words.slice(first, last! + 1);
  return some.length === 0 || some.includes(null) ? null : some.reduce<number>((sum, x) => sum + x!, 0);
}

export const within = (word: number, words: Words | null): boolean =>
  words !== null && words[0]! <= word && word <= words[1]!;

/** The number of the statement that words in a row are; −1: none. */
export const statementOf = ({ statements }: SourcesPayload, chosen: Words): number =>
  statements.findIndex(({ words }) => words.every((word, end) => word === chosen[end]));

/** The q of what chosen words, or all, lose without a span; null where there is none. */
export function certainty(payload: SourcesPayload, words: Words | null, span: number): number | null {
  if (words === null) return payload.spans[span]!.q;
  return payload.statements[statementOf(payload, words)]?.q[span] ?? null;
}

/** What a span is shaded by; null where that was not measured. */
export const value = (payload: SourcesPayload, { by, words }: SourcesState, span: number): number | null =>
  words === null ? payload.spans[span]![by] : loss(payload, words, span);

const over = ({ against }: SourcesPayload): string => against && ` against “${shortened(against, 24)}”`;

/** What words in a row are called. */
export function named(payload: SourcesPayload, words: Words | null): string {
  if (words === null) return "the answer";
  const statement = statementOf(payload, words);
  if (statement >= 0 && payload.statements.length > 1) return `statement ${statement}`;
  return `“${shortened(
    payload.answer
      .slice(words[0], words[1]! + 1)
      .join("")
      .trim(),
    24,
  )}”`;
}

/** The spans that most was lost without, the largest first. */
export function largest(payload: SourcesPayload, state: SourcesState): number[] {
  const known = payload.spans.flatMap(({ level }, place) => {
    const x = level === state.level ? value(payload, state, place) : null;
    return x === null ? [] : [{ place, x }];
  });
  return known
    .sort((a, b) => b.x - a.x)
    .slice(0, 5)
    .map(({ place }) => place);
}

// At least a nat: less is not shaded as if it were much.
const most = (values: readonly (number | null)[]): number => Math.max(1, ...values.map((x) => Math.abs(x ?? 0)));

/** The largest size of what the spans of the shown level are shaded by. */
export const reach = (payload: SourcesPayload, state: SourcesState): number =>
  most(payload.spans.map((span, place) => (span.level === state.level ? value(payload, state, place) : null)));

export const shade = (x: number | null, size: number): Shade => ({
  strength: STRONGEST * Math.min(1, Math.abs(x ?? 0) / size),
  tone: (x ?? 0) < 0 ? "minus" : "plus",
});

/** What each word loses without a span, as its shade; none of a span that was not masked. */
export function lost({ spans }: SourcesPayload, span: number): Shade[] {
  const size = most(spans.flatMap(({ words }) => words));
  return spans[span]!.words.map((x) => shade(x, size));
}

/** Whether words hang on a span, at most half as likely without it: where they are a statement, `[n]` of a cited answer. */
export const hangs = (payload: SourcesPayload, words: Words, span: number): boolean =>
  (loss(payload, words, span) ?? 0) >= Math.LN2 && (certainty(payload, words, span) ?? 0) <= LEVEL;

export const signed = (x: number): string => (x > 0 ? `+${figure(x)}` : figure(x));

/** What the shades are, for the scale beside them. */
export function scale(payload: SourcesPayload, state: SourcesState): { of: string; ticks: readonly string[] } {
  const size = reach(payload, state);
  const of =
    state.by === "effect" || state.words
      ? `nats ${named(payload, state.words)} loses${state.words ? "" : over(payload)} without it`
      : "estimate (a slope)";
  return { of, ticks: [figure(-size, 2), "0", figure(size, 2)] };
}

/** What is known of a span, in sentences. */
export function told(payload: SourcesPayload, place: number): string[] {
  const one = payload.spans[place]!;
  const { effect, low, high, q, share, estimate, deleted, lexical, attention } = one;
  const found: string[] = [];
  if (effect === null) found.push("It was not masked: its estimate is not among the largest.");
  else {
    const between = low === null || high === null ? "" : ` (95 % interval ${figure(low, 2)} to ${figure(high, 2)})`;
    const of = share === null || effect < 0 ? "" : `, ${Math.round(100 * share)}% of what the whole context gives`;
    found.push(
      `Without it the answer ${effect < 0 ? "gains" : "loses"} ${figure(Math.abs(effect), 2)} nats${over(payload)}${between}${of}.`,
    );
  }
  if (q !== null)
    found.push(
      q <= LEVEL
        ? `q ${probability(q)}: it matters to this answer more than to other tokens.`
        : `q ${probability(q)}: other tokens lose as much, which may be chance.`,
    );
  const needing = payload.answer
    .flatMap((_, word) => (hangs(payload, [word, word], place) ? [word] : []))
    .sort((a, b) => one.words[b]! - one.words[a]!)
    .slice(0, 5);
  if (payload.answer.length > 1 && needing.length > 0)
    found.push(
      `Words that need it: ${needing.map((word) => `${named(payload, [word, word])} +${figure(one.words[word]!, 2)}`).join(", ")}.`,
    );
  if (deleted !== null) found.push(`Deleted, and not masked: ${signed(deleted)} nats.`);
  const beside = [
    estimate !== null && `estimate ${signed(estimate)} (a slope)`,
    attention !== null && `${percent(attention)} of the attention`,
    lexical !== null && payload.prompt.trim() && `${percent(lexical)} of the answer’s words`,
  ].filter(Boolean);
  if (beside.length > 0) found.push(`Beside it: ${beside.join(", ")}.`);
  if (one.note) found.push(`${one.note[0]!.toUpperCase()}${one.note.slice(1)}.`);
  return found;
}

/** What a span is called. */
export const title = ({ level }: SourceInfo, place: number): string => `${level === "given" ? "span" : level} ${place}`;

/** Whose words the answer is. */
export const ORIGIN = { given: "The answer (given)", wrote: "The model wrote", said: "The model said" } as const;
