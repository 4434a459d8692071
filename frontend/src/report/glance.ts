// A head on an example, on its picture or on its spectrogram, so small that it stands beside a sentence or in a card.

import { inked } from "../draw/spectrogram";
import { drawCovered, imageOf, onCanvas, rastersOf } from "../draw/veils";
import type { PartInfo, PictureInfo, Reason } from "../protocol";
import { type Box, covered, heard } from "../scene/areas";
import { css, PALETTES } from "../scene/color";
import { SQUARE, Store } from "../scene/data";
import { pool } from "../scene/thumbs";
import { fromPage } from "../ui/embedded";
import { draw, fit } from "./cells";
import type { Cell } from "./figures";
import type { Host } from "./host";
import { stands } from "./reasons";

/** How much of what is not looked at is covered. */
const OPACITY = 0.7;
/**
 * A sound is so many times as wide as tall here: its spectrogram, and below it from so far down on what is listened to.
 */
const [SOUND, LANE] = [1.6, 0.62];

const stores = new Map<number, Store>();

/** The arrays of an example of the page. */
function storeOf(example: number): Store {
  const store = stores.get(example) ?? new Store((name) => fromPage(`${example}-${name}`));
  stores.set(example, store);
  return store;
}

/** Whether the tokens of an example are areas of a picture, or of the spectrogram of a sound. */
export const pictured = (host: Host, example: number): boolean => seen(host, example) !== null;

function seen(
  host: Host,
  example: number,
): { part: PartInfo; picture: PictureInfo; sound: boolean; heard: number } | null {
  const input = host.figures.payload.examples[example]?.inputs[0];
  const part = input?.parts[0];
  if (!part?.key.boxes || !input?.picture) return null;
  const sound = heard(input, part);
  return {
    part,
    picture: input.picture,
    sound,
    heard: sound && input.sound ? input.sound.heard / input.sound.seconds : 1,
  };
}

/** The places of a head's layer and of itself in the maps of an example; null where they have it not. */
function placeOf({ figures }: Host, cell: Cell, part: PartInfo): readonly [at: number, head: number] | null {
  const at = part.index.indexOf(figures.layerOf(cell));
  const head = part.heads[at]?.indexOf(figures.headOf(cell)) ?? -1;
  return head < 0 ? null : [at, head];
}

/** Draw what a head attends to on a text: by query and key, the largest of what falls together. */
async function mapped(canvas: HTMLCanvasElement, host: Host, cell: Cell, example: number, side: number) {
  const part = host.figures.payload.examples[example]?.inputs[0]?.parts[0];
  const place = part && placeOf(host, cell, part);
  if (!place) return false;
  const ref = part.layers[place[0]]!;
  const [, rows = 0, columns = 0] = ref.shape;
  const first = place[1] * rows * columns;
  const own = (await storeOf(example).get(ref)).subarray(first, first + rows * columns);
  const codes = own instanceof Uint8Array ? own : Uint8Array.from(own, (weight) => 255 * Math.sqrt(weight) + 0.5);
  const map = pool({ rows, columns, codes, sign: null });
  const step = side / Math.max(map.rows, map.columns);
  const { sequential } = PALETTES[host.now.theme];
  draw(canvas, side, side, (pen) =>
    map.codes.forEach((code, i) => {
      pen.fillStyle = css(sequential[code]!);
      pen.fillRect((i % map.columns) * step, Math.floor(i / map.columns) * step, step + 0.2, step + 0.2);
    }),
  );
  return true;
}

/** What a head gives to each key: from the query of the reason, or on average as shares of the largest. */
async function given(
  host: Host,
  part: PartInfo,
  cell: Cell,
  example: number,
  pin: Reason["pin"],
): Promise<ArrayLike<number> | null> {
  const place = placeOf(host, cell, part);
  if (!place) return null;
  const [at, head] = place;
  const store = storeOf(example);
  const keys = part.key.pieces.length;
  const [ref, start, row] =
    pin?.side === "from"
      ? ([part.layers[at]!, head * part.query.pieces.length, stands(pin, part)] as const)
      : ([part.looks!, part.heads.slice(0, at).reduce((sum, some) => sum + some.length, 0), head] as const);
  const values = await store.get(ref);
  const own = values.subarray((start + row) * keys, (start + row + 1) * keys);
  return Array.from(own, (value) => (ref.encoding === "sqrt" ? SQUARE[value]! : value));
}

/** Draw a head on an example, at most so wide and tall; false where the example has no such head. */
export async function glance(
  canvas: HTMLCanvasElement,
  host: Host,
  cell: Cell,
  example: number,
  pin: Reason["pin"],
  side: number,
): Promise<boolean> {
  const found = seen(host, example);
  if (!found) return mapped(canvas, host, cell, example, side);
  const { part, picture, sound, heard } = found;
  const boxes = part.key.boxes!.map((box) => clipped(box as Box | null, sound ? heard * picture.width : Infinity));
  const area = covered(boxes);
  const shape = sound ? SOUND : (area[2] - area[0]) / (area[3] - area[1]);
  const [width, height] = shape >= 1 ? [side, Math.round(side / shape)] : [Math.round(side * shape), side];
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` }); // its room is there before it is drawn
  const [shares, image] = await Promise.all([given(host, part, cell, example, pin), imageOf(picture)]);
  if (!shares) return false;
  const { theme } = host.now;
  const pen = fit(canvas, width, height);
  const own =
    pin?.side === "from" ? clipped((part.query.boxes?.[stands(pin, part)] ?? null) as Box | null, area[2]) : null;
  const [across, down] = [width / (area[2] - area[0]), height / (area[3] - area[1])];
  const [x, y] = own ? [(own[0] - area[0]) * across, (own[1] - area[1]) * down] : [0, 0];
  if (sound) {
    const ink = inked(image, theme);
    const floor = Math.round(LANE * height);
    pen.drawImage(ink, 0, 0, heard * ink.width, ink.height, 0, 0, width, floor);
    const most = boxes.reduce((most, box, place) => (box ? Math.max(most, shares[place]!) : most), 1e-12);
    pen.fillStyle = getComputedStyle(canvas).getPropertyValue("--accent");
    boxes.forEach((box, place) => {
      if (!box) return;
      const tall = (height - floor - 2) * Math.sqrt(shares[place]! / most);
      pen.fillRect((box[0] - area[0]) * across, height - tall, Math.max(1, (box[2] - box[0]) * across), tall);
    });
    pen.fillStyle = getComputedStyle(canvas).getPropertyValue("--ink");
    if (own) pen.fillRect(x, 0, 1.5, height); // the frame that looks
    return true;
  }
  const look = { smooth: false, opacity: OPACITY, signed: false, theme };
  drawCovered(onCanvas(pen, image), picture, rastersOf(picture, boxes), [0, 0, width, height], look, { shares });
  for (const [color, line] of own
    ? ([
        ["#0b0e10", 3],
        ["#ffffff", 1.5],
      ] as const)
    : []) {
    pen.strokeStyle = color;
    pen.lineWidth = line;
    pen.strokeRect(x, y, (own![2] - own![0]) * across, (own![3] - own![1]) * down); // the patch that looks
  }
  return true;
}

/** An area, up to where a sound ends; null where it lies behind that. */
const clipped = (box: Box | null, right: number): Box | null =>
  box === null || box[0] >= right ? null : [box[0], box[1], Math.min(box[2], right), box[3]];
