// What a query looks at, what looks at a key, and means over queries: values by place, NaN where the mask hides the
// key.

import type { PartInfo } from "../protocol";
import type { Item } from "./axis";
import { cut, difference, type Shown, value } from "./cut";
import { SQUARE } from "./data";
import { placeOf } from "./opening";
import type { Scene } from "./scene";
import { headsOf } from "./state";

/**
 * Who looks: a query by its place among those that are shown, or the mean over all of them, over the patches or over
 * the text around a picture.
 */
export type Asked = number | "all" | "patches" | "text";

/** Whose mean a picture has come along with for the grid: of a text with a picture in it that of the text. */
export const usual = ({ query }: PartInfo): Asked => (query.images ? "text" : "all");

/** Both kinds of query are shown: patches, and tokens without an area such as [CLS]. */
export function mixed({ part, rows }: Scene): boolean {
  const areas = rows.items.filter(({ start }) => part.query.boxes?.[start]).length;
  return areas > 0 && areas < rows.items.length;
}

/** Who looks as the state has it. */
export function asked(scene: Scene): Asked {
  const { from } = scene.focused;
  if (from !== null) return from;
  return scene.state.queries === "patches" && mixed(scene) ? "patches" : "all";
}

/** Whose rows: a head, the mean over all heads of its layer, or rollout up to it. */
export type Source = number | "means" | "rollout";

/** What has to be decoded first; empty where all is there. */
export function missing(scene: Scene, layer: number, source: Source): Promise<void>[] {
  const { data, part, state, against } = scene;
  const own = ((): Promise<void>[] => {
    const at = part.index.indexOf(layer);
    const mask = part.hidden?.[at];
    if (typeof source !== "number") return data.wanted([mask, part[source]?.[at]]);
    return [...data.wanted([mask]), ...data.wantedLayer(part, layer, state.quantity, [source])];
  })();
  return [...own, ...(against ? missing(against, layer, source) : [])];
}

/** One map of a layer; null where there is none, or where it has not been decoded. */
export function mapOf(scene: Scene, layer: number, source: Source): Shown | null {
  const { against } = scene;
  const mine = own(scene, layer, source);
  const other = against && own(against, layer, source);
  if (!mine || !against) return mine;
  return other && other.rows === mine.rows && other.columns === mine.columns ? difference(mine, other) : null;
}

function own(scene: Scene, layer: number, source: Source): Shown | null {
  if (typeof source === "number") return scene.map(layer, source);
  const { data, part, rows, columns, state } = scene;
  const ref = part[source]?.[part.index.indexOf(layer)];
  const numbers = ref && data.array(ref);
  if (!numbers) return null;
  return cut(
    { shape: ref.shape as [number, number, number], numbers, encoding: ref.encoding, scale: 1, signed: false },
    0,
    -1,
    rows,
    columns,
    state.renormalise,
  );
}

/**
 * What a head gives each key on average, of all queries, as bytes of the root of a share of its largest: it has come
 * along for the grid.
 */
export function looksOf({ data, part }: Scene, layer: number, head: number): Uint8Array | null {
  const all = part.looks && data.array(part.looks);
  const place = placeOf(part, layer, head);
  const keys = part.key.pieces.length;
  return all instanceof Uint8Array && place >= 0 ? all.subarray(place * keys, (place + 1) * keys) : null;
}

/** The same as what it is: 0 for keys that are no areas. */
export function meansOf(scene: Scene, layer: number, head: number): Float64Array | null {
  const { data, part } = scene;
  const [codes, peaks] = [looksOf(scene, layer, head), part.peaks && data.array(part.peaks)];
  const peak = peaks?.[placeOf(part, layer, head)];
  return codes && peak !== undefined ? Float64Array.from(codes, (code) => SQUARE[code]! * peak) : null;
}

/** What the mask hides from all of some heads of some layers, [query key] of pieces; null where nothing is hidden. */
export function unseen(scene: Scene, layers: readonly number[], heads: readonly number[]): Uint8Array | null {
  const mine = scene.data.hidden(scene.part, layers, heads);
  const other = scene.against?.data.hidden(scene.against.part, layers, heads);
  if (!scene.against || !mine || !other || mine.length !== other.length) return scene.against && !other ? null : mine;
  let both = masks.get(mine);
  if (both?.other !== other) masks.set(mine, (both = { other, hidden: mine.map((one, at) => one & other[at]!) }));
  return both.hidden;
}

