// A whole picture with the tokens of one side of a head: how much each has, what is cut off, gold, and what is chosen.

import type { PictureInfo } from "../protocol";
import { type Box, boxesOf, cutOff } from "../scene/areas";
import type { Board, Look } from "../scene/onpicture";
import type { Scene } from "../scene/scene";
import { area } from "./canvas";
import { drawRegions } from "./golddraw";
import { type Easel, rasterOf } from "./veils";

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
  const scale = width / info.width;
  const boxes = boxesOf(
    ...(end === "from" ? ([scene.part.query, scene.rows] as const) : ([scene.part.key, scene.columns] as const)),
  );
  easel.photo(info, [0, 0, info.width, info.height], 0, 0, width, info.height * scale, look.signed && shares !== null);
  if (boxes.some((box) => box !== null)) {
    const raster = rasterOf(boxes);
    if (shares) {
      const [left, top, right, bottom] = raster.area;
      raster.veil(shares, look);
      easel.veils(raster, left * scale, top * scale, (right - left) * scale, (bottom - top) * scale, look);
    }
    if (cutOff(raster.area, info)) greyOut(easel, raster.area, info, scale);
  }
  drawRegions(pen, scene.owner.ink, scale, end, boxes, links);
  const box = chosen === null ? null : boxes[chosen];
  if (!box) return;
  pen.globalAlpha = 1;
  for (const [color, line] of [
    ["#0b0e10", 4],
    ["#ffffff", 2],
  ] as const) {
    pen.strokeStyle = color;
    pen.lineWidth = line;
    pen.strokeRect(box[0] * scale, box[1] * scale, (box[2] - box[0]) * scale, (box[3] - box[1]) * scale);
  }
}

// Grey what the areas leave out.
function greyOut({ pen }: Easel, [left, top, right, bottom]: Box, { width, height }: PictureInfo, scale: number): void {
  pen.globalAlpha = 0.78;
  for (const [x, y, wide, tall] of [
    [0, 0, width, top],
    [0, bottom, width, height - bottom],
    [0, top, left, bottom - top],
    [right, top, width - right, bottom - top],
  ] as const)
    if (wide > 0 && tall > 0) area(pen, GREY, x * scale, y * scale, wide * scale, tall * scale);
  pen.globalAlpha = 1;
}
