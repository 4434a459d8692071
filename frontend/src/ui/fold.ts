// Pictures within a text: a thumbnail that unfolds into its patches, and folds again.

import { imageOf } from "../draw/veils";
import type { PictureInfo } from "../protocol";
import { type Box, seenAt } from "../scene/areas";
import type { Within } from "../scene/axis";
import { plural } from "../scene/format";
import type { Scene } from "../scene/scene";
import { cropWidth } from "../scene/talking";
import { around, h } from "./dom";

/** Of the larger picture that a thumbnail shows when it is pointed at. */
const LARGE = 200;

/** A part of a picture on a canvas of its own, so tall in CSS pixels. */
export function crop(info: PictureInfo, area: Box, tall: number): HTMLCanvasElement {
  const [left, top, right, bottom] = area;
  const wide = cropWidth(area, tall);
  const canvas = h("canvas.crop", { "aria-hidden": "true", style: `width:${wide}px;height:${tall}px` });
  [canvas.width, canvas.height] = [Math.round(2 * wide), Math.round(2 * tall)];
  void imageOf(info).then(
    (image) => {
      const pen = canvas.getContext("2d");
      const scale = image.naturalWidth / info.width;
      if (pen) pen.imageSmoothingQuality = "high";
      pen?.drawImage(
        image,
        left * scale,
        top * scale,
        (right - left) * scale,
        (bottom - top) * scale,
        0,
        0,
        canvas.width,
        canvas.height,
      );
    },
    () => undefined,
  ); // that it cannot be read is said where it is drawn large
  return canvas;
}

const addresses = new Map<string, string>();

/** A short address of a picture of the payload, which many elements can name. */
function address(src: string): string {
  let found = addresses.get(src);
  if (!found) {
    const [, kind = "image/jpeg", data = ""] = /^data:([^;]+);base64,(.*)$/s.exec(src) ?? [];
    found = data
      ? URL.createObjectURL(new Blob([Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))], { type: kind }))
      : src;
    addresses.set(src, found);
  }
  return found;
}

/** One of many patches, without a canvas of its own. */
function patch(info: PictureInfo, area: Box, tall: number): HTMLElement {
  const [left, top, , bottom] = area;
  const scale = tall / Math.max(1e-6, bottom - top);
  const wide = cropWidth(area, tall);
  return h("i.crop", {
    "aria-hidden": "true",
    style: `width:${wide}px;height:${tall}px;background:url("${address(info.src)}") ${-left * scale}px ${-top * scale}px / ${info.width * scale}px ${info.height * scale}px`,
  });
}

/** What stands before the name of a picture within a text, or of one of its patches. */
export function thumbnail(image: Within, info: PictureInfo | undefined, tall: number): HTMLElement | null {
  const { area } = image;
  const picture =
    info && area && seenAt(info, area) ? (image.folded ? crop(info, area, tall) : patch(info, area, tall)) : null;
  if (!image.folded && !image.first) return picture && h("span.thumb", picture);
  const what = image.folded ? `Unfold it into its ${plural(image.count, "token")} (u)` : "Fold the picture again (u)";
  return h("span.thumb.turns", { "data-fold": image.number, title: what }, image.folded ? "▸" : "▾", picture);
}

/** The numbers of the pictures that are unfolded once one has been turned. */
export const turned = (unfolded: readonly number[], number: number): number[] =>
  unfolded.includes(number) ? unfolded.filter((each) => each !== number) : [...unfolded, number].sort((a, b) => a - b);

/** How many pictures stand within the texts of what is shown. */
export const images = ({ part }: Scene): number =>
  Math.max(part.query.images?.length ?? 0, part.key.images?.length ?? 0);

/** Fold all, or, where all are folded, unfold them. */
export const turnAll = (scene: Scene): number[] =>
  scene.state.unfolded.length > 0 ? [] : Array.from({ length: images(scene) }, (_, number) => number);

/** Thumbnails within an element: a click turns them, and who points at one sees it larger. */
export function turnable(element: HTMLElement, scene: Scene): void {
  const at = (event: Event): HTMLElement | null => around(event, "[data-fold]");
  element.addEventListener(
    "click",
    (event) => {
      const thumb = at(event);
      if (!thumb) return;
      event.stopPropagation();
      scene.owner.tip(null);
      scene.owner.set({ unfolded: turned(scene.state.unfolded, Number(thumb.dataset.fold)) });
    },
    { capture: true },
  );
  element.addEventListener(
    "pointermove",
    (event) => {
      const thumb = at(event);
      const info = scene.input.picture;
      if (!thumb || !info) return;
      event.stopPropagation();
      const image = [...scene.rows.items, ...scene.columns.items].find(
        (item) => item.image?.folded && item.image.number === Number(thumb.dataset.fold),
      )?.image;
      if (image?.area)
        scene.owner.tip(
          h("div", crop(info, image.area, LARGE), h("div.dim", `${plural(image.count, "token")}; click to unfold`)),
          event,
        );
    },
    { capture: true },
  );
  element.addEventListener("pointerout", (event) => at(event) && scene.owner.tip(null));
}
