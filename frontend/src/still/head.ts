// One layer's open heads as lines between two columns of tokens.

import { type Block, text } from "../draw/block";
import { lettering, write } from "../draw/canvas";
import { drawHead, drawLines, others } from "../draw/headdraw";
import type { SvgPen } from "../draw/svg";
import { widest } from "../draw/tokens";
import { above, type HeadBox, headBoxOf, stripSide } from "../scene/headlayout";
import { linesAtRest, linesCaption } from "../scene/lines";
import type { Scene } from "../scene/scene";
import { goldKey } from "./goldkey";
import { column } from "./token";

/** The height of what stands above the columns. */
const HEADS = 20;

export function head(scene: Scene, width: number): Block[] {
  const maps = scene.shown();
  if (maps.length === 0) return [];
  const { rows, columns, focus, focused, owner } = scene;
  const box = headBoxOf(scene, {
    width,
    tallest: Infinity,
    widest: widest(rows.items, columns.items),
    still: stripSide(focus),
  });
  const lines = linesAtRest(scene, 0, rows.items.length);
  return [
    {
      width,
      height: HEADS + box.full,
      draw(pen) {
        heads(pen, scene, box);
        pen.group(0, HEADS);
        const { tokens: most, row } = box;
        column(pen, scene, rows.items, { x: box.x0, align: "right", most, row }, focused.from);
        column(pen, scene, columns.items, { x: box.x1, align: "left", most, row }, focused.to);
        pen.fade(others(scene));
        const view = { pen, scene, box, maps, scrolled: 0 };
        drawLines(view, lines, 0, lines.count - 1);
        pen.end();
        drawHead(view);
        pen.end();
      },
    },
    text(linesCaption(scene, lines), width, { color: owner.ink("--ink2") }),
    ...goldKey(scene, width),
  ];
}

function heads(pen: SvgPen, scene: Scene, box: HeadBox): void {
  pen.globalAlpha = 1;
  for (const { text, x, align, head } of above(scene, box)) {
    lettering(pen, `${head === undefined ? 500 : 600} 10.5px`, align);
    write(
      pen,
      head === undefined ? scene.owner.ink("--ink3") : scene.color(head),
      text.toUpperCase(),
      x,
      HEADS / 2 - 2,
    );
  }
}
