// The legend of gold links.

import { type Block, flow } from "../draw/block";
import { lettering, write } from "../draw/canvas";
import { drawSwatch } from "../draw/golddraw";
import { textWidth } from "../draw/ruler";
import { goldSays } from "../scene/says";
import type { Scene } from "../scene/scene";

const [SWATCH, AFTER, BETWEEN, TALL] = [22, 6, 18, 18];

/** Nothing where no links are drawn. */
export function goldKey(scene: Scene, width: number): Block[] {
  const entries = goldSays(scene);
  if (entries.length === 0) return [];
  const { ink } = scene.owner;
  const blocks = entries.map(({ swatch, text }): Block => {
    const [said, size, left] = swatch ? [text, 12, SWATCH + AFTER] : [text.toUpperCase(), 10.5, 0];
    return {
      width: left + textWidth(said, size),
      height: TALL,
      draw(pen) {
        pen.globalAlpha = 1;
        lettering(pen, `${swatch ? 400 : 500} ${size}px`);
        write(pen, ink(swatch ? "--ink2" : "--ink3"), said, left, TALL / 2);
        if (!swatch) return;
        pen.group(0, 2);
        drawSwatch(pen, ink, swatch);
        pen.end();
      },
    };
  });
  return [flow(blocks, width, BETWEEN, 0)];
}
