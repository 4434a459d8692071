// A head of a model of text and pictures: what the picture shows, how each word beside it is shaded, and what is said.

import { type Box, covered, nounOf } from "./areas";
import { type Item, name } from "./axis";
import { strength } from "./color";
import { figure, percent } from "./format";
import { concerns } from "./gold";
import { type Board, chipFigure, type End, type Looking, mostSaid, ofMedium, tonesSaid } from "./onpicture";
import type { Asked } from "./rows";
import type { Scene } from "./scene";
import { bare, onto, spaced, sumOf, words } from "./wordsbeside";

export const GAP = 28;
/** Below this width the text stands below the picture; the picture is no wider than `MOST`. */
const [NARROW, MOST] = [620, 560];

/** How wide the picture is, and the text beside it, or below it: `stacked`. */
export function talkLayout(width: number): {
  readonly across: number;
  readonly beside: number;
  readonly stacked: boolean;
} {
  const stacked = width < NARROW;
  const across = Math.min(stacked ? width : Math.floor(width * 0.56 - GAP / 2), MOST);
  return { across, beside: stacked ? width : width - across - GAP, stacked };
}

/** A thumbnail is at most so many times as wide as tall. */
export const WIDEST = 2.4;

/** How wide a part of a picture is that is so tall. */
export const cropWidth = ([left, top, right, bottom]: Box, tall: number): number =>
  Math.max(4, Math.min(WIDEST * tall, (tall * (right - left)) / Math.max(1e-6, bottom - top)));

/** Who looks: what is chosen, or the text on average. */
export const reader = ({ focus, part }: Scene): Asked => focus?.from ?? (part.query.images ? "text" : "all");

/**
 * Whether words are looked at and patches look, as what is chosen has it; unless it is turned round words look, and
 * patches are looked at.
 */
function round({ part, state }: Scene): boolean {
  if (!state.pin || part.kind === "cross") return false;
  const patch = part.query.boxes?.[Number(state.pin[1])] != null;
  return state.pin[0] === (patch ? "from" : "to");
}

/** The side of the head that a word, or a patch, is of when it is chosen. */
export const sideOf = (scene: Scene, kind: "word" | "patch"): End =>
  (kind === "word") === round(scene) ? "to" : "from";

// What looks at the chosen key, where no query is chosen too.
const backOf = ({ focused }: Scene, { back }: Looking): Float64Array | null => (focused.from === null ? back : null);

function called(scene: Scene, end: End, place: number): string {
  const item = scene.tokens(end).items[place];
  return !item
    ? ""
    : item.image
      ? name(item) + ofMedium(scene, end, place)
      : item.special
        ? name(item)
        : `“${bare(item)}”`;
}

/** Who looks, as a sentence begins. */
export const readerLooks = (scene: Scene, who: Asked): string =>
  typeof who === "number"
    ? `${called(scene, "from", who)} looks`
    : who === "text"
      ? "the text looks on average"
      : "all queries look on average";

/** On the picture: what a chosen query looks at, or which patches look at what is chosen as a key. */
export function talkBoard(scene: Scene, found: Looking): Board {
  const { rows, columns, focus } = scene;
  const end = sideOf(scene, "patch");
  const back = backOf(scene, found);
  const what = back
    ? `which patches look at ${called(scene, "to", found.to!)}`
    : `where ${readerLooks(scene, found.who)}`;
  return {
    end,
    title: `${what}${scene.many ? `: ${scene.name()}` : ""}`,
    shares: onto(back ? rows : columns, scene.tokens(end), back ?? found.given),
    chosen: focus?.[end] ?? null,
    links: scene.judged().filter(({ gold }) => concerns(gold, focus)),
  };
}

/** A part of the text as it is read. */
export type Reading =
  | { readonly item: Item; readonly spaced: boolean }
  | { readonly picture: number; readonly area: Box; readonly name: string }
  | "written by the model";

/** The text in reading order, pictures where they stand in it; across, the picture stands before it. */
export function reading(scene: Scene): Reading[] {
  const { query, key, kind } = scene.part;
  const whole = { start: -1, end: -1, name: nounOf(scene.input.picture) };
  const images = query.images ?? (key.boxes && kind === "cross" ? [whole] : []);
  const found: Reading[] = [];
  const put = new Set<number>();
  const picture = (number: number): void => {
    const { start, end, name } = images[number]!;
    const boxes = start < 0 ? key.boxes! : query.boxes!.slice(start, end);
    put.add(number);
    found.push({
      picture: number,
      area: covered(boxes as readonly (Box | null)[]),
      name: images.length > 1 ? name : nounOf(scene.input.picture),
    });
  };
  if (images[0]?.start === -1) picture(0);
  let before: Item | null = null;
  for (const item of words(scene)) {
    for (const [number, image] of images.entries())
      if (image.start >= 0 && !put.has(number) && image.end <= item.start) picture(number);
    if (before && item.written && !before.written) found.push("written by the model");
    found.push({ item, spaced: before !== null && spaced(query, before, item) });
    before = item;
  }
  images.forEach((_, number) => put.has(number) || picture(number));
  return found;
}