/** What the mask hides from the open heads. */
export function hidden(scene: Scene): Uint8Array | null {
  const { layers, aggregated, heads, head } = scene;
  return unseen(scene, layers, aggregated ? heads : [head]);
}

/** What two inputs both hide, made once for the two masks. */
const masks = new WeakMap<Uint8Array, { readonly other: Uint8Array; readonly hidden: Uint8Array }>();

/** Whether no piece of a query sees any of a key. */
function hides(mask: Uint8Array, keys: number, row: Item, column: Item): boolean {
  for (let query = row.start; query < row.end; query++)
    for (let key = column.start; key < column.end; key++) if (!mask[query * keys + key]) return false;
  return true;
}

/** Where a query looks, or what each key receives on average from the queries that see it, [key]. */
export function looks(scene: Scene, map: Shown, who: Asked, mask: Uint8Array | null): Float64Array {
  const { part, rows, columns } = scene;
  const keys = part.key.pieces.length;
  if (typeof who === "number") {
    const row = rows.items[who]!;
    return Float64Array.from(columns.items, (column, to) =>
      mask && hides(mask, keys, row, column) ? NaN : value(map, who * map.columns + to),
    );
  }
  const known = means.get(map) ?? new Map<Asked, Float64Array>();
  means.set(map, known);
  const found = known.get(who) ?? meanOf(scene, map, who, mask);
  known.set(who, found);
  return found;
}

/** Means over queries, made once for a map. */
const means = new WeakMap<Shown, Map<Asked, Float64Array>>();

function meanOf({ part, rows, columns }: Scene, map: Shown, who: Asked, mask: Uint8Array | null): Float64Array {
  const keys = part.key.pieces.length;
  const { boxes, counts } = part.query;
  const exact = map.values !== null || map.sign !== null;
  const total = new Float64Array(map.columns);
  const seen = new Float64Array(map.columns);
  const starts = Int32Array.from(columns.items, ({ start }) => start);
  const single = [...rows.items, ...columns.items].every(({ start, end }) => end === start + 1);
  let all = 0;
  rows.items.forEach((row, from) => {
    if (who === "patches" && !boxes?.[row.start]) return;
    if (who === "text" && (boxes?.[row.start] || row.special)) return;
    const weight = counts?.[row.start] ?? 1;
    const first = from * map.columns;
    all += weight;
    if (exact) for (let to = 0; to < map.columns; to++) total[to]! += weight * value(map, first + to);
    else for (let to = 0; to < map.columns; to++) total[to]! += weight * SQUARE[map.codes[first + to]!]!;
    if (!mask) return;
    if (single) for (let to = 0; to < map.columns; to++) seen[to]! += mask[row.start * keys + starts[to]!] ? 0 : weight;
    else columns.items.forEach((column, to) => (seen[to]! += hides(mask, keys, row, column) ? 0 : weight));
  });
  return total.map((sum, to) => {
    const by = mask ? seen[to]! : all;
    return by > 0 ? (sum * (exact ? 1 : map.scale)) / by : NaN;
  });
}

/** Which queries look at a key, [query]. */
export function lookers({ part, rows, columns }: Scene, map: Shown, to: number, mask: Uint8Array | null): Float64Array {
  const column = columns.items[to]!;
  return Float64Array.from(rows.items, (row, from) =>
    mask && hides(mask, part.key.pieces.length, row, column) ? NaN : value(map, from * map.columns + to),
  );
}

/** What a layer's map gives to who looks; null where it has not been decoded. */
export function looksIn(scene: Scene, layer: number, source: Source, who: Asked): Float64Array | null {
  const map = mapOf(scene, layer, source);
  if (!map) return null;
  // Rollout reaches beyond what one layer sees.
  const mask =
    source === "rollout"
      ? null
      : unseen(scene, [layer], typeof source === "number" ? [source] : headsOf(scene.part, layer));
  return looks(scene, map, who, mask);
}
