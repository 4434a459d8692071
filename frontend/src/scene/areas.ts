// The areas of a picture that tokens stand for: of one picture, or of a sheet on which several media lie.

import type { AxisInfo, InputInfo, MediumInfo, PartInfo, PictureInfo } from "../protocol";

/** Left, top, right, bottom in the picture's own pixels. */
export type Box = readonly [number, number, number, number];

/** From so many times as wide as tall on, a picture has all the width. */
export const WIDE = 2.5;

const alone = new WeakMap<PictureInfo, readonly MediumInfo[]>();

/** The media on a picture; most often it is the only one itself, without a name. */
export function mediaOf(info: PictureInfo): readonly MediumInfo[] {
  if (info.media) return info.media;
  const { kind, width, height } = info;
  const made = alone.get(info) ?? [{ kind, name: "", box: [0, 0, width, height] }];
  alone.set(info, made);
  return made;
}

/** Where a medium lies on its sheet. */
export const sideOf = ({ box }: MediumInfo): Box => box as readonly number[] as Box;

/** The medium on which the middle of an area lies. */
export function mediumAt(info: PictureInfo, [left, top, right, bottom]: Box): MediumInfo | undefined {
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  const media = mediaOf(info);
  return media.length === 1 ? media[0] : media.find((medium) => holds(sideOf(medium), x, y));
}

/** A picture has pixels of its own everywhere but where letters stand. */
export const seenAt = (info: PictureInfo | undefined, area: Box): boolean =>
  info !== undefined && mediumAt(info, area)?.kind !== "letters";

/** Whether a picture has all the width: a wide one, and what is no picture. */
export const isWide = (info: PictureInfo): boolean =>
  info.media ? info.media.some(({ kind }) => kind !== "picture") : info.width > WIDE * info.height;

const NOUNS = { picture: "picture", sound: "sound", series: "series", letters: "sequence" } as const;

/** What the media are, in a word: "the picture", "the frames". */
export function nounOf(info: PictureInfo | undefined): string {
  const media = info ? mediaOf(info) : [];
  const kinds = new Set(media.map(({ kind }) => kind));
  if (kinds.size > 1) return "the media";
  const noun = NOUNS[info?.kind ?? "picture"];
  if (media.length < 2 || noun === "series") return `the ${noun}`;
  return media.every(({ frames }) => frames) ? "the frames" : `the ${noun}s`;
}

/** Whether keys are frames of a sound, from its lowest to its highest tone; patches of a spectrogram are areas. */
export const heard = ({ sound, picture }: InputInfo, { key }: PartInfo): boolean =>
  sound !== undefined &&
  picture?.kind === "sound" &&
  !key.images &&
  (key.boxes ?? []).every((box) => !box || box[3]! - box[1]! > 0.99 * picture.height);

/** The areas of the shown tokens of an axis; null for tokens that have none. */
export function boxesOf(axis: AxisInfo, side: Shown): readonly (Box | null)[] {
  const made = boxes.get(side) ?? side.items.map(({ start }) => (axis.boxes?.[start] ?? null) as Box | null);
  boxes.set(side, made);
  return made;
}
interface Shown {
  readonly items: readonly { readonly start: number }[];
}
const boxes = new WeakMap<Shown, readonly (Box | null)[]>();

/** The part of a picture that some areas cover. */
export function covered(boxes: readonly (Box | null)[]): Box {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const box of boxes)
    if (box)
      [left, top, right, bottom] = [
        Math.min(left, box[0]),
        Math.min(top, box[1]),
        Math.max(right, box[2]),
        Math.max(bottom, box[3]),
      ];
  return [left, top, right, bottom];
}

/** Whether an area holds a point. */
export const holds = ([left, top, right, bottom]: Box, x: number, y: number): boolean =>
  x >= left && x < right && y >= top && y < bottom;

const away = (box: Box, x: number, y: number): number =>
  Math.hypot((box[0] + box[2]) / 2 - x, (box[1] + box[3]) / 2 - y);

/** The place of the area that holds a point of the picture, of several the one with the nearest middle; -1 for none. */
export function areaAt(boxes: readonly (Box | null)[], x: number, y: number): number {
  let [found, least] = [-1, Infinity];
  boxes.forEach((box, place) => {
    if (!box || !holds(box, x, y) || away(box, x, y) >= least) return;
    [found, least] = [place, away(box, x, y)];
  });
  return found;
}

/** How much nearer the next area is than one as far aside. */
const ASIDE = 3;

/** The place of the area next to one in a direction; -1 for none. */
export function nextTo(boxes: readonly (Box | null)[], at: number, [across, down]: readonly [number, number]): number {
  const middle = (box: Box): readonly [number, number] => [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
  const [x, y] = middle(boxes[at]!);
  let [found, least] = [-1, Infinity];
  boxes.forEach((box, place) => {
    if (!box) return;
    const [dx, dy] = [middle(box)[0] - x, middle(box)[1] - y];
    const along = dx * across + dy * down;
    const far = along + ASIDE * Math.abs(dx * down + dy * across);
    if (along > 0.5 && far < least) [found, least] = [place, far];
  });
  return found;
}

/** Whether areas leave out an edge of what lies in a box, as where a model cuts it off. */
export function cutOff([left, top, right, bottom]: Box, [x0, y0, x1, y1]: Box): boolean {
  const [wide, tall] = [EDGE * (x1 - x0), EDGE * (y1 - y0)];
  return left > x0 + wide || top > y0 + tall || right < x1 - wide || bottom < y1 - tall;
}
const EDGE = 0.01;
