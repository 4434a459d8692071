// Small pictures of maps: at most 64 × 64, each cell the largest of what it covers.

import type { ArrayRef, AxisInfo } from "../protocol";
import { type Item, length, type Side } from "./axis";
import { cut, difference, type Layer, type Shown } from "./cut";
import { SQUARE } from "./data";
import { Made } from "./made";
import type { Focus, Scene } from "./scene";

const LARGEST = 64;

export type Thumb = Pick<Shown, "rows" | "columns" | "codes" | "sign">;

/** The largest code of each block of a map. */
export function pool(map: Thumb): Thumb {
  const [rows, columns] = [Math.min(LARGEST, map.rows), Math.min(LARGEST, map.columns)];
  if (rows === map.rows && columns === map.columns) return map;
  const codes = new Uint8Array(rows * columns);
  const sign = map.sign ? new Int8Array(rows * columns) : null;
  const to = Int32Array.from({ length: map.columns }, (_, b) => Math.floor((b * columns) / map.columns));
  for (let a = 0; a < map.rows; a++) {
    const row = Math.floor((a * rows) / map.rows) * columns;
    for (let b = 0, at = a * map.columns; b < map.columns; b++, at++) {
      const code = map.codes[at]!;
      const cell = row + to[b]!;
      if (code > codes[cell]!) {
        codes[cell] = code;
        if (sign) sign[cell] = map.sign![at]!;
      }
    }
  }
  return { rows, columns, codes, sign };
}

/** Pool the shown rows and columns of a layer's bytes without cutting them out first; as `cut` renormalises. */
export function poolBytes(
  layer: Layer,
  place: number,
  rows: readonly Item[],
  columns: readonly Item[],
  renormalise: boolean,
): Thumb {
  const [, queries, keys] = layer.shape;
  const bytes = layer.numbers as Uint8Array;
  const [r, c] = [Math.min(LARGEST, rows.length), Math.min(LARGEST, columns.length)];
  const codes = new Uint8Array(r * c);
  const from = Int32Array.from(columns, (item) => item.start);
  const to = Int32Array.from(columns, (_, b) => Math.floor((b * c) / columns.length));
  const line = new Uint8Array(c);
  for (let a = 0; a < rows.length; a++) {
    const row = place * queries * keys + rows[a]!.start * keys;
    const into = Math.floor((a * r) / rows.length) * c;
    line.fill(0);
    let sum = 0;
    for (let b = 0; b < from.length; b++) {
      const byte = bytes[row + from[b]!]!;
      if (byte > line[to[b]!]!) line[to[b]!] = byte;
      if (renormalise) sum += SQUARE[byte]!;
    }
    // A code is a root: what divides the weights of a row divides its codes by its own root, the largest ones too.
    const grown = renormalise && sum > 1e-6 ? 1 / Math.sqrt(sum) : 1;
    for (let b = 0; b < c; b++) {
      const code = Math.min(255, Math.round(line[b]! * grown));
      if (code > codes[into + b]!) codes[into + b] = code;
    }
  }
  return { rows: r, columns: c, codes, sign: null };
}

/** The cells of a ready thumbnail that stand for the shown tokens. */
function pick(side: Side, axis: AxisInfo, size: number): number[] {
  const before = (start: number): number =>
    side.folded
      ? (axis.images ?? []).reduce((less, image) => less + (image.end <= start ? image.end - image.start - 1 : 0), 0)
      : 0;
  const tokens = side.folded ? length(axis, []) : axis.pieces.length;
  return [...new Set(side.items.map(({ start }) => Math.floor(((start - before(start)) * size) / tokens)))];
}

/** What of a thumbnail of so many rows and columns is of the tokens that are pointed at: the largest of their blocks. */
export function pointedIn(thumb: Thumb | null, { from, to }: Focus, rows: number, columns: number): Thumb | null {
  if (!thumb) return null;
  const within = (place: number | null, size: number, all: number): [number, number] =>
    place === null ? [0, size] : [Math.floor((place * size) / all), 1];
  const [row, tall] = within(from, thumb.rows, rows);
  const [column, wide] = within(to, thumb.columns, columns);
  const at = Int32Array.from(
    { length: tall * wide },
    (_, cell) => (row + Math.floor(cell / wide)) * thumb.columns + column + (cell % wide),
  );
  return {
    rows: tall,
    columns: wide,
    codes: Uint8Array.from(at, (place) => thumb.codes[place]!),
    sign: thumb.sign && Int8Array.from(at, (place) => thumb.sign![place]!),
  };
}

/** Up to three strokes a row (row, column, row, column, …), none below the row's mean, in eight classes of strength. */
export function lineSegments(thumb: Thumb): number[][] {
  const classes: number[][] = Array.from({ length: 8 }, () => []);
  const { rows, columns, codes } = thumb;
  for (let a = 0; a < rows; a++) {
    let [first, second, third, sum] = [0, 0, 0, 0];
    for (let b = 0; b < columns; b++) {
      const code = codes[a * columns + b]!;
      sum += SQUARE[code]!;
      if (code > first) [first, second, third] = [code, first, second];
      else if (code > second) [second, third] = [code, second];
      else if (code > third) third = code;
    }
    const least = Math.max(1, third, Math.ceil(255 * Math.sqrt(sum / columns) - 1e-3));
    for (let b = 0; b < columns; b++) {
      const code = codes[a * columns + b]!;
      if (code >= least) classes[code >> 5]!.push(a, b);
    }
  }
  return classes;
}

