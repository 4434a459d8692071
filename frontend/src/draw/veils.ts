// What lies over a picture: an area that is not looked at is dark, one that cannot be seen is grey.

import type { AxisInfo, PictureInfo } from "../protocol";
import type { Side } from "../scene/axis";
import { COLOURS, type Theme } from "../scene/color";
import { type Pen, ratio } from "./canvas";

/** Left, top, right, bottom in the picture's own pixels. */
export type Box = readonly [number, number, number, number];

/** From so many times as wide as tall on, a picture has all the width. */
export const WIDE = 2.5;

const images = new Map<string, Promise<HTMLImageElement>>();

/** A picture of the payload, read once. */
export function imageOf({ src }: Pick<PictureInfo, "src">): Promise<HTMLImageElement> {
  let found = images.get(src);
  if (!found) {
    found = new Promise((done, fail) => {
      const image = new Image();
      image.onload = () => done(image);
      image.onerror = () => fail(new Error("the picture of this input cannot be read"));
      image.src = src;
    });
    images.set(src, found);
  }
  return found;
}

/** The areas of the shown tokens of an axis; null for tokens that have none. */
export function boxesOf(axis: AxisInfo, side: Side): readonly (Box | null)[] {
  const made = boxes.get(side) ?? side.items.map(({ start }) => (axis.boxes?.[start] ?? null) as Box | null);
  boxes.set(side, made);
  return made;
}
const boxes = new WeakMap<Side, readonly (Box | null)[]>();

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

/** The place of the area that holds a point of the picture; -1 for none. */
export const areaAt = (boxes: readonly (Box | null)[], x: number, y: number): number =>
  boxes.findIndex((box) => box !== null && x >= box[0] && x < box[2] && y >= box[1] && y < box[3]);

/** Cells across or down that a raster has at most. */
const FINEST = 512;

export interface Look {
  readonly smooth: boolean;
  readonly opacity: number;
  /** A difference is tinted by its sign. */
  readonly signed: boolean;
  readonly theme: Theme;
}

/** Colours as little-endian RGBA: what is not looked at, and what cannot be seen. */
const [DARK, UNSEEN] = [0x12100c, (199 << 24) | 0x928c86];
const GREY = "rgb(134 140 146 / 0.78)";

/** Whether areas leave out an edge of the picture, as where a model cuts it off. */
export const cutOff = (
  { area: [left, top, right, bottom] }: Pick<Raster, "area">,
  { width, height }: Pick<PictureInfo, "width" | "height">,
): boolean => left > EDGE * width || top > EDGE * height || right < (1 - EDGE) * width || bottom < (1 - EDGE) * height;
const EDGE = 0.01;

/** Grey what the areas leave out of a picture that is drawn at `scale`. */
export function greyOut(
  pen: CanvasRenderingContext2D,
  { area: [left, top, right, bottom] }: Pick<Raster, "area">,
  { width, height }: PictureInfo,
  scale: number,
): void {
  pen.fillStyle = GREY;
  for (const [x, y, wide, tall] of [
    [0, 0, width, top],
    [0, bottom, width, height - bottom],
    [0, top, left, bottom - top],
    [right, top, width - right, bottom - top],
  ] as const)
    pen.fillRect(x * scale, y * scale, wide * scale, tall * scale);
}

const number = (hex: string): number => parseInt(hex.slice(5, 7) + hex.slice(3, 5) + hex.slice(1, 3), 16);

/** The veil over each root of a share, as a byte. */
const darkness = (opacity: number): Uint32Array =>
  Uint32Array.from({ length: 256 }, (_, code) => (Math.round(opacity * (255 - code)) << 24) | DARK);

/** Areas as the cells of a raster, each as large as the smallest area: a larger one has several. */
export class Raster {
  readonly area: Box;
  readonly columns: number;
  readonly rows: number;
  /** The veils, a cell each. */
  readonly pixels: Uint32Array<ArrayBuffer>;
  /** Of each place its first and last column and row, the last ones not included; all 0 for none. */
  private readonly cells: Int32Array;
  private canvas: HTMLCanvasElement | null = null;

  constructor(boxes: readonly (Box | null)[]) {
    this.area = covered(boxes);
    const [left, top, right, bottom] = this.area;
    let [wide, tall] = [right - left, bottom - top];
    for (const box of boxes) if (box) [wide, tall] = [Math.min(wide, box[2] - box[0]), Math.min(tall, box[3] - box[1])];
    const count = (whole: number, one: number): number => Math.min(FINEST, Math.max(1, Math.round(whole / one) || 1));
    [this.columns, this.rows] = [count(right - left, wide), count(bottom - top, tall)];
    this.pixels = new Uint32Array(this.columns * this.rows);
    this.cells = new Int32Array(4 * boxes.length);
    const column = (x: number): number => Math.round(((x - left) / (right - left)) * this.columns);
    const row = (y: number): number => Math.round(((y - top) / (bottom - top)) * this.rows);
    boxes.forEach((box, place) => {
      if (!box) return;
      const [first, above] = [Math.min(column(box[0]), this.columns - 1), Math.min(row(box[1]), this.rows - 1)];
      this.cells.set([first, Math.max(column(box[2]), first + 1), above, Math.max(row(box[3]), above + 1)], 4 * place);
    });
  }

  /**
   * Lay veils by shares of the largest over the part of a picture that stands at a box of a canvas; NaN: it cannot be
   * seen.
   */
  draw(pen: CanvasRenderingContext2D, box: Box, shares: ArrayLike<number>, look: Look): void {
    this.veil(shares, look);
    this.put(pen, box, look);
  }

  /** The same from bytes that stand for the roots of the shares. */
  drawCodes(pen: CanvasRenderingContext2D, box: Box, codes: ArrayLike<number>, look: Look): void {
    this.veilCodes(codes, look);
    this.put(pen, box, look);
  }

