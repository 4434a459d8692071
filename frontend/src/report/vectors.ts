// Canvases as vectors, for paper.

import { pictured } from "./chart";
import { painters } from "./drawing";

/**
 * Put beside each canvas that can be painted again an SVG that shows the same, in place of the last one; it is seen in
 * print only.
 */
export function vectors(root: HTMLElement): void {
  for (const canvas of root.querySelectorAll("canvas")) {
    const paint = painters.get(canvas);
    if (!paint) continue;
    const [width, height] = [parseFloat(canvas.style.width), parseFloat(canvas.style.height)];
    const drawing = pictured({ width, height, draw: paint }, width);
    drawing.setAttribute("class", "paper");
    drawing.setAttribute("aria-hidden", "true");
    if (canvas.nextElementSibling?.matches(".paper")) canvas.nextElementSibling.remove();
    canvas.after(drawing);
  }
}
