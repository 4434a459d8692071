// A head on the picture that its tokens are areas of: what each board shows, what stands where, and what is said of it.

import type { AxisInfo, MediumInfo, PictureInfo } from "../protocol";
import { type Box, boxesOf, covered, cutOff, heard, isWide, mediaOf, mediumAt, nounOf, sideOf, WIDE } from "./areas";
import type { Item } from "./axis";
import type { Theme } from "./color";
import type { Shown } from "./cut";
import { figure, percent } from "./format";
import { concerns, type Judged } from "./gold";
import {
  type Asked,
  asked,
  hidden,
  lookers,
  looks,
  looksIn,
  looksOf,
  missing,
  type Source,
  unseen,
  usual,
} from "./rows";
import type { Scene } from "./scene";
import { headsOf } from "./state";
import { talks } from "./wordsbeside";

export type End = "from" | "to";

/** On what a head is drawn: a picture, a sound, or a picture with the text beside it. */
export const sensed = ({ input, part }: Scene): "picture" | "sound" | "text" =>
  heard(input, part) ? "sound" : talks(part) ? "text" : "picture";

/** How veils lie over a picture. */
export interface Look {
  readonly smooth: boolean;
  readonly opacity: number;
  /** A difference is tinted by its sign. */
  readonly signed: boolean;
  readonly theme: Theme;
}

export const lookOf = ({ state, against, owner }: Scene, maps: readonly Shown[]): Look => ({
  smooth: state.smooth,
  opacity: state.opacity,
  signed: against !== null || maps.some((map) => map.sign),
  theme: owner.theme,
});

/** A picture with the tokens of one side: `shares` by place (null: the picture alone), and which place is marked. */
export interface Board {
  readonly end: End;
  readonly title: string;
  readonly shares: Float64Array | null;
  readonly chosen: number | null;
  readonly links: readonly Judged[];
}

/** Who looks, at what, and what looks at a chosen key. */
export interface Looking {
  readonly maps: readonly Shown[];
  /** The open head's. */
  readonly map: Shown;
  readonly who: Asked;
  readonly to: number | null;
  /** What each key is given; NaN: it is not seen. */
  readonly given: Float64Array;
  /** What each query gives to the chosen key. */
  readonly back: Float64Array | null;
}

/** Null where nothing has been decoded. */
export function looking(scene: Scene, who = asked(scene)): Looking | null {
  const maps = scene.shown();
  const map = maps.at(-1);
  if (!map) return null;
  const { to } = scene.focused;
  const mask = hidden(scene);
  const back = to === null ? null : lookers(scene, map, to, mask);
  return { maps, map, who, to, given: looks(scene, map, who, mask), back };
}

/** A token's name; that of a special one, such as "register 0", is no text of which spaces need be seen. */
export const called = (axis: AxisInfo, item: Item): string =>
  item.special ? axis.pieces[item.start]! : item.mark + item.text;

/** What stands beside a token without an area. */
export const chipFigure = (shares: Float64Array | null, place: number): string =>
  !shares ? "" : Number.isNaN(shares[place]) ? "not seen" : figure(shares[place]!);

function nameOf(scene: Scene, end: End, place: number): string {
  const item = scene.tokens(end).items[place];
  return item ? called(scene.axis(end), item) + ofMedium(scene, end, place) : "";
}

/** Of several media the one that a token is on, as it stands after the token's name. */
export function ofMedium(scene: Scene, end: End, place: number): string {
  const { picture } = scene.input;
  const [axis, side] = [scene.axis(end), scene.tokens(end)];
  const box = boxesOf(axis, side)[place];
  // A patch of "frame 2:patch[0,1]" says it itself.
  return picture?.media?.[1] && box && !axis.pieces[side.items[place]!.start]!.includes(":")
    ? ` of ${mediumAt(picture, box)?.name}`
    : "";
}

// One looks, several look; a block of patches is several.
function verb({ rows, part }: Scene, who: Asked): string {
  return typeof who === "number" && (part.query.counts?.[rows.items[who]!.start] ?? 1) === 1 ? "looks" : "look";
}

/** Who looks, as a sentence begins. */
export function whoLooks(scene: Scene, who: Asked): string {
  if (typeof who === "number") return `${nameOf(scene, "from", who)} ${verb(scene, who)}`;
  return who === "patches" ? "patches look on average" : "all queries look on average";
}

/** The side that looks, and the side that is looked at. */
export function boards(scene: Scene, { who, to, given, back }: Looking): readonly [from: Board, to: Board] {
  const from = typeof who === "number" ? who : null;
  const links = scene.judged().filter(({ gold }) => concerns(gold, { from, to }));
  const title = to === null ? "from (query)" : `which tokens look at ${nameOf(scene, "to", to)}`;
  const where = `where ${whoLooks(scene, who)}${scene.many ? `: ${scene.name()}` : ""}`;
  return [
    { end: "from", title, shares: back, chosen: from, links },
    { end: "to", title: where, shares: given, chosen: to, links },
  ];
}