  veilCodes(codes: ArrayLike<number>, { opacity }: Look): void {
    const colors = darkness(opacity);
    this.fill(codes.length, (place) => colors[codes[place]!]!);
  }

  /** The largest share that any area has. */
  largest(shares: ArrayLike<number>): number {
    let most = 1e-12;
    for (let place = 0; place < shares.length; place++)
      if (this.cells[4 * place + 1] !== 0 && Math.abs(shares[place]!) > most) most = Math.abs(shares[place]!);
    return most;
  }

  veil(shares: ArrayLike<number>, { opacity, signed, theme }: Look): void {
    const most = this.largest(shares);
    const [plus, minus] = [number(COLOURS[theme].plus), number(COLOURS[theme].minus)];
    const colors = darkness(opacity);
    this.fill(shares.length, (place) => {
      const share = shares[place]!;
      if (Number.isNaN(share)) return UNSEEN;
      const code = Math.round(255 * Math.sqrt(Math.abs(share) / most));
      return signed ? (Math.round(opacity * code) << 24) | (share < 0 ? minus : plus) : colors[Math.min(255, code)]!;
    });
  }

  private fill(count: number, color: (place: number) => number): void {
    const { cells, columns, pixels } = this;
    pixels.fill(0);
    for (let at = 0; at < 4 * count; at += 4) {
      if (cells[at + 1] === 0) continue;
      const found = color(at / 4);
      for (let row = cells[at + 2]!; row < cells[at + 3]!; row++)
        for (let column = cells[at]!; column < cells[at + 1]!; column++) pixels[row * columns + column] = found;
    }
  }

  /** Whether cells run into each other: where that is asked for, or they have no pixel each. */
  runs(width: number, height: number, { smooth }: Look): boolean {
    return smooth || width * ratio() < this.columns || height * ratio() < this.rows;
  }

  put(pen: CanvasRenderingContext2D, [x, y, width, height]: Box, look: Look): void {
    const { columns, rows } = this;
    if (!this.canvas) {
      this.canvas = document.createElement("canvas");
      [this.canvas.width, this.canvas.height] = [columns, rows];
    }
    this.canvas
      .getContext("2d")!
      .putImageData(new ImageData(new Uint8ClampedArray(this.pixels.buffer), columns, rows), 0, 0);
    pen.imageSmoothingEnabled = this.runs(width, height, look);
    pen.imageSmoothingQuality = "high";
    pen.drawImage(this.canvas, x, y, width, height);
    pen.imageSmoothingEnabled = true;
  }
}

const rasters = new WeakMap<readonly (Box | null)[], Raster>();

/** The raster of some areas, made once for these. */
export function rasterOf(boxes: readonly (Box | null)[]): Raster {
  const found = rasters.get(boxes) ?? new Raster(boxes);
  rasters.set(boxes, found);
  return found;
}

/** Copies of a picture that are kept, each of one size. */
const SIZES = 8;
const sized = new WeakMap<HTMLImageElement, Map<string, HTMLCanvasElement>>();

/**
 * A part of a picture at the size in which it is drawn, in CSS pixels: made once, as it is drawn many times. `grey`:
 * tints are seen on it.
 */
export function photo(
  image: HTMLImageElement,
  part: Box,
  width: number,
  height: number,
  grey = false,
): HTMLCanvasElement {
  const copies = sized.get(image) ?? new Map<string, HTMLCanvasElement>();
  sized.set(image, copies);
  const [wide, tall] = [Math.max(1, Math.round(width * ratio())), Math.max(1, Math.round(height * ratio()))];
  const key = [...part, wide, tall, grey].join();
  let copy = copies.get(key);
  if (!copy) {
    copy = document.createElement("canvas");
    [copy.width, copy.height] = [wide, tall];
    const pen = copy.getContext("2d")!;
    pen.imageSmoothingQuality = "high";
    pen.drawImage(image, part[0], part[1], part[2] - part[0], part[3] - part[1], 0, 0, wide, tall);
    if (grey) {
      const pixels = pen.getImageData(0, 0, wide, tall);
      const { data } = pixels;
      for (let at = 0; at < data.length; at += 4)
        data.fill(0.299 * data[at]! + 0.587 * data[at + 1]! + 0.114 * data[at + 2]!, at, at + 3);
      pen.putImageData(pixels, 0, 0);
    }
    if (copies.size >= SIZES) copies.delete(copies.keys().next().value!);
    copies.set(key, copy);
  }
  return copy;
}

/** A part of a picture, given in the picture's own pixels, in those of the image that the page has of it. */
export const within = (
  image: HTMLImageElement,
  { width, height }: PictureInfo,
  [left, top, right, bottom]: Box,
): Box => {
  const [across, down] = [image.naturalWidth / width, image.naturalHeight / height];
  return [left * across, top * down, right * across, bottom * down];
};

/** What pictures are drawn on: a canvas, or the SVG of a still. */
export interface Easel {
  readonly pen: Pen;
  /** A part of a picture; `grey`: tints are seen on it. */
  photo(info: PictureInfo, part: Box, x: number, y: number, width: number, height: number, grey: boolean): void;
  /** The veils of a raster as they are. */
  veils(raster: Raster, x: number, y: number, width: number, height: number, look: Look): void;
}

export const onCanvas = (pen: CanvasRenderingContext2D, image: HTMLImageElement): Easel => ({
  pen,
  photo: (info, part, x, y, width, height, grey) =>
    pen.drawImage(photo(image, within(image, info, part), width, height, grey), x, y, width, height),
  veils: (raster, x, y, width, height, look) => raster.put(pen, [x, y, width, height], look),
});
