// A picture of all heads: layers down, heads across.

import type { Pen } from "../draw/canvas";
import { layout } from "../draw/chart";
import { type Attributes, type Child, fit, s } from "../ui/dom";
import { painters } from "./drawing";
import type { Cell, Figures } from "./figures";

const LABEL = { left: 24, top: 18 };

/** The indices that have room for their number, with their positions; `step` is from one cell to the next. */
export function spaced(
  indices: readonly number[],
  step: number,
  room: number,
): (readonly [position: number, index: number])[] {
  const every = Math.max(1, Math.ceil(room / step));
  return indices.flatMap((index, position) => (position % every === 0 ? [[position, index] as const] : []));
}

/** Draw a picture on a canvas, and keep how, so that it can be drawn again as vectors. */
export function draw(canvas: HTMLCanvasElement, width: number, height: number, paint: (pen: Pen) => void): void {
  paint(fit(canvas, width, height));
  painters.set(canvas, paint);
}

/** Cells of at most this size in so much room, as a drawing with the numbers of layers and heads. */
export function headGrid({ rows, columns, payload }: Figures, room: number, largest: number) {
  const { size, gap } = layout(rows, columns, room - LABEL.left, 420, largest);
  const step = size + gap;
  const [width, height] = [LABEL.left + columns * step, LABEL.top + rows * step];
  const at = ({ layer, head }: Cell) => ({ x: LABEL.left + head * step, y: LABEL.top + layer * step });
  const number = (x: number, y: number, text: number, anchor: string): SVGElement =>
    s("text", { x, y, dy: "0.35em", "text-anchor": anchor, class: "axis" }, String(text));
  const across = spaced(payload.heads, step, 20).map(([i, head]) =>
    number(LABEL.left + i * step + size / 2, 7, head, "middle"),
  );
  const down = spaced(payload.layers, step, 13).map(([i, layer]) =>
    number(LABEL.left - 8, LABEL.top + i * step + size / 2, layer, "end"),
  );
  return {
    size,
    width,
    cell: (cell: Cell, attributes: Attributes): SVGRectElement =>
      s("rect", { ...at(cell), width: size, height: size, ...attributes }),
    letter: (cell: Cell, attributes: Attributes, text: string): SVGTextElement => {
      const { x, y } = at(cell);
      return s("text", { x: x + size / 2, y: y + size / 2, dy: "0.35em", ...attributes }, text);
    },
    drawing: (attributes: Attributes, ...marks: Child[]): SVGSVGElement =>
      s(
        "svg",
        { width, height, viewBox: `0 0 ${width} ${height}`, "data-export": "yes", ...attributes },
        ...across,
        ...down,
        ...marks,
      ),
  };
}
