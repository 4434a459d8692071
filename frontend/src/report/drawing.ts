// The picture of an element as SVG: its text, borders and canvases, as they stand on the screen.

import { area, type Pen, write } from "../draw/canvas";
import { SvgPen } from "../draw/svg";

/** Canvases that can be drawn again as vectors; others are taken as they are. */
export const painters = new WeakMap<HTMLCanvasElement, (pen: Pen) => void>();

const CLEAR = new Set(["transparent", "rgba(0, 0, 0, 0)"]);

/** Put everything visible in an element on paper, in paint order, from the element's corner. */
function put(root: HTMLElement, background: string, pen: SvgPen): void {
  const origin = root.getBoundingClientRect();
  area(pen, background, 0, 0, origin.width, origin.height);
  const text = (found: string, x: number, y: number, style: CSSStyleDeclaration): void => {
    pen.globalAlpha = 1;
    pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    [pen.textAlign, pen.textBaseline] = ["left", "middle"];
    write(pen, style.color, style.textTransform === "uppercase" ? found.toUpperCase() : found, x, y);
  };
  const canvas = (source: HTMLCanvasElement, x: number, y: number, width: number, height: number): void => {
    const painter = painters.get(source);
    if (!painter) return pen.image(source.toDataURL("image/png"), x, y, width, height);
    pen.group(x, y, width, height);
    painter(pen);
    pen.end();
  };
  const visit = (element: HTMLElement, clip: DOMRect): void => {
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden" || element.dataset.export === "no") return;
    const bounds = element.getBoundingClientRect();
    const [x, y] = [bounds.left - origin.left, bounds.top - origin.top];
    if (element instanceof HTMLCanvasElement) return canvas(element, x, y, bounds.width, bounds.height);
    const fill = CLEAR.has(style.backgroundColor) ? null : style.backgroundColor;
    const border =
      parseFloat(style.borderTopWidth) > 0 && parseFloat(style.borderLeftWidth) > 0 && style.borderTopStyle !== "none"
        ? style.borderTopColor
        : null;
    const inside = bounds.bottom > clip.top && bounds.top < clip.bottom;
    if (inside && (fill || border))
      pen.rounded(
        x,
        y,
        bounds.width,
        bounds.height,
        fill,
        border,
        Math.min(8, parseFloat(style.borderTopLeftRadius) || 0),
      );
    const own =
      style.overflowY === "visible" && style.overflowX === "visible"
        ? clip
        : new DOMRect(
            Math.max(bounds.x, clip.x),
            Math.max(bounds.y, clip.y),
            bounds.width,
            Math.min(bounds.bottom, clip.bottom) - Math.max(bounds.y, clip.y),
          );
    for (const child of element.childNodes) {
      if (child instanceof HTMLElement) visit(child, own);
      else if (child instanceof Text && child.data.trim()) letters(child, style, own);
      else if (child instanceof SVGSVGElement && child.dataset.export === "yes") {
        const box = child.getBoundingClientRect();
        pen.raw(inlined(child), box.left - origin.left, box.top - origin.top);
      }
    }
  };
  const letters = (node: Text, style: CSSStyleDeclaration, clip: DOMRect): void => {
    const range = document.createRange();
    range.selectNodeContents(node);
    const rects = [...range.getClientRects()];
    if (rects.length === 0) return;
    const first = rects[0]!;
    const middle = (first.top + first.bottom) / 2;
    if (middle < clip.top || middle > clip.bottom) return;
    if (rects.length === 1) return text(node.data.trim(), first.left - origin.left, middle - origin.top, style);
    // Wrapped: cut where the line changes.
    let [line, top] = ["", first.top];
    let at = { left: first.left, top: first.top, bottom: first.bottom };
    const flush = (): void => {
      if (line.trim()) text(line.trim(), at.left - origin.left, (at.top + at.bottom) / 2 - origin.top, style);
    };
    for (let i = 0; i < node.data.length; i++) {
      range.setStart(node, i);
      range.setEnd(node, i + 1);
      const rect = range.getBoundingClientRect();
      if (rect.width > 0 && Math.abs(rect.top - top) > 4) {
        flush();
        [line, top, at] = ["", rect.top, { left: rect.left, top: rect.top, bottom: rect.bottom }];
      }
      line += node.data[i];
    }
    flush();
  };
  visit(root, origin);
}

const INLINE = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linejoin",
  "paint-order",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
];

/** An SVG as text that needs no style sheet; what cannot be seen is left out. */
export function inlined(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const [from, to] = [drawing, copy].map((root) => [root, ...root.querySelectorAll("*")]) as [Element[], Element[]];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    const target = to[i]!;
    if (element instanceof SVGStyleElement || style.visibility === "hidden" || style.display === "none")
      return target.remove();
    for (const name of INLINE) target.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "style", "data-export", "role"]) target.removeAttribute(name);
  });
  return new XMLSerializer().serializeToString(copy);
}

/** An element as an SVG document; canvases that have a painter become shapes. */
export function svg(root: HTMLElement, background: string, title = ""): string {
  const { width, height } = root.getBoundingClientRect();
  const pen = new SvgPen(Math.ceil(width), Math.ceil(height));
  put(root, background, pen);
  return pen.document(title);
}
