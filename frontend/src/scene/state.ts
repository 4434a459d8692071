// The state as a value: defaults, what a payload can show of it, and the fragment of a page.

import {
  type ExplorerPayload,
  type ExplorerState,
  type InputInfo,
  type PartInfo,
  STATE_CHOICES,
  STATE_DEFAULTS,
} from "../protocol";
import { type Choice, count, hasPair, length } from "./axis";
import { alike } from "./made";
import { opening } from "./opening";
import { has } from "./quantities";

export type Full = Required<ExplorerState>;

export const DEFAULTS: Full = STATE_DEFAULTS;

/** Some keys of the state: a misspelt one does not compile. */
export type Keys = readonly (keyof Full)[];

const KEYS = Object.keys(DEFAULTS) as (keyof Full)[];

/** What a picture depends on: drawn anew by `update`, or by `focus`, which is for what is pointed at. */
export interface Heeds {
  readonly update?: Keys;
  readonly focus?: Keys;
}

/** What a state has of some keys. */
export const valuesOf = (state: Full, keys: Keys): unknown[] => keys.map((key) => state[key]);

export const partOf = (input: InputInfo, name: string): PartInfo =>
  input.parts.find((part) => part.name === name) ?? input.parts[0]!;

/** The heads of a layer, by the model's own indices. */
export const headsOf = (part: PartInfo, layer: number): readonly number[] =>
  part.heads[part.index.indexOf(layer)] ?? [];

/** Why the neurons of a head cannot be shown; null where they can. */
export function unread(part: PartInfo, layer: number, head: number): string | null {
  if (part.layers.length === 0) return "this page holds thumbnails only";
  if (!part.neurons) return "q and k were not captured (neurons=True)";
  if (part.neurons[part.index.indexOf(layer)]?.heads.includes(head)) return null;
  const there = part.neurons.flatMap((each, at) => (each?.heads ?? []).map((one) => `L${part.index[at]}H${one}`));
  return `of this input the page has q and k of ${there.join(", ")}`;
}

/** Which queries and which keys a state shows. Neurons are those of pieces: words have none. */
export function choices({ filter, special, sinks, unit, scale, picture, unfolded }: Full): {
  rows: Choice;
  columns: Choice;
} {
  // On a picture, and beside q and k, each patch stands on its own.
  const folds = scale === "neuron" || (scale === "head" && picture === "image") ? {} : { unfolded };
  const one = (at: number): Choice => ({
    sequence: filter === "all" ? null : filter[at] === "a" ? 0 : 1,
    special,
    unit: scale === "neuron" ? "pieces" : unit,
    ...folds,
  });
  return { rows: one(0), columns: { ...one(1), sinks: sinks || scale === "neuron" } };
}

/** Why one input cannot be subtracted from the other as the state shows them; null where it can. */
export function unequal(payload: ExplorerPayload, state: Full): string | null {
  const { rows, columns } = choices(state);
  const sizes = payload.inputs.map((input) => {
    const { query, key } = partOf(input, state.part);
    const [from, to] = [count(query, rows), count(key, columns)];
    return from === to
      ? `${from} ${from === 1 ? state.unit.slice(0, -1) : state.unit}`
      : `${from} × ${to} ${state.unit}`;
  });
  if (sizes[0] === sizes[1]) return null;
  return `A difference needs as many tokens in both inputs; these show ${sizes.join(" and ")}`;
}

/** Lines of more tokens are a thicket. */
const MANY = 60;

/** There are too many tokens for the lines of all. */
export const crowded = ({ query, key }: PartInfo, unfolded: readonly number[]): boolean =>
  Math.max(length(query, unfolded), length(key, unfolded)) > MANY;

const OF_LINES = ["picture", "pin", "between", "threshold", "top_k"] as const;

/** What a page begins with: a head of many tokens opens as a matrix, unless something is asked for that lines show. */
export function begins(asked: ExplorerState, payload: ExplorerPayload): ExplorerState {
  const part = partOf(payload.inputs[asked.input ?? 0] ?? payload.inputs[0]!, asked.part ?? DEFAULTS.part);
  const lines = OF_LINES.some((key) => asked[key] !== undefined) || (asked.heads?.length ?? 0) > 1;
  return lines || !crowded(part, asked.unfolded ?? []) ? asked : { ...asked, picture: "matrix" };
}

