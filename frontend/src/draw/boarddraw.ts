// A board: each medium with the tokens of one side of a head, how much each has, what is cut off, gold, what is chosen.

import type { PictureInfo } from "../protocol";
import { type Box, boxesOf, cutOff, sideOf } from "../scene/areas";
import type { Board, Look } from "../scene/onpicture";
import type { Scene } from "../scene/scene";
import { area, lettering, type Pen, write } from "./canvas";
import { drawRegions } from "./golddraw";
import { type Pane, panesOf } from "./panes";
import { cutTo } from "./ruler";
import { type Easel, rastersOf, toneOf, veil } from "./veils";

const GREY = "rgb(134, 140, 146)";

/** Draw a board from the corner of an easel. */
export function drawBoard(
  easel: Easel,
  scene: Scene,
  info: PictureInfo,
  width: number,
  look: Look,
  { end, shares, chosen, links }: Board,
): void {
  const { pen } = easel;
  const boxes = boxesOf(
    ...(end === "from" ? ([scene.part.query, scene.rows] as const) : ([scene.part.key, scene.columns] as const)),
  );
  const rasters = rastersOf(info, boxes);
  if (shares) veil(rasters, { shares }, look);
  for (const pane of panesOf(info, width, scene.state.medium).panes) {
    const { medium, part, at } = pane;
    const [across, down] = [(at[2] - at[0]) / (part[2] - part[0]), (at[3] - at[1]) / (part[3] - part[1])];
    const stretched = (box: Box): Box => [box[0] * across, box[1] * down, box[2] * across, box[3] * down];
    const raster = rasters.find((one) => one.medium === medium);
    const draw = (): void => {
      const [x, y, right, bottom] = stretched(part);
      if (medium.kind !== "letters")
        easel.photo(
          info,
          part,
          x,
          y,
          right - x,
          bottom - y,
          toneOf(medium, { ...look, signed: look.signed && shares !== null }),
        );
      const [left, top, after, below] = raster ? stretched(raster.area) : [x, y, x, y];
      if (raster && shares) easel.veils(raster, left, top, after - left, below - top, look);
      if (!raster || cutOff(raster.area, sideOf(medium)))
        greyOut(pen, [left, top, after, below], stretched(sideOf(medium)));
      drawRegions(pen, scene.owner.ink, [x, y, right, bottom], across, end, boxes, links);
      const box = chosen === null ? null : boxes[chosen];
      if (!box || !overlaps(box, part)) return;
      const [x0, y0, x1, y1] = stretched(box);
      pen.globalAlpha = 1;
      for (const [color, line] of [
        ["#0b0e10", 4],
        ["#ffffff", 2],
      ] as const) {
        pen.strokeStyle = color;
        pen.lineWidth = line;
        pen.strokeRect(x0, y0, x1 - x0, y1 - y0);
      }
    };
    const [x, y] = [at[0] - part[0] * across, at[1] - part[1] * down];
    if (x === 0 && y === 0) draw();
    else easel.moved(x, y, pane.letters.length > 0 ? at : null, draw);
    named(pen, scene, pane);
  }
}

const overlaps = (one: Box, other: Box): boolean =>
  one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

// What stands above a pane, beside it, and in it.
function named(
  pen: Pen,
  { owner: { ink } }: Scene,
  { name, beside, letters, at: [left, top, right, bottom] }: Pane,
): void {
  pen.globalAlpha = 1;
  lettering(pen, "500 11px");
  if (name) write(pen, ink("--ink2"), cutTo(name, right - left, 11, 500), left, top - 8);
  beside.forEach((text, at) => {
    const y = top + ((at + 0.5) * (bottom - top)) / beside.length;
    write(pen, ink("--ink3"), cutTo(text, left - 6, 11, 500), 0, y);
  });
  if (letters.length === 0) return;
  const wide = (right - left) / letters.length;
  lettering(pen, "500 13px", "center");
  letters.forEach((letter, at) => {
    write(pen, ink("--ink"), letter, left + (at + 0.5) * wide, (top + bottom) / 2);
  });
}

// Grey what the areas leave out.
function greyOut(pen: Pen, [left, top, right, bottom]: Box, [x0, y0, x1, y1]: Box): void {
  pen.globalAlpha = 0.78;
  for (const [x, y, after, below] of [
    [x0, y0, x1, top],
    [x0, bottom, x1, y1],
    [x0, top, left, bottom],
    [right, top, x1, bottom],
  ] as const)
    if (after > x && below > y) area(pen, GREY, x, y, after - x, below - y);
  pen.globalAlpha = 1;
}
