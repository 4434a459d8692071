// All heads as thumbnails, layers down and heads across, or in the order of a measure.

import { type Block, flow, text } from "../draw/block";
import { lettering, paint, whole, write } from "../draw/canvas";
import { aspectOf, type Blocks, painter, TAG, tag } from "../draw/griddraw";
import { enlarged, png } from "../draw/png";
import { textWidth } from "../draw/ruler";
import type { SvgPen } from "../draw/svg";
import { PALETTES } from "../scene/color";
import { Heads } from "../scene/heads";
import { rolesOf } from "../scene/roles";
import type { Scene } from "../scene/scene";
import { onPaper, soundOnPaper } from "./easel";
import { scale } from "./scale";

/** The heads of a scene; all that they are drawn from has been decoded. */
export async function allHeads(scene: Scene, width: number): Promise<Block[]> {
  const heads = new Heads(scene);
  const { measure } = heads;
  await Promise.all([...heads.missing(), measure && scene.data.loadArray(measure.values)]);
  heads.lay(width, "large", Infinity, aspectOf(heads));
  heads.arrange();
  for (const layer of scene.part.index) await heads.needs(layer);
  const notes = heads.notes();
  return [
    { width, height: heads.box.height, draw: (pen) => draw(pen, heads) },
    ...roles(scene, width),
    ...(notes.length > 0 ? [text(notes.join(" "), width, { color: scene.owner.ink("--ink2"), size: 11 })] : []),
    ...(heads.lines || heads.pictured ? [] : [scale(scene, width)]),
  ];
}

/** What the letters mean, and how many heads have each. */
function roles(scene: Scene, width: number): Block[] {
  const found = rolesOf(scene);
  if (found.length === 0) return [];
  const { ink } = scene.owner;
  const entries = found.map(({ name, look, heads }): Block => {
    const said = `${name} ${heads.length}`;
    return {
      width: TAG + 6 + Math.ceil(textWidth(said, 11)),
      height: TAG,
      draw: (pen) => {
        tag(pen, look, scene, TAG, 0, 0);
        lettering(pen, "400 11px");
        write(pen, ink("--ink2"), said, TAG + 6, TAG / 2 + 0.5);
      },
    };
  });
  return [flow(entries, width, 14, 5)];
}

function draw(pen: SvgPen, heads: Heads): void {
  const { box, order } = heads;
  labels(pen, heads);
  pen.group(box.gutter, box.top, box.width - box.gutter, box.height - box.top);
  const cell = painter(pen, heads, blocks(pen, heads));
  order.forEach(({ head }, place) => head >= 0 && cell(place));
  pen.end();
}

function labels(pen: SvgPen, heads: Heads): void {
  if (heads.sorted) return;
  const { box, scene } = heads;
  const { across, down } = heads.labels();
  const color = scene.owner.ink("--ink3");
  pen.globalAlpha = 1;
  lettering(pen, "400 11px", "center");
  for (const { text, at } of across) write(pen, color, text, at + box.cell / 2, 22);
  lettering(pen, "400 11px", "right");
  for (const { text, at } of down) write(pen, color, text, box.gutter - 10, at + box.tall / 2);
  lettering(pen, "400 10.5px");
  write(pen, color, heads.axes.across, box.gutter, 6);
  lettering(pen, "400 10.5px", "right");
  pen.turn(-90, 6, box.top);
  write(pen, color, heads.axes.down, 6, box.top);
  pen.end();
}

function blocks(pen: SvgPen, { box, scene, pictured }: Heads): Blocks {
  const palette = PALETTES[scene.owner.theme];
  // Two pixels of the file each of the paper's at most, where that leaves a token one.
  const pixelsOf = (tokens: number): number =>
    tokens > box.cell ? Math.min(tokens, Math.round(2 * box.cell)) : tokens * enlarged(tokens, box.cell);
  return {
    easel: pictured ? onPaper(pen) : null,
    spectrogram: soundOnPaper(pen, scene),
    heat({ rows, columns, codes, sign }, x, y) {
      const [w, h] = [columns, rows].map(pixelsOf) as [number, number];
      const pixels = new Uint32Array(w * h);
      const colours = sign ? palette.diverging : palette.sequential;
      paint({ data: pixels, stride: w }, 0, 0, w, h, whole(codes, rows, columns), colours, sign);
      pen.image(png(pixels, w, h), x, y, box.cell, box.tall);
    },
  };
}
