// What lies over a picture: an area that is not looked at is dark, one that cannot be seen is grey.

import type { MediumInfo, PictureInfo } from "../protocol";
import { type Box, covered, mediaOf, mediumAt } from "../scene/areas";
import { COLOURS, type Theme } from "../scene/color";
import { Made } from "../scene/made";
import type { Look } from "../scene/onpicture";
import { type Pen, ratio } from "./canvas";
import { inked } from "./spectrogram";

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

/** Curves and letters are seen through the strongest tint. */
const SHEER = 0.7;

/** Colours as little-endian RGBA: what is not looked at, and what cannot be seen. */
const [DARK, UNSEEN] = [0x12100c, (199 << 24) | 0x928c86];

const number = (hex: string): number => parseInt(hex.slice(5, 7) + hex.slice(3, 5) + hex.slice(1, 3), 16);

/** The veil over each root of a share, as a byte. */
const darkness = (opacity: number): Uint32Array =>
  Uint32Array.from({ length: 256 }, (_, code) => (Math.round(opacity * (255 - code)) << 24) | DARK);

/** The areas of a medium as the cells of a raster, each as large as areas are apart: most areas have several. */
export class Raster {
  readonly area: Box;
  readonly columns: number;
  readonly rows: number;
  /** The veils, a cell each. */
  readonly pixels: Uint32Array<ArrayBuffer>;
  /** Of each place its first and last column and row, the last ones not included; all 0 for none. */
  private readonly cells: Int32Array;
  private canvas: HTMLCanvasElement | null = null;

  constructor(
    boxes: readonly (Box | null)[],
    readonly medium: MediumInfo,
  ) {
    this.area = covered(boxes);
    const [left, top, right, bottom] = this.area;
    const [column, row] = ([0, 1] as const).map((side) =>
      grid(boxes.flatMap((box) => (box ? [box[side], box[side + 2]!] : []))),
    ) as [number, number];
    [this.columns, this.rows] = [column, row];
    this.pixels = new Uint32Array(column * row);
    this.cells = new Int32Array(4 * boxes.length);
    const x = (edge: number): number => Math.round(((edge - left) / (right - left)) * column);
    const y = (edge: number): number => Math.round(((edge - top) / (bottom - top)) * row);
    boxes.forEach((box, place) => {
      if (!box) return;
      const [first, above] = [Math.min(x(box[0]), column - 1), Math.min(y(box[1]), row - 1)];
      this.cells.set([first, Math.max(x(box[2]), first + 1), above, Math.max(y(box[3]), above + 1)], 4 * place);
    });
  }

  /** The mean of what covers each cell; NaN where none of it can be seen, Infinity where nothing stands. */
  heat(shares: ArrayLike<number>): Float64Array {
    const { cells, columns, pixels } = this;
    const [sums, counts] = [new Float64Array(pixels.length), new Uint16Array(pixels.length)];
    const there = new Uint8Array(pixels.length);
    for (let at = 0; at < 4 * shares.length; at += 4) {
      const share = shares[at / 4]!;
      for (let row = cells[at + 2]!; row < cells[at + 3]!; row++)
        for (let cell = row * columns + cells[at]!; cell < row * columns + cells[at + 1]!; cell++) {
          there[cell] = 1;
          if (Number.isNaN(share)) continue;
          sums[cell]! += share;
          counts[cell]!++;
        }
    }
    return sums.map((sum, cell) => (there[cell] ? sum / counts[cell]! : Infinity));
  }

