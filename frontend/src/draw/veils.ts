// What lies over a picture: an area that is not looked at is dark, one that cannot be seen is grey.

import type { PictureInfo } from "../protocol";
import { type Box, covered } from "../scene/areas";
import { COLOURS } from "../scene/color";
import { Made } from "../scene/made";
import type { Look } from "../scene/onpicture";
import { type Pen, ratio } from "./canvas";

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

/** Cells across or down that a raster has at most. */
const FINEST = 512;

/** Colours as little-endian RGBA: what is not looked at, and what cannot be seen. */
const [DARK, UNSEEN] = [0x12100c, (199 << 24) | 0x928c86];

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

  /** Veils by bytes that stand for the roots of shares of the largest. */
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

  /** Veils by shares; NaN: it cannot be seen. */
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
const sized = new WeakMap<HTMLImageElement, Made<HTMLCanvasElement>>();

/**
 * A part of a picture at the size in which it is drawn, in CSS pixels: made once, as it is drawn many times. `grey`:
 * tints are seen on it.
 */
function photo(image: HTMLImageElement, part: Box, width: number, height: number, grey = false): HTMLCanvasElement {
  const copies = sized.get(image) ?? new Made<HTMLCanvasElement>(SIZES);
  sized.set(image, copies);
  const [wide, tall] = [Math.max(1, Math.round(width * ratio())), Math.max(1, Math.round(height * ratio()))];
  return copies.of([part, wide, tall, grey], () => {
    const copy = document.createElement("canvas");
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
    return copy;
  });
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

/** Shares of the largest, or bytes of their roots. */
type Veiled = { readonly shares: ArrayLike<number> } | { readonly codes: ArrayLike<number> };

/** The part of a picture that areas cover, under their veils, in the corner of an easel. */
export function drawCovered(
  easel: Easel,
  info: PictureInfo,
  raster: Raster,
  width: number,
  height: number,
  look: Look,
  veiled: Veiled | null,
): void {
  easel.photo(info, raster.area, 0, 0, width, height, look.signed);
  if (!veiled) return;
  if ("codes" in veiled) raster.veilCodes(veiled.codes, look);
  else raster.veil(veiled.shares, look);
  easel.veils(raster, 0, 0, width, height, look);
}
