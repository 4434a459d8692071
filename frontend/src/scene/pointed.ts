// What all heads make of the token that is pointed at, or of two: its row or column of each, and the heads in order.

import type { Item } from "./axis";
import { along, type Layer } from "./cut";
import { Made } from "./made";
import { beside, highlight } from "./opening";
import type { Focus, Scene } from "./scene";

/** Rows and columns of heads are kept for so many tokens. */
const KEPT = 8;

type Lines = Map<string, Float64Array>;

const kept = new WeakMap<Scene, Made<Lines>>();

function linesOf(scene: Scene, { from, to }: Focus): Lines {
  const { part, rows, columns, state } = scene;
  const made = kept.get(scene) ?? new Made<Lines>(KEPT);
  kept.set(scene, made);
  return made.of([part, rows, columns, state.quantity, state.renormalise, from, to], () => new Map());
}

const nameOf = (layer: number, head: number): string => `${layer}.${head}`;

/** The tokens from which and to which: one of a side that is pointed at, else all. */
function ends({ rows, columns }: Scene, { from, to }: Focus): [readonly Item[], readonly Item[]] {
  const one = (items: readonly Item[], place: number | null): readonly Item[] =>
    place === null ? items : items.slice(place, place + 1);
  return [one(rows.items, from), one(columns.items, to)];
}

function make(scene: Scene, focus: Focus, layer: Layer, place: number): Float64Array {
  const { columns, state } = scene;
  return along(layer, place, ...ends(scene, focus), columns, state.renormalise && state.quantity === "weights");
}

/**
 * What a head gives from a token to each shown one, or gets from each; of two tokens what lies between them. Null where
 * that has not been decoded.
 */
export function lineOf(scene: Scene, focus: Focus, layer: number, head: number): Float64Array | null {
  const mine = own(scene, focus, layer, head);
  if (!scene.against || !mine) return mine;
  const other = own(scene.against, focus, layer, head);
  return other?.length === mine.length ? mine.map((value, at) => value - other[at]!) : null;
}

function own(scene: Scene, focus: Focus, layer: number, head: number): Float64Array | null {
  const lines = linesOf(scene, focus);
  const known = lines.get(nameOf(layer, head));
  if (known) return known;
  const { part, data, state } = scene;
  const found = data.layer(part, layer, state.quantity, [head]);
  const place = part.heads[part.index.indexOf(layer)]?.indexOf(head) ?? -1;
  if (!found || place < 0) return null;
  const line = make(scene, focus, found, place);
  lines.set(nameOf(layer, head), line);
  return line;
}

/** What reads the lines of a layer that are not there, a head at a time, and keeps the lines alone; null for none. */
export function reading(scene: Scene, focus: Focus, layer: number): Promise<unknown> | null {
  const { part, data, state, against } = scene;
  const lines = linesOf(scene, focus);
  const heads = part.heads[part.index.indexOf(layer)] ?? [];
  const lacking = heads.filter((head) => !own(scene, focus, layer, head));
  const mine = lacking.map((head) =>
    data.passing(part, layer, state.quantity, head, (found, place) => {
      lines.set(nameOf(layer, head), make(scene, focus, found, place));
    }),
  );
  const others = against && reading(against, focus, layer);
  return mine.length > 0 || others ? Promise.all([...mine, others]) : null;
}

/** One head's largest value, or that between two tokens; `place` is the token on the other side. */
interface Standing {
  readonly layer: number;
  readonly head: number;
  readonly value: number;
  readonly place: number | null;
}

/**
 * The heads that are read, the strongest first: by their largest value on another token; sinks and a causal model's
 * first token left out. Heads that look beside every token stand last: they say nothing of this one.
 */
export function ranking(scene: Scene, focus: Focus): Standing[] {
  const places = candidates(scene, focus);
  const found = scene.part.index.flatMap((layer, at) =>
    scene.part.heads[at]!.flatMap((head): Standing[] => {
      const line = lineOf(scene, focus, layer, head);
      if (!line) return [];
      if (!places) return [{ layer, head, value: line[0]!, place: null }];
      let best = places[0]!;
      for (const place of places) if (Math.abs(line[place]!) > Math.abs(line[best]!)) best = place;
      return [{ layer, head, value: line[best]!, place: best }];
    }),
  );
  found.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const usual = ({ layer, head }: Standing): boolean => {
    const does = scene.against || !places ? null : highlight(scene.part, layer, head);
    return does !== null && beside(does);
  };
  return [false, true].flatMap((last) => found.filter((one) => usual(one) === last));
}

// The tokens on the other side that say something; all where there is none. Null of two tokens.
function candidates({ rows, columns, part }: Scene, { from, to }: Focus): number[] | null {
  if (from !== null && to !== null) return null;
  const [here, there] = from !== null ? [rows.items[from], columns.items] : [columns.items[to!], rows.items];
  const all = there.map((_, place) => place);
  const says = all.filter((place) => {
    const item = there[place]!;
    const sink = part.key.sinks?.includes(item.start) || (part.causal && item.start === 0);
    if (item.special || (from !== null && sink)) return false;
    return part.kind === "cross" || item.start !== here?.start;
  });
  return says.length > 0 ? says : all;
}