/** How many sets of thumbnails are kept: one a filter, matrix and way of scaling. */
const KEPT = 10;

export class Thumbs {
  private readonly sets = new Made<Map<string, Thumb>>(KEPT);

  constructor(private readonly scene: Scene) {}

  // The payload's thumbnails that are of what is shown: of all tokens, or with each picture within the text as one.
  private get stored(): ArrayRef | null {
    const { part, rows, columns, state } = this.scene;
    if (!rows.folded && !columns.folded) return part.thumbs;
    return state.unfolded.length === 0 ? (part.folds ?? null) : null;
  }

  private get ready(): boolean {
    return (
      this.stored !== null &&
      this.scene.state.quantity === "weights" &&
      !this.scene.against &&
      !this.renormalise &&
      !this.cutOut
    );
  }

  // A cell of a ready thumbnail stands for several keys: a sink is taken out of the whole map, where it is there.
  private get cutOut(): boolean {
    const { state, part } = this.scene;
    return !state.sinks && part.key.sinks !== undefined && part.layers.length > 0;
  }

  // Rows are renormalised from whole maps: a ready thumbnail has the largest of its blocks alone.
  private get renormalise(): boolean {
    const { state, part } = this.scene;
    return state.renormalise && state.quantity === "weights" && part.layers.length > 0;
  }

  /** What the thumbnails are of: it changes with all that changes them. */
  get of(): readonly unknown[] {
    const { part, rows, columns, state } = this.scene;
    return [part, rows, columns, state.quantity, this.renormalise];
  }

  /** The payload's own thumbnails, where they serve; the layers that others are made of are asked for by `needs`. */
  missing(): Promise<void>[] {
    const { data, lacking } = this.scene;
    return lacking || !this.ready ? [] : data.wanted([this.stored]);
  }

  /** What must be decoded before the thumbnails of a layer can be made; null when all is there. */
  needs(layer: number): Promise<unknown> | null {
    const { scene } = this;
    const { quantity } = scene.state;
    if (this.ready) return null;
    const wanted = [scene, ...(scene.against ? [scene.against] : [])].flatMap((one) => {
      if (!one.part.index.includes(layer) || scene.data.layer(one.part, layer, quantity)) return [];
      // A part without thumbnails of its own is small: its layers are decoded together, which is sooner done.
      const layers = one.part.thumbs ? [layer] : one.part.index;
      return layers.flatMap((at) => scene.data.wantedLayer(one.part, at, quantity));
    });
    return wanted.length > 0 ? Promise.all(wanted) : null;
  }

  /** A thumbnail that costs nothing: made before, or in the payload. */
  quick(layer: number, head: number): boolean {
    return this.ready || this.made().has(`${layer}.${head}`);
  }

  /** A thumbnail, made now where it was not; null where there is no such head or `needs` was not waited for. */
  get(layer: number, head: number): Thumb | null {
    const made = this.made();
    const name = `${layer}.${head}`;
    const thumb = made.get(name) ?? this.make(layer, head);
    if (thumb) made.set(name, thumb);
    return thumb;
  }

  // The set that is shown now.
  private made(): Map<string, Thumb> {
    return this.sets.of(this.of, () => new Map());
  }

  private make(layer: number, head: number): Thumb | null {
    const { scene } = this;
    if (this.ready) return this.fromPayload(layer, head);
    const [a, b] = scene.against ? [scene.map(layer, head), scene.against.map(layer, head)] : [null, null];
    return a && b ? pool(difference(a, b)) : this.one(scene, layer, head);
  }

  private one(scene: Scene, layer: number, head: number): Thumb | null {
    const found = scene.data.layer(scene.part, layer, scene.state.quantity);
    const place = scene.part.heads[scene.part.index.indexOf(layer)]?.indexOf(head) ?? -1;
    if (!found || place < 0) return null;
    const plain =
      found.numbers instanceof Uint8Array &&
      found.encoding === "sqrt" &&
      scene.state.unit === "pieces" &&
      !scene.rows.folded &&
      !scene.columns.folded;
    if (plain) return poolBytes(found, place, scene.rows.items, scene.columns.items, this.renormalise);
    return pool(cut(found, place, head, scene.rows, scene.columns, this.renormalise));
  }

  private fromPayload(layer: number, head: number): Thumb | null {
    const { part, data, rows, columns } = this.scene;
    const stored = this.stored!;
    const all = data.array(stored);
    const at = part.index.indexOf(layer);
    if (!(all instanceof Uint8Array) || at < 0) return null;
    const before = part.heads.slice(0, at).reduce((sum, heads) => sum + heads.length, 0);
    const place = before + part.heads[at]!.indexOf(head);
    const [, height = 0, width = 0] = stored.shape;
    const [r, c] = [pick(rows, part.query, height), pick(columns, part.key, width)];
    const codes = new Uint8Array(r.length * c.length);
    for (let a = 0; a < r.length; a++)
      for (let b = 0; b < c.length; b++) codes[a * c.length + b] = all[(place * height + r[a]!) * width + c[b]!]!;
    return { rows: r.length, columns: c.length, codes, sign: null };
  }
}