  /** Veils by heat of the `most`: a picture is dark where it has none, and what is drawn has the more colour. */
  paint(heat: Float64Array, most: number, { opacity, signed, theme }: Look): void {
    const { plus, minus, accent } = COLOURS[theme];
    const [more, less] = [number(signed ? plus : accent), number(minus)];
    const colors = darkness(opacity);
    const drawn = this.medium.kind !== "picture";
    heat.forEach((share, cell) => {
      const code = Math.min(255, Math.round(255 * Math.sqrt(Math.abs(share) / most)));
      this.pixels[cell] =
        share === Infinity
          ? 0
          : Number.isNaN(share)
            ? UNSEEN
            : drawn || signed
              ? (Math.round((drawn ? SHEER : 1) * opacity * code) << 24) | (share < 0 ? less : more)
              : colors[code]!;
    });
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

/** How many cells have every edge of areas between two of them, or nearly so. */
function grid(edges: readonly number[]): number {
  const sorted = Float64Array.from(edges).sort();
  const low = sorted[0] ?? 0;
  const whole = sorted.at(-1)! - low;
  let step = whole;
  sorted.forEach((edge, at) => {
    const gap = edge - (sorted[at - 1] ?? low);
    if (gap > whole / FINEST) step = Math.min(step, gap);
  });
  const count = (parts: number): number => Math.min(FINEST, Math.max(1, Math.round((parts * whole) / step) || 1));
  const fits = (cells: number): boolean =>
    sorted.every((edge) => Math.abs(((((edge - low) / whole) * cells + 0.5) % 1) - 0.5) < OFF);
  return [1, 2, 3, 4, 5].map(count).find(fits) ?? count(1);
}
const OFF = 0.1;

const rasters = new WeakMap<readonly (Box | null)[], readonly Raster[]>();

/** A raster of each medium that areas are on, made once for these. */
export function rastersOf(info: PictureInfo, boxes: readonly (Box | null)[]): readonly Raster[] {
  const found =
    rasters.get(boxes) ??
    mediaOf(info)
      .map((medium) => [medium, boxes.map((box) => (box && mediumAt(info, box) === medium ? box : null))] as const)
      .filter(([, own]) => own.some(Boolean))
      .map(([medium, own]) => new Raster(own, medium));
  rasters.set(boxes, found);
  return found;
}

/** Shares, NaN: not seen; or bytes of the roots of shares of the largest. */
export type Veiled = { readonly shares: ArrayLike<number> } | { readonly codes: ArrayLike<number> };

/** Veil all media on one scale. */
export function veil(rasters: readonly Raster[], veiled: Veiled, look: Look): void {
  const shares = "shares" in veiled ? veiled.shares : Float64Array.from(veiled.codes, (code) => (code / 255) ** 2);
  const heats = rasters.map((raster) => raster.heat(shares));
  let most = 1e-12;
  for (const heat of heats)
    for (const each of heat) if (Math.abs(each) < Infinity) most = Math.max(most, Math.abs(each));
  rasters.forEach((raster, at) => raster.paint(heats[at]!, most, look));
}

/** In what colours a picture is drawn: in its own, in grey, so that tints are seen on it, or in a theme's ink. */
export type Tone = "own" | "grey" | Theme;

/** The tone of a medium: what is no picture is in ink. */
export const toneOf = ({ kind }: MediumInfo, { signed, theme }: Look): Tone =>
  kind !== "picture" ? theme : signed ? "grey" : "own";

/** Copies of a part of a picture that are kept, each of one size. */
const SIZES = 8;
const sized = new WeakMap<HTMLImageElement, Made<HTMLCanvasElement>>();

/** A part of a picture at the size in which it is drawn, in CSS pixels: made once, as it is drawn many times. */
function photo(
  image: HTMLImageElement,
  info: PictureInfo,
  whole: Box,
  width: number,
  height: number,
  tone: Tone,
): HTMLCanvasElement {
  const part = within(image, info, whole);
  const copies = sized.get(image) ?? new Made<HTMLCanvasElement>(SIZES * mediaOf(info).length);
  sized.set(image, copies);
  const [wide, tall] = [Math.max(1, Math.round(width * ratio())), Math.max(1, Math.round(height * ratio()))];
  return copies.of([part, wide, tall, tone], () => {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [wide, tall];
    const pen = copy.getContext("2d")!;
    pen.imageSmoothingQuality = "high";
    const source = tone === "light" || tone === "dark" ? inked(image, tone) : image;
    pen.drawImage(source, part[0], part[1], part[2] - part[0], part[3] - part[1], 0, 0, wide, tall);
    if (tone === "grey") {
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
  /** A part of a picture. */
  photo(info: PictureInfo, part: Box, x: number, y: number, width: number, height: number, tone: Tone): void;
  /** The veils of a raster as they are. */
  veils(raster: Raster, x: number, y: number, width: number, height: number, look: Look): void;
  /** Draw with the corner elsewhere, and nothing outside of a `frame`, if there is one. */
  moved(x: number, y: number, frame: Box | null, draw: () => void): void;
}

export const onCanvas = (pen: CanvasRenderingContext2D, image: HTMLImageElement): Easel => ({
  pen,
  photo: (info, part, x, y, width, height, tone) =>
    pen.drawImage(photo(image, info, part, width, height, tone), x, y, width, height),
  veils: (raster, x, y, width, height, look) => raster.put(pen, [x, y, width, height], look),
  moved(x, y, frame, draw) {
    pen.save();
    if (frame) {
      pen.beginPath();
      pen.rect(frame[0], frame[1], frame[2] - frame[0], frame[3] - frame[1]);
      pen.clip();
    }
    pen.translate(x, y);
    draw();
    pen.restore();
  },
});

/** The parts of media that areas cover, under their veils, in a box of an easel. */
export function drawCovered(
  easel: Easel,
  info: PictureInfo,
  rasters: readonly Raster[],
  [x, y, width, height]: Box,
  look: Look,
  veiled: Veiled | null,
): void {
  const [left, top, right, bottom] = covered(rasters.map(({ area }) => area));
  const [across, down] = [width / (right - left), height / (bottom - top)];
  if (veiled) veil(rasters, veiled, look);
  for (const raster of rasters) {
    const { area, medium } = raster;
    const [x0, y0] = [x + (area[0] - left) * across, y + (area[1] - top) * down];
    const [wide, tall] = [(area[2] - area[0]) * across, (area[3] - area[1]) * down];
    if (medium.kind !== "letters") easel.photo(info, area, x0, y0, wide, tall, toneOf(medium, look));
    if (veiled) easel.veils(raster, x0, y0, wide, tall, look);
  }
}
