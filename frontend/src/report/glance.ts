// A head on the picture of an example, or on its spectrogram, so small that it stands beside a sentence or in a card.

import { fromPage, SQUARE, Store } from "../data";
import { fit } from "../dom";
import { type Box, covered, imageOf, photo, Raster, within } from "../explorer/veils";
import type { PartInfo, PictureInfo, Reason } from "../protocol";
import type { Cell } from "./figures";
import type { Host } from "./host";

/** How much of what is not looked at is covered. */
const OPACITY = 0.7;
/** A spectrogram is so many times as wide as tall here. */
const SOUND = 1.6;

const stores = new Map<number, Store>();

/** The arrays of an example of the page. */
export function storeOf(example: number): Store {
  const store = stores.get(example) ?? new Store((name) => fromPage(`${example}-${name}`));
  stores.set(example, store);
  return store;
}

/** Whether the tokens of an example are areas of a picture, or of the spectrogram of a sound. */
export const pictured = (host: Host, example: number): boolean => seen(host, example) !== null;

function seen(host: Host, example: number): { part: PartInfo; picture: PictureInfo; heard: number } | null {
  const input = host.figures.payload.examples[example]?.inputs[0];
  const part = input?.parts[0];
  if (!part?.key.boxes || !input?.picture) return null;
  return { part, picture: input.picture, heard: input.sound ? input.sound.heard / input.sound.seconds : 1 };
}

/** What a head gives to each key: from the query of the reason, or on average as shares of the largest. */
async function given(host: Host, part: PartInfo, cell: Cell, example: number, pin: Reason["pin"]): Promise<ArrayLike<number> | null> {
  const { figures } = host;
  const at = part.index.indexOf(figures.layerOf(cell));
  const head = part.heads[at]?.indexOf(figures.headOf(cell)) ?? -1;
  if (head < 0) return null;
  const store = storeOf(example);
  const keys = part.key.pieces.length;
  const [ref, start, row] =
    pin?.side === "from" ? ([part.layers[at]!, head * part.query.pieces.length, pin.place] as const) : ([part.looks!, part.heads.slice(0, at).reduce((sum, some) => sum + some.length, 0), head] as const);
  const values = await store.get(ref);
  const own = values.subarray((start + row) * keys, (start + row + 1) * keys);
  return Array.from(own, (value) => (ref.encoding === "sqrt" ? SQUARE[value]! : value));
}

/** The canvas of a head on an example, at most so wide; `drawn` ends when it is painted, or false where the example has no such head. */
export function glance(canvas: HTMLCanvasElement, host: Host, cell: Cell, example: number, pin: Reason["pin"], width: number): Promise<boolean> {
  const found = seen(host, example);
  if (!found) return Promise.resolve(false);
  const { part, picture, heard } = found;
  const sound = picture.kind === "sound";
  const boxes = part.key.boxes!.map((box) => clipped(box as Box | null, sound ? heard * picture.width : Infinity));
  const area = covered(boxes);
  const shape = sound ? SOUND : (area[2] - area[0]) / (area[3] - area[1]);
  const size: [number, number] = sound || shape >= 1 ? [width, Math.round(width / shape)] : [Math.round(width * shape), width];
  canvas.style.width = `${size[0]}px`;
  canvas.style.height = `${size[1]}px`;
  return Promise.all([given(host, part, cell, example, pin), imageOf(picture)]).then(([shares, image]) => {
    if (!shares) return false;
    const pen = fit(canvas, ...size);
    const look = { smooth: false, opacity: OPACITY, signed: false, theme: host.now.theme };
    pen.drawImage(photo(image, within(image, picture, area), ...size), 0, 0, ...size);
    new Raster(boxes).draw(pen, [0, 0, ...size], shares, look);
    const chosen = pin?.side === "from" ? clipped((part.query.boxes?.[pin.place] ?? null) as Box | null, area[2]) : null;
    if (chosen) mark(pen, chosen, area, size);
    return true;
  });
}

/** An area, up to where a sound ends; null where it lies behind that. */
function clipped(box: Box | null, right: number): Box | null {
  return box === null || box[0] >= right ? null : [box[0], box[1], Math.min(box[2], right), box[3]];
}

/** The patch that looks, or the frame. */
function mark(pen: CanvasRenderingContext2D, box: Box, [left, top, right, bottom]: Box, [width, height]: readonly [number, number]): void {
  const [across, down] = [width / (right - left), height / (bottom - top)];
  const rect = [(box[0] - left) * across, (box[1] - top) * down, Math.max(3, (box[2] - box[0]) * across), (box[3] - box[1]) * down] as const;
  for (const [color, line] of [["#0b0e10", 3], ["#ffffff", 1.5]] as const) {
    pen.strokeStyle = color;
    pen.lineWidth = line;
    pen.strokeRect(...rect);
  }
}
