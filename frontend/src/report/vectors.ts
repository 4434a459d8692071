// Canvases as vectors, for paper.

import { SvgPen } from "../draw/svg";
import { painters } from "./drawing";

/**
 * Put beside each canvas that can be painted again an SVG that shows the same, in place of the last one; it is seen in
 * print only.
 */
export function vectors(root: HTMLElement): void {
  for (const canvas of root.querySelectorAll("canvas")) {
    const paint = painters.get(canvas);
    if (!paint) continue;
    const pen = new SvgPen(parseFloat(canvas.style.width), parseFloat(canvas.style.height));
    paint(pen);
    const drawing = new DOMParser().parseFromString(pen.document(), "image/svg+xml").documentElement;
    drawing.setAttribute("class", "paper");
    drawing.setAttribute("aria-hidden", "true");
    if (canvas.nextElementSibling?.matches(".paper")) canvas.nextElementSibling.remove();
    canvas.after(document.importNode(drawing, true));
  }
}