/** The state that comes nearest to what is asked for and can be shown. */
export function settle(asked: ExplorerState, payload: ExplorerPayload): Full {
  const state: Full = { ...DEFAULTS, ...asked };
  const { inputs } = payload;
  state.input = Math.min(inputs.length - 1, Math.max(0, state.input));
  if (inputs.length !== 2) state.side = "one";
  const part = partOf(inputs[state.input]!, state.part);
  state.part = part.name;
  if (state.side === "difference" && part.layers.length === 0) state.side = "both";
  // Where no layer or head is named, one that shows something on this input.
  if (!part.index.includes(state.layer)) state.layer = opening(part, state.quantity).layer;
  const heads = headsOf(part, state.layer);
  state.heads = state.heads.filter((head) => heads.includes(head));
  if (state.heads.length === 0)
    state.heads = [opening(part, state.quantity).heads[part.index.indexOf(state.layer)] ?? 0];
  const seen = state.side === "one" ? [part] : inputs.map((input) => partOf(input, state.part));
  if (!seen.every((each) => hasPair(each.query) && hasPair(each.key))) state.filter = "all";
  if (state.picture === "image" && (!inputs[state.input]!.picture || !(part.query.boxes || part.key.boxes)))
    state.picture = "lines";
  if (!inputs[state.input]!.sound) [state.time, state.follow, state.span] = [null, false, null];
  if ((state.medium ?? -1) >= (inputs[state.input]!.picture?.media?.length ?? 0)) state.medium = null;
  const most = (count: (part: PartInfo) => number): number => Math.max(...seen.map(count));
  const images = most(({ query, key }) => Math.max(query.images?.length ?? 0, key.images?.length ?? 0));
  state.unfolded = state.unfolded.filter((number) => number < images);
  if (!part.query.words && !part.key.words) state.unit = "pieces";
  // A payload of thumbnails has the grid alone.
  if (part.layers.length === 0) [state.scale, state.unit, state.renormalise] = ["model", "pieces", false];
  if (state.scale === "neuron" && (unread(part, state.layer, state.heads.at(-1)!) || state.side === "difference"))
    state.scale = "head";
  if (!part.measures.some((measure) => measure.name === state.measure))
    [state.measure, state.sort, state.least] = ["none", false, 0];
  if (!seen.some((each) => has(each, state.quantity))) state.quantity = "weights";
  const [queries, keys] = [most(({ query }) => query.pieces.length), most(({ key }) => key.pieces.length)];
  if (state.pin && Number(state.pin[1]) >= (state.pin[0] === "from" ? queries : keys)) state.pin = null;
  if (state.between && (state.between[0]! >= queries || state.between[1]! >= keys)) state.between = null;
  // Beside two tokens stands the one that was chosen first.
  if (state.between && state.pin && state.between[state.pin[0] === "from" ? 0 : 1] !== state.pin[1]) state.pin = null;
  if (!state.sort && !state.between) state.ascending = false;
  return state;
}

const text = (found: unknown): string => (Array.isArray(found) ? found.join(",") : String(found));

/** Keys whose values differ, by value. */
export function changed(before: ExplorerState, after: ExplorerState): (keyof Full)[] {
  return KEYS.filter((key) => !alike(before[key], after[key]));
}

/** The fragment of a state: what differs from what the page began with. */
export function write(state: Full, base: Full, prefix = ""): string {
  return changed(base, state)
    .map(
      (key) => `${prefix}${key}=${encodeURIComponent(text(state[key])).replaceAll("%2C", ",").replaceAll("%3A", ":")}`,
    )
    .join("&");
}

/** What a fragment says, of the right type; the rest is left out. */
export function read(hash: string, prefix = ""): ExplorerState {
  const found: Record<string, unknown> = {};
  for (const [name, raw] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!name.startsWith(prefix)) continue;
    const key = name.slice(prefix.length) as keyof Full;
    if (!KEYS.includes(key)) continue;
    const parsed = parse(key, raw);
    if (parsed !== undefined) found[key] = parsed;
  }
  return found;
}

/** Keys that are nothing where they are null, and those that are several numbers: how many, 0 for any. */
const NULLS: Keys = ["pin", "threshold", "time", "span", "zoom", "between", "medium"];
const LISTS: Partial<Record<keyof Full, number>> = { heads: 0, unfolded: 0, zoom: 4, between: 2, span: 2 };

function parse(key: keyof Full, raw: string): unknown {
  if (NULLS.includes(key) && raw === "null") return null;
  if (key === "pin") {
    const match = /^(from|to),(\d+)$/.exec(raw);
    return match ? [match[1], Number(match[2])] : undefined;
  }
  const count = LISTS[key];
  if (count !== undefined) {
    if (raw === "") return key === "unfolded" ? [] : undefined;
    const numbers = raw.split(",").map(Number);
    const [begin, end] = numbers as [number, number];
    const good =
      key === "span"
        ? begin >= 0 && end > begin && Number.isFinite(end)
        : numbers.every((n) => Number.isInteger(n) && n >= 0);
    return good && (count === 0 || numbers.length === count) ? numbers : undefined;
  }
  const normal = key === "threshold" || key === "time" || key === "medium" ? 0 : DEFAULTS[key];
  if (typeof normal === "boolean") return raw === "true" ? true : raw === "false" ? false : undefined;
  if (typeof normal === "number") {
    const number = Number(raw);
    const good = raw !== "" && Number.isFinite(number) && (key === "least" || number >= 0);
    return good
      ? key === "threshold"
        ? Math.min(1, number)
        : key === "least" || key === "time"
          ? number
          : Math.floor(number)
      : undefined;
  }
  const allowed = STATE_CHOICES[key];
  return allowed && !allowed.includes(raw) ? undefined : raw;
}
