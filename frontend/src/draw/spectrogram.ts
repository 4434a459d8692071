// A spectrogram as it is drawn: in ink on the theme's paper, with its axes.

import type { Theme } from "../scene/color";
import { fixed } from "../scene/format";
import type { Scene } from "../scene/scene";
import { type Span, ticks } from "../scene/soundlayout";
import { area, lettering, type Pen, surface, write } from "./canvas";

/** What the picture of a sound shows silence and the loudest as (`views/sounding.py`), in its first channel. */
const [SILENT, LOUD] = [251, 22];
const PAPERS: Record<Theme, readonly [paper: readonly number[], ink: readonly number[]]> = {
  light: [
    [247, 248, 248],
    [22, 25, 29],
  ],
  dark: [
    [21, 25, 28],
    [233, 236, 238],
  ],
};

/** What each channel is made of, from the level of the first one: so many times it, and something more. */
export const inks = (theme: Theme): readonly (readonly [times: number, plus: number])[] => {
  const [paper, ink] = PAPERS[theme];
  return paper.map((from, channel) => {
    const times = (ink[channel]! - from) / (LOUD - SILENT);
    return [times, from - times * SILENT];
  });
};

const drawn = new WeakMap<HTMLImageElement, Map<Theme, HTMLCanvasElement>>();

/** The picture of a sound in a theme's own ink, made once. */
export function inked(image: HTMLImageElement, theme: Theme): HTMLCanvasElement {
  const known = drawn.get(image) ?? new Map<Theme, HTMLCanvasElement>();
  drawn.set(image, known);
  const found = known.get(theme) ?? inkedAnew(image, theme);
  known.set(theme, found);
  return found;
}

function inkedAnew(image: HTMLImageElement, theme: Theme): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  const pen = canvas.getContext("2d", { willReadFrequently: true })!;
  pen.drawImage(image, 0, 0);
  const pixels = pen.getImageData(0, 0, canvas.width, canvas.height);
  const channels = inks(theme);
  for (let at = 0; at < pixels.data.length; at += 4) {
    const level = pixels.data[at]!;
    channels.forEach(([times, plus], channel) => (pixels.data[at + channel] = times * level + plus));
  }
  pen.putImageData(pixels, 0, 0);
  return canvas;
}

/** Draw the shown stretch of a spectrogram that is of `seconds`. */
export function drawSpectrogram(
  canvas: HTMLCanvasElement,
  source: HTMLCanvasElement,
  seconds: number,
  [begin, end]: Span,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const pen = surface(canvas, width, height);
  const scale = source.width / seconds;
  pen.imageSmoothingEnabled = true;
  pen.drawImage(source, begin * scale, 0, (end - begin) * scale, source.height, 0, 0, width, height);
  return pen;
}

/** How tall the seconds below a stretch are. */
export const CLOCK = 18;

/** Seconds below a stretch; `more`: the room right of it. */
export function drawClock(pen: Pen, scene: Scene, [begin, end]: Span, width: number, more: number): void {
  const { ink } = scene.owner;
  const { at, digits } = ticks(begin, end, Math.max(2, Math.floor(width / 64)));
  lettering(pen, "500 11px", "center");
  for (const time of at) {
    const x = ((time - begin) / (end - begin)) * width;
    area(pen, ink("--tick"), Math.round(x), 0, 1, 4);
    const text = `${fixed(time, digits)}${time === at.at(-1) ? " s" : ""}`;
    const half = 4 * text.length;
    if (x > half / 2) write(pen, ink("--ink3"), text, Math.min(Math.max(x, half), width + more - half - 8), 11);
  }
}

/** Kilohertz beside a spectrogram, the highest half the rate. */
export function drawHertz(pen: Pen, scene: Scene, rate: number, width: number, height: number): void {
  const { ink } = scene.owner;
  const most = rate / 2000;
  const { at, digits } = ticks(0, most, Math.max(2, Math.floor(height / 36)));
  lettering(pen, "500 11px", "right");
  for (const kilohertz of at) {
    const y = height * (1 - kilohertz / most);
    area(pen, ink("--tick"), width - 4, Math.round(Math.min(y, height - 1)), 4, 1);
    const last = kilohertz === at.at(-1);
    write(
      pen,
      ink("--ink3"),
      `${fixed(kilohertz, digits)}${last ? " kHz" : ""}`,
      width - 7,
      Math.min(height - 6, Math.max(6, y)),
    );
  }
}
