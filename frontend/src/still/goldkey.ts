// The legend of gold links.

import type { Block } from "../draw/block";
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
  let [x, y] = [0, 0];
  const placed = entries.map(({ swatch, text }) => {
    const entry = swatch ? { swatch, text, size: 12 } : { swatch, text: text.toUpperCase(), size: 10.5 };
    const wide = (swatch ? SWATCH + AFTER : 0) + textWidth(entry.text, entry.size);
    if (x > 0 && x + wide > width) [x, y] = [0, y + TALL];
    const at = { ...entry, x, y };
    x += wide + BETWEEN;
    return at;
  });
  const { ink } = scene.owner;
  return [
    {
      width,
      height: y + TALL,
      draw(pen) {
        for (const { swatch, text, size, x, y } of placed) {
          pen.globalAlpha = 1;
          lettering(pen, `${swatch ? 400 : 500} ${size}px`);
          write(pen, ink(swatch ? "--ink2" : "--ink3"), text, x + (swatch ? SWATCH + AFTER : 0), y + TALL / 2);
          if (!swatch) continue;
          pen.group(x, y + 2);
          drawSwatch(pen, ink, swatch);
          pen.end();
        }
      },
    },
  ];
}