/** How a word is shaded: its share, how strongly (0 to 1), and in which colour; NaN: it is not seen. */
export interface Shade {
  readonly share: number;
  readonly strength: number;
  readonly tone: "plus" | "minus" | "accent";
  readonly chosen: boolean;
}

/** Each word by what it has to do with what is chosen: what it gives to the picture, to a patch, or gets from a word. */
export function shades(scene: Scene, found: Looking): ReadonlyMap<number, Shade> {
  const { rows, columns, part, against } = scene;
  const { who, given, maps } = found;
  const back = backOf(scene, found);
  const items = words(scene);
  const gives = back || typeof who === "number" ? null : givenToPicture(scene, found, items);
  const share = ({ start }: Item): number => {
    const [row, column] = [rows.of[start] ?? -1, columns.of[start] ?? -1];
    if (back) return row < 0 ? NaN : back[row]!;
    if (typeof who !== "number") return row < 0 ? NaN : gives![row]!;
    if (part.kind === "cross") return row === who ? 1 : 0;
    return column < 0 ? NaN : given[column]!;
  };
  // A sink takes so much that nothing else would be seen: special tokens are left out of what the darkest is.
  const most = Math.max(1e-9, ...items.map((item) => (item.special ? 0 : Math.abs(share(item) || 0))));
  const signed = against !== null || maps.some((map) => map.sign);
  const chosen = chosenItem(scene, found)?.start;
  return new Map(
    items.map((item) => {
      const own = share(item);
      return [
        item.start,
        {
          share: own,
          strength: Number.isNaN(own) ? 0 : strength(own, most),
          tone: own < 0 ? "minus" : signed ? "plus" : "accent",
          chosen: item.start === chosen,
        },
      ];
    }),
  );
}

/** What is chosen: a query, or, alone, a key. */
export function chosenItem(scene: Scene, found: Looking): Item | undefined {
  const side = backOf(scene, found) ? "to" : "from";
  return scene.tokens(side).items[scene.focused[side] ?? -1];
}

// How much of each query's attention is on the picture.
function givenToPicture({ part, rows, columns }: Scene, { map }: Looking, items: readonly Item[]): Float64Array {
  const seen = new Float64Array(map.rows);
  const on = columns.items.map(({ start }) => part.key.boxes?.[start] != null);
  for (const { start } of items) seen[rows.of[start]!] = sumOf(map, rows.of[start]!, on);
  return seen;
}

/** What the shades of the words are. */
export function wordsTitle(scene: Scene, found: Looking): string {
  const { who, to } = found;
  if (backOf(scene, found)) return `how much each word looks at ${called(scene, "to", to!)}`;
  if (typeof who !== "number") return `how much of each word's attention is on ${nounOf(scene.input.picture)}`;
  return scene.part.kind === "cross" ? "the text" : `which words ${called(scene, "from", who)} looks at`;
}

/** What a picture within the text has: the sum over its patches as keys, the mean as queries. */
export function pictureFigure(scene: Scene, found: Looking, number: number): string {
  const { rows, columns, part } = scene;
  const back = backOf(scene, found);
  const shares = back ?? found.given;
  const { boxes } = back ? part.query : part.key;
  let [sum, count] = [0, 0];
  (back ? rows : columns).items.forEach((item, place) => {
    const own = item.image ? item.image.number === number : part.kind === "cross" && boxes?.[item.start];
    if (!own || Number.isNaN(shares[place])) return;
    sum += shares[place]!;
    count++;
  });
  return count === 0 ? "–" : back ? figure(sum / count) : percent(sum);
}

/** What is said below. */
export function says(scene: Scene, found: Looking): string {
  const tones = tonesSaid(scene, found.map, "Dark and shades by the root of the share of the largest.");
  return [most(scene, found), tones].filter(Boolean).join(" ");
}

// Between what is chosen, or where most of it goes.
function most(scene: Scene, found: Looking): string {
  const { rows } = scene;
  const { map, who, given, to } = found;
  const back = backOf(scene, found);
  const from = typeof who === "number" ? called(scene, "from", who) : "the text";
  if (to !== null && typeof who === "number")
    return `From ${from} to ${called(scene, "to", to)}: ${chipFigure(given, to)}.`;
  if (scene.against) return "";
  if (back) {
    const places = words(scene).map(({ start }) => rows.of[start]!);
    const usual = places.filter((place) => !rows.items[place]!.special);
    const best = usual.reduce(
      (most, place) => ((back[place] || 0) > (back[most] || 0) ? place : most),
      places[0] ?? -1,
    );
    return best < 0
      ? ""
      : `Of the words ${called(scene, "from", best)} looks most at ${called(scene, "to", to!)} (${figure(back[best]!)}).`;
  }
  if (map.sign) return "";
  return mostSaid(scene, given, 1, `${from} looks`, (place) => called(scene, "to", place));
}
