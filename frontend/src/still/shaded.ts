// The text, shaded, in lines of the paper's width.

import { type Block, text } from "../draw/block";
import { lettering, write } from "../draw/canvas";
import { textWidth, wrap } from "../draw/ruler";
import { COLOURS, mixed } from "../scene/color";
import type { Scene } from "../scene/scene";
import { said, shades, type Text, texts, tone } from "../scene/shaded";
import { bare, spaced } from "../scene/wordsbeside";

const SIZE = 13;
const LINE = 24;

export const shaded = (scene: Scene, width: number): Block[] => [
  ...texts(scene).map((each) => paragraph(scene, each, width)),
  text(said(scene), width, { color: scene.owner.ink("--ink2"), size: 11 }),
];

function paragraph(scene: Scene, of: Text, width: number): Block {
  const { ink, theme } = scene.owner;
  const { items } = scene.tokens(of.side);
  const axis = scene.axis(of.side);
  const strong = shades(scene, of);
  const space = textWidth(" ", SIZE);
  let [x, line] = [0, 0];
  // A word that has no room goes to the next line; one wider than a line is cut where the line ends.
  const placed = items.flatMap((item, at) => {
    const before = items[at - 1];
    if (before && spaced(axis, before, item)) x += space;
    return wrap(bare(item) || "␣", width, SIZE).map((part) => {
      const wide = textWidth(part, SIZE);
      if (x > 0 && x + wide > width) [x, line] = [0, line + 1];
      const found = { part, x, line, wide, at, special: item.special };
      x += wide;
      return found;
    });
  });
  return {
    width,
    height: (line + 1) * LINE,
    draw(pen) {
      for (const { part, x: left, line: row, wide, at, special } of placed) {
        const share = of.shares[at]!;
        const top = row * LINE;
        const fill = mixed(COLOURS[theme][tone(scene, share)], ink("--bg"), strong[at]! / 100);
        if (strong[at]! > 0 || at === of.chosen)
          pen.rounded(left - 1, top + 2, wide + 2, LINE - 4, fill, at === of.chosen ? ink("--ink") : null, 3);
        pen.globalAlpha = 1;
        lettering(pen, `400 ${SIZE}px`);
        write(
          pen,
          ink(Number.isNaN(share) && at !== of.chosen ? "--ink3" : special ? "--ink2" : "--ink"),
          part,
          left,
          top + LINE / 2,
        );
      }
    },
  };
}
