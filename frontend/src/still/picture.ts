// A head on a picture: where a query looks, which queries look at a key, rollout, several heads, every layer.

import { type Block, flow, stack, text } from "../draw/block";
import { drawBoard } from "../draw/boarddraw";
import { area, lettering, write } from "../draw/canvas";
import { panesOf } from "../draw/panes";
import { cutTo, textWidth } from "../draw/ruler";
import { drawCovered, rastersOf } from "../draw/veils";
import type { PictureInfo } from "../protocol";
import { boxesOf, covered, isWide } from "../scene/areas";
import {
  aboutRollout,
  type Board,
  boardLayout,
  boards,
  called,
  chipFigure,
  GAP,
  type Look,
  lacking,
  layerLooks,
  looking,
  lookOf,
  rolled,
  rollout,
  SMALL_GAP,
  type Small,
  STRIP_GAP,
  says,
  small,
  smallLayout,
  strip,
  stripLayout,
  there,
  whoLooks,
} from "../scene/onpicture";
import { type Asked, missing } from "../scene/rows";
import type { Scene } from "../scene/scene";
import { onPaper } from "./easel";

/** Decode what is drawn beside the open heads: rollout, and every layer. */
export async function decode(scene: Scene, who: Asked): Promise<void> {
  const { part, state, data } = scene;
  const layers = strip(scene, "");
  await Promise.all([
    ...(rollout(scene).on ? missing(scene, state.layer, "rollout") : []),
    ...data.wanted([layers && part.looks]),
  ]);
  if (layers) await Promise.all(part.index.flatMap((layer) => lacking(scene, layer, layers.source, who)));
}

export async function picture(scene: Scene, width: number): Promise<Block[]> {
  const { part, owner } = scene;
  const info = scene.input.picture;
  const found = looking(scene);
  if (!info || !found) return [];
  const { who } = found;
  await decode(scene, who);
  const look = lookOf(scene, found.maps);
  const { on } = rollout(scene);
  const { each } = boardLayout(part, info, width, on);
  const shown = boards(scene, found).map((one) => board(scene, info, each, look, one));
  if (on) shown.push(board(scene, info, each, { ...look, signed: scene.against !== null }, rolled(scene, who), true));
  const said = [text(says(scene, found).said, width, { color: owner.ink("--ink2") })];
  if (on) said.push(text(aboutRollout(scene, who), width, { color: owner.ink("--ink3") }));
  return [
    flow(shown, width, GAP, 16),
    stack(said, 4),
    ...several(scene, info, width, look, small(scene, found, { from: typeof who === "number" ? who : null, to: null })),
    ...layers(scene, info, width, look, who, whoLooks(scene, who)),
  ];
}

/** The words above a picture. */
export function caption(scene: Scene, said: string, width: number): Block {
  return text(said, width, { color: scene.owner.ink("--ink3"), size: 11, weight: 500 });
}

/** One picture, what it is above it, and below it tokens that have no area; `plain`: without these. */
export function board(scene: Scene, info: PictureInfo, width: number, look: Look, shown: Board, plain = false): Block {
  const blocks = [caption(scene, shown.title, width)];
  // A side of text alone has no picture.
  if (scene.axis(shown.end).boxes)
    blocks.push({
      width,
      height: panesOf(info, width, scene.state.medium).height,
      draw: (pen) => drawBoard(onPaper(pen), scene, info, width, look, shown),
    });
  if (!plain) blocks.push(...others(scene, width, shown));
  return { ...stack(blocks, 6), width };
}

// The tokens without an area, and what each has.
function others({ rows, columns, part, owner }: Scene, width: number, { end, shares, chosen }: Board): Block[] {
  const [axis, side] = end === "from" ? [part.query, rows] : [part.key, columns];
  const boxes = boxesOf(axis, side);
  const chips = side.items.flatMap((item, place): Block[] => {
    if (boxes[place]) return [];
    const [name, number] = [cutTo(called(axis, item), width - 80, 12), chipFigure(shares, place)];
    const [ink, line] = place === chosen ? ["--accent", "--accent"] : ["--ink2", "--line2"];
    const first = textWidth(name, 12);
    const wide = first + (number ? 6 + textWidth(number, 12) : 0) + 16;
    return [
      {
        width: wide,
        height: 22,
        draw(pen) {
          pen.globalAlpha = 1;
          pen.rounded(0, 0, wide, 22, place === chosen ? owner.ink("--wash") : null, owner.ink(line), 6);
          lettering(pen, "400 12px");
          write(pen, owner.ink(ink), name, 8, 11);
          if (number) write(pen, owner.ink("--ink3"), number, 14 + first, 11);
        },
      },
    ];
  });
  return chips.length > 0 ? [flow(chips, width, 4)] : [];
}

/** Each of several heads, small. */
export function several(scene: Scene, info: PictureInfo, width: number, look: Look, heads: readonly Small[]): Block[] {
  if (heads.length === 0) return [];
  const each = smallLayout(heads.length, width, info);
  const blocks = heads.map((head): Block => {
    const tall = panesOf(info, each, scene.state.medium).height;
    return {
      width: each,
      height: 16 + tall,
      draw(pen) {
        area(pen, head.color, 0, 4, 8, 8);
        lettering(pen, "500 11px");
        write(pen, scene.owner.ink("--ink"), cutTo(head.title, each - 13, 11, 500), 13, 8);
        pen.group(0, 16, each, tall);
        drawBoard(onPaper(pen), scene, info, each, look, head);
        pen.end();
      },
    };
  });
  return [flow(blocks, width, SMALL_GAP)];
}

/** Every layer, the open one marked. */
export function layers(scene: Scene, info: PictureInfo, width: number, look: Look, who: Asked, said: string): Block[] {
  const { part, state, owner, columns } = scene;
  const shown = strip(scene, said);
  if (!shown) return [];
  const boxes = boxesOf(part.key, columns);
  const rasters = rastersOf(info, boxes);
  const { one, tall } = stripLayout(part.index.length, isWide(info), covered(boxes), width);
  const cells = part.index.map((layer): Block => {
    const open = layer === state.layer;
    return {
      width: one,
      height: tall + 20,
      draw(pen) {
        const found = layerLooks(scene, layer, shown.source, who);
        drawCovered(onPaper(pen), info, rasters, [0, 0, one, tall], look, found);
        if (!there(scene, layer, shown.source)) {
          pen.globalAlpha = 0.65;
          area(pen, owner.ink("--bg"), 0, 0, one, tall);
        }
        pen.globalAlpha = 1;
        if (open) {
          [pen.strokeStyle, pen.lineWidth] = [owner.ink("--accent"), 2];
          pen.strokeRect(1, 1, one - 2, tall - 2);
        }
        lettering(pen, `${open ? 600 : 400} 11px`, "center");
        write(pen, owner.ink(open ? "--accent" : "--ink3"), String(layer), one / 2, tall + 9);
      },
    };
  });
  return [stack([caption(scene, shown.title, width), flow(cells, width, STRIP_GAP, 2)], 5)];
}
