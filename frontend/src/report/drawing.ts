// The pictures of a section as one SVG: each below its caption, one after another as they have room, between headings.

import { type Block, flow, placed, stack, text } from "../draw/block";
import { area, type Pen } from "../draw/canvas";
import { textWidth } from "../draw/ruler";
import { SvgPen } from "../draw/svg";

/** How canvases are drawn again as vectors. */
export const painters = new WeakMap<HTMLCanvasElement, (pen: Pen) => void>();

const HEADINGS = "h3, h4, summary";
/** What is one part of the whole, with all that is in it. */
const WHOLE = "figure.chart, .thumb, .key > span, tr";
const PICTURES = "canvas, svg";
const [SIZE, GAP] = [12, 16];

/** A picture, a heading, a row of a table, or a caption with the pictures that it is of. */
function part(element: Element, room: number): Block {
  if (element instanceof SVGSVGElement) {
    const { width, height } = element;
    const draw = (pen: SvgPen): void => pen.raw(inlined(element), 0, 0);
    return { width: width.baseVal.value, height: height.baseVal.value, draw };
  }
  if (element instanceof HTMLCanvasElement) {
    const [width, height] = [parseFloat(element.style.width), parseFloat(element.style.height)];
    return { width, height, draw: painters.get(element)! };
  }
  if (element instanceof HTMLTableRowElement) {
    const left = (each: Element): number => each.getBoundingClientRect().left;
    const cells = [...element.cells].map((cell) => [left(cell) - left(element), part(cell, cell.clientWidth)] as const);
    const height = Math.max(...cells.map(([, cell]) => cell.height));
    return { width: element.offsetWidth, height, draw: (pen) => cells.forEach(([x, cell]) => placed(pen, cell, x, 0)) };
  }
  const pictures = [...element.querySelectorAll(PICTURES)].map((each) => part(each, room));
  const own = element.querySelector("figcaption") ?? element;
  const copy = own.cloneNode(true) as Element;
  for (const unseen of copy.querySelectorAll(".hidden, .paper")) unseen.remove();
  const said = Array.from(copy.childNodes, ({ textContent }) => textContent!.trim()).join("  ");
  const { color, fontWeight } = getComputedStyle(own.firstElementChild ?? own);
  const weight = Number(fontWeight) > 450 ? 600 : 400;
  const width = element.closest(".key") ? 1 + textWidth(said, SIZE, weight) : (pictures[0]?.width ?? room);
  return stack([text(said, width, { color, size: SIZE, weight }), ...pictures], 6);
}

const INLINE = [
  ...["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin"],
  ...["paint-order", "opacity", "font-family", "font-size", "font-weight", "text-anchor"],
];

/** An SVG as text that needs no style sheet; what cannot be seen is left out. */
function inlined(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const [from, to] = [drawing, copy].map((root) => [root, ...root.querySelectorAll("*")]) as [Element[], Element[]];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    const target = to[i]!;
    if (element instanceof SVGStyleElement || style.visibility === "hidden" || style.display === "none")
      return target.remove();
    for (const name of INLINE) target.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "style", "role"]) target.removeAttribute(name);
  });
  return new XMLSerializer().serializeToString(copy);
}

/** The pictures in an element as an SVG document. */
export function svg(root: HTMLElement, background: string, title = ""): string {
  const room = root.getBoundingClientRect().width;
  const every = [...root.querySelectorAll(`${HEADINGS}, ${WHOLE}, ${PICTURES}`)];
  const parts = every.filter((element) => !element.parentElement!.closest(WHOLE));
  const blocks = parts.map((element) => part(element, room));
  const width = Math.max(room, ...blocks.map((block) => block.width));
  const all = flow(blocks, width, GAP);
  const pen = new SvgPen(Math.ceil(width), Math.ceil(all.height));
  area(pen, background, 0, 0, width, all.height);
  all.draw(pen);
  return pen.document(title);
}
