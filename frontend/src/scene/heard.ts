// A head on a sound: what sounds when, which stretch is shown, what each lane has, and what is said of it.

import type { AxisInfo, SoundInfo, SpokenInfo } from "../protocol";
import { type Item, name, type Side } from "./axis";
import { received, type Shown, value } from "./cut";
import { figure, percent, piece, plural } from "./format";
import { type Focus, focusOn, type Scene } from "./scene";
import { clock, intoLines, type Label, laneHeight, placeAt, type Span, shownSpan, type Times } from "./soundlayout";

export class Heard {
  private readonly known = new WeakMap<Side, Times>();

  constructor(protected readonly scene: Scene) {}

  get sound(): SoundInfo {
    return this.scene.input.sound!;
  }

  /** When the tokens of an axis sound. */
  private times(side: Side, boxes: AxisInfo["boxes"]): Times {
    let found = this.known.get(side);
    if (found) return found;
    const scale = this.sound.seconds / this.scene.input.picture!.width;
    found = side.items.map(({ start, end }): Span | null => {
      const [first, last] = [boxes?.[start], boxes?.[end - 1]];
      return first && last ? [first[0]! * scale, last[2]! * scale] : null;
    });
    this.known.set(side, found);
    return found;
  }

  get queries(): Times {
    return this.times(this.scene.rows, this.scene.part.query.boxes);
  }

  get keys(): Times {
    return this.times(this.scene.columns, this.scene.part.key.boxes);
  }

  /** Queries are stretches of the sound, too. */
  get alike(): boolean {
    return this.scene.part.query.boxes !== undefined;
  }

  /** The stretch that is shown. */
  get span(): Span {
    return shownSpan(this.scene.state.span, this.sound.seconds, this.sound.heard);
  }

  /** What sounds at a time, where that is followed. */
  followed(time: number): Focus | null {
    const place = this.scene.state.follow ? placeAt(this.alike ? this.queries : this.keys, time) : -1;
    return place < 0 ? null : focusOn(this.alike ? "from" : "to", place);
  }
}

/** One lane: a number for each place of the time axis, drawn in a colour. */
interface Lane {
  readonly values: ArrayLike<number>;
  readonly color: string;
  /** It is chosen. */
  readonly on: boolean;
  /** What is printed beside it; by default its largest. */
  readonly number?: number;
}

/** The row of a query, over keys. */
export const row = (map: Shown, from: number): Float64Array =>
  Float64Array.from({ length: map.columns }, (_, to) => value(map, from * map.columns + to));
/** The column of a key, over queries. */
export const column = (map: Shown, to: number): Float64Array =>
  Float64Array.from({ length: map.rows }, (_, from) => value(map, from * map.columns + to));

/** The largest magnitude of some numbers. */
export const largest = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((most, each) => Math.max(most, Math.abs(each)), 0);

/** How tall a lane of a head is. */
const HEAD_LANE = 34;

/** The lanes, on which times they stand, how tall each is and what fills one; `perQuery`: each is a query, not a head. */
export interface Lanes {
  readonly lanes: readonly Lane[];
  readonly times: Times;
  readonly tall: number;
  readonly most: number;
  readonly perQuery: boolean;
}

export function lanesOf(scene: Scene, { alike, queries, keys }: Heard, maps: readonly Shown[], touch: boolean): Lanes {
  const { from, to } = scene.focused;
  const perQuery = maps.length === 1 && !alike;
  const lanes = perQuery
    ? scene.rows.items.map(
        (_, query): Lane => ({
          values: row(maps[0]!, query),
          color: scene.color(maps[0]!.head),
          on: query === from,
          ...(to === null ? {} : { number: value(maps[0]!, query * maps[0]!.columns + to) }),
        }),
      )
    : maps.map(
        (map): Lane => ({
          values: chosen(scene, alike, map) ?? received(map),
          color: scene.color(map.head),
          on: false,
          ...(to === null || alike
            ? {}
            : { number: from === null ? received(map)[to]! : value(map, from * map.columns + to) }),
        }),
      );
  return {
    lanes,
    times: !perQuery && from === null && to !== null && alike ? queries : keys,
    tall: perQuery ? laneHeight(lanes.length, touch) : HEAD_LANE,
    most: Math.max(1e-12, ...lanes.map((lane) => largest(lane.values))),
    perQuery,
  };
}

