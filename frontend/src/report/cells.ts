// Pictures on canvases.

import { type Pen, surface } from "../draw/canvas";
import { css, type Theme } from "../scene/color";
import { painters } from "./drawing";
import type { Figures, Measure } from "./figures";

/** A canvas of this size, cleared; so fine that it is sharp when it is printed. */
export const fit = (canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D =>
  surface(canvas, width, height, Math.min(3, Math.max(2, window.devicePixelRatio || 1)));

/** Draw a picture on a canvas, and keep how, so that it can be drawn again as vectors. */
export function draw(canvas: HTMLCanvasElement, width: number, height: number, paint: (pen: Pen) => void): void {
  paint(fit(canvas, width, height));
  painters.set(canvas, paint);
}

/** A measure of all heads, layers down and heads across, in a square of this side; what has no value stays empty. */
export function paintCells(
  canvas: HTMLCanvasElement,
  { rows, columns, cells }: Figures,
  measure: Measure,
  theme: Theme,
  side: number,
): void {
  const step = Math.min(side / columns, side / rows, 14);
  const size = step - (step >= 5 ? 1 : step >= 3 ? 0.5 : 0);
  draw(canvas, columns * step, rows * step, (pen) => {
    for (const { layer, head } of cells) {
      const value = measure.value({ layer, head });
      if (!Number.isFinite(value)) continue;
      pen.fillStyle = css(measure.pixel(value, theme));
      pen.fillRect(head * step, layer * step, size, size);
    }
  });
}
