// A still as what pictures are drawn on.

import type { Spectrogram } from "../draw/lanes";
import { enlarged, png, repeated, smoothed } from "../draw/png";
import { inks } from "../draw/spectrogram";
import type { SvgPen } from "../draw/svg";
import type { Easel } from "../draw/veils";
import type { Theme } from "../scene/color";
import type { Scene } from "../scene/scene";

/** How light a colour is. */
const LIGHT = [0.299, 0.587, 0.114, 0, 0];
const GREY = [...LIGHT, ...LIGHT, ...LIGHT, 0, 0, 0, 1, 0];

/** What is drawn in ink, in a theme's ink. */
const inInk = (theme: Theme): number[] => [
  ...inks(theme).flatMap(([times, plus]) => [times, 0, 0, 0, plus / 255]),
  ...[0, 0, 0, 1, 0],
];

export const onPaper = (pen: SvgPen): Easel => ({
  pen,
  photo: ({ src, width: wide, height: tall }, part, x, y, width, height, tone) => {
    const matrix = tone === "own" ? undefined : tone === "grey" ? GREY : inInk(tone);
    pen.photo(src, [wide, tall], part, [x, y, width, height], matrix);
  },
  veils(raster, x, y, width, height, look) {
    const { pixels, columns, rows } = raster;
    const sharp = enlarged(Math.max(columns, rows), Math.max(width, height));
    const times = look.smooth ? Math.ceil(sharp / 2) : sharp;
    const made = (look.smooth ? smoothed : repeated)(pixels, columns, rows, times);
    const soft = raster.runs(width, height, look);
    pen.image(png(made, columns * times, rows * times), x, y, width, height, soft);
  },
  moved(x, y, frame, draw) {
    const [left, top] = frame ?? [0, 0];
    if (frame) pen.group(left, top, frame[2] - left, frame[3] - top);
    pen.group(x - left, y - top);
    draw();
    pen.end();
    if (frame) pen.end();
  },
});

/** The sound of a scene in its theme's ink. */
export const soundOnPaper =
  (pen: SvgPen, { input, owner }: Scene): Spectrogram =>
  ([begin, end], ...box) => {
    const { src, width, height } = input.picture!;
    pen.photo(src, [width, height], [begin * width, 0, end * width, height], box, inInk(owner.theme));
  };
