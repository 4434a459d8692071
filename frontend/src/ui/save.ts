// Files that leave the page.

import type { Sides } from "../scene/scene";
import type { Data } from "../scene/source";
import type { Full } from "../scene/state";
import { MARGIN, still } from "../still/still";

/** Hand a file to the reader of a page. */
export function download(name: string, file: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The page's own font as a rule that needs no other file; empty where the page has none. */
export function embedded(): string {
  const own = (rule: CSSRule): boolean =>
    rule instanceof CSSFontFaceRule && rule.style.getPropertyValue("src").includes("data:");
  return [...document.styleSheets].flatMap(rulesOf).find(own)?.cssText ?? "";
}

// A notebook's page may have sheets of another origin: nobody may read them.
function rulesOf(sheet: CSSStyleSheet): CSSRule[] {
  try {
    return [...sheet.cssRules];
  } catch {
    return [];
  }
}

/** Pixels that a side of a canvas may have. */
const LONGEST = 16000;

/** A drawing as a PNG, twice as many pixels as it has; a very tall one has fewer. */
export async function raster(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const scale = Math.min(2, LONGEST / Math.max(image.naturalWidth, image.naturalHeight));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(scale * image.naturalWidth);
  canvas.height = Math.round(scale * image.naturalHeight);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large")))),
  );
}

/** The picture of a state, with `width` for what is drawn. */
export async function picture(
  kind: "svg" | "png",
  data: Data,
  state: Full,
  width: number,
  sides: Sides,
): Promise<Blob> {
  const drawing = await still(data, {
    state,
    width: Math.ceil(width) + 2 * MARGIN,
    title: "",
    sides,
    style: embedded(),
  });
  return kind === "svg" ? new Blob([drawing], { type: "image/svg+xml" }) : raster(drawing);
}