/** Whether rollout is offered and asked for; where it is not offered, why. */
export function rollout({ part, state, against }: Scene): {
  readonly offered: boolean;
  readonly on: boolean;
  readonly why?: string | undefined;
} {
  const offered = part.rollout !== undefined && (!against || against.part.rollout !== undefined);
  const why = part.unrolled ?? against?.part.unrolled;
  return { offered, on: offered && state.rollout && state.quantity === "weights", why };
}

/** Rollout up to the open layer, which must have been decoded. */
export const rolled = (scene: Scene, who: Asked): Board => ({
  end: "to",
  title: `rollout to layer ${scene.state.layer}`,
  shares: looksIn(scene, scene.state.layer, "rollout", who),
  chosen: null,
  links: [],
});

/** What rollout is. */
export function aboutRollout(scene: Scene, who: Asked): string {
  const { layer } = scene.state;
  const from = scene.part.index[0] === 0 ? `layers 0–${layer}` : `the layers up to ${layer}`;
  const into = typeof who === "number" ? nameOf(scene, "from", who) : `the ${who === "all" ? "queries" : "patches"}`;
  return `Rollout (Abnar & Zuidema 2020): how much of each patch has come into ${into} by then. Of ${from} the mean over heads, ½ A + ½ I, multiplied.`;
}

/** Each of several heads as a small picture. */
export interface Small extends Board {
  readonly head: number;
  readonly color: string;
}

export function small(scene: Scene, { maps, who }: Looking, focus: Parameters<typeof concerns>[1]): Small[] {
  if (maps.length < 2) return [];
  return maps.map((map) => ({
    end: "to",
    head: map.head,
    title: scene.name(map.head),
    color: scene.color(map.head),
    shares: looks(scene, map, who, unseen(scene, [scene.state.layer], [map.head])),
    chosen: null,
    links: scene.judge([map]).filter(({ gold }) => concerns(gold, focus)),
  }));
}

/** So many media are named, those that get most; less than this share of a whole is not worth it. */
const [NAMED, LITTLE] = [3, 0.01];

/** How much of what is given, of a whole, goes to which media, and to which area most; "" where none gets any. */
export function mostSaid(
  { columns, part, input: { picture } }: Scene,
  given: Float64Array,
  whole: number,
  looks: string,
  name: (place: number) => string,
): string {
  if (!picture) return "";
  const shares = new Map<MediumInfo, number>();
  let best = -1;
  boxesOf(part.key, columns).forEach((box, place) => {
    const [share, medium] = [given[place]!, box && mediumAt(picture, box)];
    if (!medium || Number.isNaN(share)) return;
    shares.set(medium, (shares.get(medium) ?? 0) + share);
    if (best < 0 || share > given[best]!) best = place;
  });
  if (best < 0) return "";
  const said = [...shares]
    .sort(([, one], [, other]) => other - one)
    .filter(([, share], at) => at < NAMED && (at === 0 || share >= LITTLE * whole))
    .map(([medium, share], at) => {
      const of = at > 0 ? "" : `of what ${looks} at is `;
      return `${percent(share / Math.max(whole, 1e-9))} ${of}${mediaOf(picture).length > 1 ? medium.name : nounOf(picture)}`;
    });
  return `${said.join(", ")}, most of it ${name(best)} (${figure(given[best]!)}).`;
}

/** How a share of what is looked at is seen on the media. */
function scaleSaid(info: PictureInfo | undefined): string {
  const drawn = (info ? mediaOf(info) : []).map(({ kind }) => kind !== "picture");
  const none = drawn.every(Boolean) ? "Without colour" : drawn.some(Boolean) ? "Dark, or without colour" : "Dark";
  return `${none}: not looked at, by the root of the share of the largest.`;
}

/** What the colours are, of numbers with a sign; of others what is `said`. */
export const tonesSaid = ({ against }: Scene, { sign }: Shown, said: string): string =>
  against
    ? "Blue: more in the first than in the second; orange: less."
    : sign
      ? "Blue: positive; orange: negative."
      : said;

/** Whether areas leave out an edge of a medium, or one of several. */
const cutAway = (info: PictureInfo, boxes: readonly (Box | null)[]): boolean =>
  mediaOf(info).some((medium) => {
    const own = boxes.filter((box) => box && mediumAt(info, box) === medium);
    return own.length === 0 || cutOff(covered(own), sideOf(medium));
  });

/** What is said below, and whether it leaves room to say what can be done. */
export function says(
  scene: Scene,
  { map, who, given, back, to }: Looking,
): { readonly said: string; readonly quiet: boolean } {
  const { columns, part } = scene;
  const { key } = part;
  const { picture } = scene.input;
  const signed = scene.against !== null || map.sign !== null;
  const tones = tonesSaid(scene, map, key.boxes || back ? scaleSaid(picture) : "");
  const greys = [
    [given, back ?? []].some((each) => each.some(Number.isNaN)) && "what the mask hides",
    picture && key.boxes && cutAway(picture, boxesOf(key, columns)) && "what the model does not see here",
  ].filter(Boolean);
  const grey = greys.length > 0 && `Grey: ${greys.join(", and ")}.`;
  const from = typeof who === "number" ? nameOf(scene, "from", who) : who === "patches" ? "patches" : "all queries";
  const most =
    to !== null
      ? `From ${from} to ${nameOf(scene, "to", to)}: ${chipFigure(given, to)}.`
      : !signed &&
        mostSaid(
          scene,
          given,
          given.reduce((sum, share) => sum + (share || 0), 0),
          `${from} ${verb(scene, who)}`,
          (place) => nameOf(scene, "to", place),
        );
  return { said: [most, tones, grey].filter(Boolean).join(" "), quiet: !most && !scene.against };
}