// What the chosen query, or the queries of the chosen key, listen to.
function chosen({ focused: { from, to } }: Scene, alike: boolean, map: Shown): Float64Array | null {
  return from !== null ? row(map, from) : to !== null && alike ? column(map, to) : null;
}

/** What the chosen query, or the queries of the chosen key, listen to; the rest of the sound fades. */
export function listened(
  scene: Scene,
  { alike, queries, keys }: Heard,
  map: Shown,
): { readonly shares: Float64Array; readonly times: Times; readonly most: number } | null {
  const shares = chosen(scene, alike, map);
  return (
    shares && { shares, times: scene.focused.from !== null ? keys : queries, most: Math.max(1e-12, largest(shares)) }
  );
}

// -- words

/** A word that the model writes, and where in the sound its attention is largest. */
export interface Peak {
  readonly text: string;
  /** The first of its tokens on the axis. */
  readonly start: number;
  /** In seconds, and how much is there. */
  readonly time: number;
  readonly weight: number;
}

/** Where each word of the queries has its largest weight; of several pieces the mean of their rows is looked at. */
export function peaks(map: Shown, scene: Scene, { alike, keys }: Heard): Peak[] {
  if (alike || scene.against) return [];
  const { rows, part } = scene;
  const group = part.query.words?.group;
  const found: Peak[] = [];
  for (let first = 0; first < rows.items.length; ) {
    const { start, special } = rows.items[first]!;
    let after = first + 1;
    if (group) while (after < rows.items.length && group[rows.items[after]!.start] === group[start]) after++;
    if (!special) {
      let [best, most] = [-1, 0];
      for (let key = 0; key < keys.length; key++) {
        if (!keys[key]) continue;
        let sum = 0;
        for (let query = first; query < after; query++) sum += value(map, query * map.columns + key);
        const mean = sum / (after - first);
        if (mean > most) [best, most] = [key, mean];
      }
      const text = group
        ? (part.query.words!.texts[group[start]!] ?? "")
        : rows.items
            .slice(first, after)
            .map((item) => item.text)
            .join("");
      if (best >= 0)
        found.push({ text: piece(text).text, start, time: (keys[best]![0] + keys[best]![1]) / 2, weight: most });
    }
    first = after;
  }
  return found;
}

/** Lines that words may take above the spectrogram, and how tall one is. */
const PEAK_LINES = 3;
export const PEAK_LINE = 20;

/** A word that has room: where, how far down, and where its stem stands. */
export interface PeakPlace extends Peak {
  readonly left: number;
  readonly top: number;
  readonly middle: number;
  readonly chosen: boolean;
}

/** Where words stand above a head's peaks, the pinned one first; how tall they are, and how many have no room. */
export function placedPeaks(
  scene: Scene,
  found: readonly Peak[],
  [begin, end]: Span,
  width: number,
  widthOf: (text: string) => number,
): { readonly placed: readonly PeakPlace[]; readonly height: number; readonly hidden: number } {
  const startOf = (place: number | null | undefined): number =>
    place == null ? -1 : (scene.rows.items[place]?.start ?? -1);
  const [own, pinned] = [startOf(scene.focus?.from), startOf(scene.pinned?.from)];
  const first = (peak: Peak): number => Number(peak.start !== pinned);
  const order = found
    .filter(({ time }) => time >= begin && time <= end)
    .sort((a, b) => first(a) - first(b) || a.time - b.time);
  const labels = order.map(
    ({ text, time }): Label => ({ middle: ((time - begin) / (end - begin)) * width, width: widthOf(text) + 8 }),
  );
  const placed = intoLines(labels, PEAK_LINES, width);
  const lines = Math.max(0, ...placed.map(({ line }) => line + 1));
  return {
    placed: placed.flatMap(({ line, left }, at) =>
      line < 0
        ? []
        : [
            {
              ...order[at]!,
              left,
              top: (lines - 1 - line) * PEAK_LINE,
              middle: labels[at]!.middle,
              chosen: order[at]!.start === own,
            },
          ],
    ),
    height: lines * PEAK_LINE + 8,
    hidden: placed.filter(({ line }) => line < 0).length,
  };
}

