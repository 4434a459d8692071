// A picture in grey, with regions of it shaded.

import type { PictureInfo } from "../protocol";
import { COLOURS, type Theme } from "../scene/color";
import type { Shade } from "../scene/sources";
import type { Block } from "./block";

/** Grey and half covered: the shades are the only colours. */
const GREY = [0.2126, 0.7152, 0.0722, 0, 0];
const PALE = [...GREY, ...GREY, ...GREY, 0, 0, 0, 0.55, 0];

interface Region {
  readonly box: readonly number[];
  readonly shade: Shade;
  /** It is chosen. */
  readonly on: boolean;
}

/** `by`: how much larger than it is. */
export function areas(picture: PictureInfo, regions: readonly Region[], theme: Theme, by: number): Block {
  const { src, width, height } = picture;
  return {
    width: width * by,
    height: height * by,
    draw(pen) {
      pen.photo(src, [width, height], [0, 0, width, height], [0, 0, width * by, height * by], PALE);
      for (const { box, shade, on } of regions) {
        const [left, top, right, bottom] = box.map((edge) => edge * by) as [number, number, number, number];
        pen.fade(shade.strength / 100);
        pen.rounded(left, top, right - left, bottom - top, COLOURS[theme][shade.tone], null, 0);
        pen.end();
        if (on) pen.rounded(left, top, right - left, bottom - top, null, COLOURS[theme].ink, 0);
      }
    },
  };
}
