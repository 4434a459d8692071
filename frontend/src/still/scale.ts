// What the colours of a picture mean: a ramp with figures below it.

import { lettering, write } from "../draw/canvas";
import { png } from "../draw/png";
import { textWidth } from "../draw/ruler";
import { PALETTES } from "../scene/color";
import { legend } from "../scene/says";
import type { Scene } from "../scene/scene";
import type { Block } from "./block";

const WIDE = 132;
const TALL = 8;

export function scale(scene: Scene, width: number): Block {
  const { ink, theme } = scene.owner;
  const { of, signed, ticks } = legend(scene);
  const left = Math.min(width - WIDE - 12, Math.ceil(textWidth(of, 11)) + 12);
  return {
    width,
    height: 26,
    draw(pen) {
      pen.globalAlpha = 1;
      lettering(pen, "400 11px", "left", "middle");
      write(pen, ink("--ink2"), of, 0, TALL / 2 + 1);
      pen.image(png(signed ? PALETTES[theme].diverging : PALETTES[theme].sequential, 256, 1), left, 1, WIDE, TALL);
      lettering(pen, "400 10px", "center", "middle");
      for (const { at, text } of ticks) write(pen, ink("--ink3"), text, left + at * WIDE, TALL + 10);
    },
  };
}