/** A word that is known to sound: where its bracket stands, and whether its text has room. */
export interface SpokenPlace {
  readonly word: SpokenInfo;
  readonly left: number;
  readonly wide: number;
  readonly fits: boolean;
}

/** The brackets of the words in a stretch; `crowded`: hardly a word has room, so there are only marks. */
export function placedWords(
  words: readonly SpokenInfo[],
  [begin, end]: Span,
  width: number,
  widthOf: (text: string) => number,
): { readonly placed: readonly SpokenPlace[]; readonly crowded: boolean } {
  const scale = width / (end - begin);
  const placed = words
    .filter((word) => word.end > begin && word.begin < end)
    .map((word): SpokenPlace => {
      const left = (Math.max(begin, word.begin) - begin) * scale;
      const wide = (Math.min(end, word.end) - begin) * scale - left;
      return { word, left, wide, fits: widthOf(word.text) <= wide + 2 };
    });
  return { placed, crowded: placed.filter(({ fits }) => fits).length < placed.length / 4 };
}

// -- what is said

const called = (items: readonly Item[], place: number): string => name(items[place]);

/** What the lanes show. */
export function lanesTitle(scene: Scene, { alike }: Heard, heads: number): string {
  const { rows, columns, state, part } = scene;
  const { from, to } = scene.focused;
  if (heads === 1 && !alike)
    return `each ${state.unit === "words" && part.query.words ? "word" : "token"}: how much each frame gets`;
  const what =
    from !== null
      ? `where ${called(rows.items, from)} looks`
      : to !== null && alike
        ? `which frames look at ${called(columns.items, to)}`
        : "mean over all queries";
  return heads > 1 ? `each head: ${what}` : what;
}

/**
 * Where the open head looks, how much of that is behind the sound, and how the picture is read; `hidden`: words without
 * room, null where none are drawn.
 */
export function says(scene: Scene, heard: Heard, map: Shown, hidden: number | null): string {
  const { rows } = scene;
  const { keys, sound, span } = heard;
  const { from } = scene.focused;
  const parts: string[] = [];
  const shares = Array.from(from === null ? received(map) : row(map, from));
  const all = shares.reduce((sum, each) => sum + Math.abs(each), 0);
  if (!map.sign && !scene.against && all > 1e-9) {
    const best = shares.reduce((most, each, place) => (each > shares[most]! ? place : most), 0);
    const when = keys[best];
    if (when)
      parts.push(
        `${from === null ? "On average most" : `${called(rows.items, from)}: most`} at ${clock(when[0])}–${clock(when[1])} s (${figure(shares[best]!)})`,
      );
    const behind =
      shares.reduce((sum, each, place) => sum + (keys[place] && keys[place][0] >= sound.heard - 1e-6 ? each : 0), 0) /
      all;
    if (behind > 0.0005)
      parts.push(
        `${percent(behind)} on the silence after the sound${span[1] <= sound.heard + 1e-6 ? ", which is not shown" : ""}`,
      );
  }
  if (hidden !== null)
    parts.push(
      `words stand where the weight of ${scene.name(map.head)} is largest${hidden > 0 ? `; ${plural(hidden, "word")} without room` : ""}`,
    );
  if (scene.against) parts.push("blue: more in the first than in the second; orange: less");
  else if (map.sign) parts.push("blue: positive; orange: negative");
  parts.push("heights and shades by the root of the weight");
  return `${parts.join(" · ")}.`;
}

// -- what stands where

/** Width of what stands left of the time axis, and of the numbers right of it. */
const GUTTER = { wide: 92, narrow: 62 };
export const NUMBERS = 34;

/** How wide the time axis is and what stands left of it; how tall the spectrogram and the map of frames are. */
export function soundLayout(all: number): {
  readonly gutter: number;
  readonly width: number;
  readonly height: number;
  readonly map: number;
} {
  const gutter = all < 520 ? GUTTER.narrow : GUTTER.wide;
  const width = Math.max(80, all - gutter - NUMBERS);
  return { gutter, width, height: width < 420 ? 104 : 150, map: Math.round(Math.min(width, 260)) };
}
