// Where an answer came from: the prompt in stretches, each of a span, the answer in statements, and how both are shaded.

import type { SourceInfo, SourcesPayload, SourcesState } from "../protocol";
import { figure, percent, probability } from "./format";

/** The strongest shade, in percent: dark ink can still be read on it. */
const STRONGEST = 60;
/** The q up to which a statement hangs on a span. */
const LEVEL = 0.05;

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

/** The answer: what is a statement, and what lies between them. */
export function said({ answer, statements }: SourcesPayload): { text: string; statement: number | null }[] {
  const found: { text: string; statement: number | null }[] = [];
  let at = 0;
  statements.forEach(({ text }, statement) => {
    const start = Math.max(at, answer.indexOf(text, at));
    if (start > at) found.push({ text: answer.slice(at, start), statement: null });
    found.push({ text, statement });
    at = start + text.length;
  });
  return at < answer.length ? [...found, { text: answer.slice(at), statement: null }] : found;
}

/** What a span is shaded by; null where that was not measured. */
export function value(
  { spans, statements }: SourcesPayload,
  { by, statement }: SourcesState,
  span: number,
): number | null {
  if (statement !== null && by === "effect") return statements[statement]!.effect[span] ?? null;
  return spans[span]![by];
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

/** What each statement loses without a span, as its shade; none of a span that was not masked. */
export function lost({ statements }: SourcesPayload, span: number): Shade[] {
  const size = most(statements.flatMap(({ effect }) => effect));
  return statements.map(({ effect }) => shade(effect[span] ?? null, size));
}

/** Whether a statement hangs on a span: `[n]` of a cited answer. */
export const hangs = ({ statements }: SourcesPayload, statement: number, span: number): boolean =>
  (statements[statement]!.q[span] ?? 1) <= LEVEL && (statements[statement]!.effect[span] ?? 0) >= Math.LN2;

export const signed = (x: number): string => (x > 0 ? `+${figure(x)}` : figure(x));

/** What the shades are, for the scale beside them. */
export function scale(payload: SourcesPayload, state: SourcesState): { of: string; ticks: readonly string[] } {
  const size = reach(payload, state);
  const who = state.statement === null ? "the answer" : "the statement";
  const of = state.by === "effect" ? `nats ${who} loses without it` : "estimate (a slope)";
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
      `Without it the answer ${effect < 0 ? "gains" : "loses"} ${figure(Math.abs(effect), 2)} nats${between}${of}.`,
    );
  }
  if (q !== null)
    found.push(
      q <= LEVEL
        ? `q ${probability(q)}: it matters to this answer more than to other tokens.`
        : `q ${probability(q)}: other tokens lose as much, which may be chance.`,
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
