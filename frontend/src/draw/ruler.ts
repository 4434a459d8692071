// How wide text is.

import { FONT } from "./canvas";

let ruler: CanvasRenderingContext2D | null = null;

/** Width of a token's text at 13 px. */
export function tokenWidth(text: string): number {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (!ruler) return 100;
  ruler.font = `400 13px ${FONT}`;
  return text.length > 60 ? 400 : ruler.measureText(text).width;
}