// -- every layer as a strip

/** Whether layers are drawn as a strip; of them the open head's number, or the mean of all heads. */
export function strip(scene: Scene, who: string): { readonly title: string; readonly source: Source } | null {
  const { part, state, input } = scene;
  if (part.index.length < 2 || !part.key.boxes || (input.sound && part.key.images)) return null;
  const source: Source = state.strip === "mean" && together(scene) ? "means" : scene.head;
  return { title: `Every layer, ${source === "means" ? "mean of heads" : `head ${source}`}: where ${who}`, source };
}

/** The mean over all heads is there to be drawn. */
export const together = ({ part, state }: Scene): boolean => part.means !== undefined && state.quantity === "weights";

/** Whether a layer has the head that is drawn. */
export const there = ({ part }: Scene, layer: number, source: Source): boolean =>
  typeof source !== "number" || headsOf(part, layer).includes(source);

// The mean over all queries has come along for the grid; it serves where all queries and keys are shown.
function quick(scene: Scene, layer: number, source: Source, who: Asked): Uint8Array | null {
  const { state, rows, columns, against, part } = scene;
  const whole =
    who === usual(part) && rows.all && columns.all && state.quantity === "weights" && !state.renormalise && !against;
  return whole && typeof source === "number" ? looksOf(scene, layer, source) : null;
}

/** What has to be decoded before a layer of the strip can be drawn. */
export const lacking = (scene: Scene, layer: number, source: Source, who: Asked): Promise<void>[] =>
  quick(scene, layer, source, who) ? [] : missing(scene, layer, source);

/** What a layer of the strip shows, as shares or as bytes of their roots; null where it has none of it. */
export function layerLooks(
  scene: Scene,
  layer: number,
  source: Source,
  who: Asked,
): { readonly codes: Uint8Array } | { readonly shares: Float64Array } | null {
  const codes = quick(scene, layer, source, who);
  if (codes) return { codes };
  const shares = looksIn(scene, layer, source, who);
  return shares && { shares };
}

// -- what stands where

export const GAP = 20;
/** Below this width pictures stand one below the other; no picture is larger than the other. */
const [NARROW, MOST] = [420, 560];
/** Three beside each other need at least this width each. */
const THIRD = 200;

/**
 * How wide each picture is, and whether they stand one below the other. A wide one, such as a spectrogram, has all the
 * width; a side of text alone has no picture.
 */
export function boardLayout(
  { query, key }: Scene["part"],
  info: PictureInfo,
  width: number,
  rolled: boolean,
): { readonly each: number; readonly stacked: boolean } {
  const wide = isWide(info);
  if (wide || !query.boxes || !key.boxes || width < NARROW)
    return { each: Math.min(width, wide ? Infinity : MOST), stacked: true };
  const count = rolled && width >= 3 * THIRD + 2 * GAP ? 3 : 2;
  return { each: Math.floor(Math.min((width - (count - 1) * GAP) / count, MOST)), stacked: false };
}

/** How wide each of so many small pictures is. */
export function smallLayout(count: number, width: number, info: PictureInfo): number {
  const beside = isWide(info) ? 1 : Math.min(count, Math.max(2, Math.min(6, Math.floor(width / 120))));
  return Math.min(260, Math.floor((width - (beside - 1) * SMALL_GAP) / beside));
}
export const SMALL_GAP = 10;

const [SMALLEST, LARGEST, LOWEST] = [52, 88, 14];
export const STRIP_GAP = 6;

/** How large the pictures of a strip are. */
export function stripLayout(
  layers: number,
  wide: boolean,
  [left, top, right, bottom]: Box,
  width: number,
): { readonly one: number; readonly tall: number } {
  // A wide one is a lane: layers stand under one another.
  if (wide && right - left > WIDE * (bottom - top)) {
    const one = Math.min(width, LARGEST * 4);
    return { one, tall: Math.max(LOWEST, Math.min(LARGEST / 2, Math.round((one * (bottom - top)) / (right - left)))) };
  }
  const across = Math.max(2, Math.floor((width + STRIP_GAP) / (SMALLEST + STRIP_GAP)));
  const lines = Math.ceil(layers / across);
  const fits = Math.floor((width + STRIP_GAP) / Math.ceil(layers / lines)) - STRIP_GAP;
  const one = Math.max(SMALLEST, Math.min(LARGEST, fits));
  return { one, tall: Math.round((one * (bottom - top)) / (right - left)) };
}
