// Canvases at the screen's own resolution, and images of matrices.

/** What pictures are drawn with: a canvas, or a recorder that writes SVG. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "globalAlpha"
  | "fillStyle"
  | "strokeStyle"
  | "lineWidth"
  | "font"
  | "textAlign"
  | "textBaseline"
  | "beginPath"
  | "moveTo"
  | "lineTo"
  | "bezierCurveTo"
  | "arc"
  | "fill"
  | "stroke"
  | "fillRect"
  | "strokeRect"
  | "fillText"
>;

export const FONT = 'Inter, -apple-system, "Segoe UI", system-ui, Arial, sans-serif';

/** How the text that follows stands: a font such as "500 11px", and where its place is. */
export function lettering(
  pen: Pen,
  font: string,
  align: CanvasTextAlign = "left",
  baseline: CanvasTextBaseline = "middle",
): void {
  pen.font = `${font} ${FONT}`;
  [pen.textAlign, pen.textBaseline] = [align, baseline];
}

export function area(pen: Pen, color: string, x: number, y: number, width: number, height: number): void {
  pen.fillStyle = color;
  pen.fillRect(x, y, width, height);
}

/** A curve whose ends are level; its control points stand at `bend` of the way across. */
export function curve(pen: Pen, x0: number, y0: number, x1: number, y1: number, bend: number): void {
  const reach = (x1 - x0) * bend;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.bezierCurveTo(x0 + reach, y0, x1 - reach, y1, x1, y1);
  pen.stroke();
}

export function write(pen: Pen, color: string, text: string, x: number, y: number): void {
  pen.fillStyle = color;
  pen.fillText(text, x, y);
}

let paper = false;

/** Draw for paper, or for the screen again. */
export function forPaper(on: boolean): void {
  paper = on;
}

/** Device pixels a CSS pixel, 1 to 2: more is not seen and costs time. Paper, and where no window is, has all of them. */
export const ratio = (): number =>
  paper || typeof window === "undefined" ? 2 : Math.min(2, Math.max(1, window.devicePixelRatio || 1));

/** A canvas of this size in CSS pixels, cleared; its context draws in CSS pixels. */
export function surface(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  scale = ratio(),
): CanvasRenderingContext2D {
  const [w, h] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser gives no 2D canvas");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.globalAlpha = 1;
  context.clearRect(0, 0, width, height);
  return context;
}

/** Pixels to write, as little-endian RGBA. */
interface Pixels {
  readonly data: Uint32Array;
  readonly stride: number;
}

/** A window of a matrix of codes: rows and columns of `codes`, which has `width` columns. */
export interface Window {
  readonly codes: Uint8Array;
  readonly width: number;
  readonly row: number;
  readonly rows: number;
  readonly column: number;
  readonly columns: number;
}

export const whole = (codes: Uint8Array, rows: number, columns: number): Window => ({
  codes,
  width: columns,
  row: 0,
  rows,
  column: 0,
  columns,
});

/** Paint a matrix into w × h pixels at (x, y): the nearest when enlarging, the strongest when shrinking. */
export function paint(
  to: Pixels,
  x: number,
  y: number,
  w: number,
  h: number,
  from: Window,
  lut: Uint32Array,
  sign: Int8Array | null = null,
): void {
  const { codes, width, rows, columns } = from;
  const [first, last] = [new Uint16Array(w), new Uint16Array(w)];
  for (let i = 0; i < w; i++) {
    first[i] = from.column + Math.floor((i * columns) / w);
    last[i] = Math.max(first[i]! + 1, from.column + (columns > w ? Math.floor(((i + 1) * columns) / w) : 0));
  }
  let before = -1;
  for (let j = 0; j < h; j++) {
    const at = (y + j) * to.stride + x;
    const r0 = from.row + Math.floor((j * rows) / h);
    const r1 = Math.max(r0 + 1, from.row + (rows > h ? Math.floor(((j + 1) * rows) / h) : 0));
    if (r0 === before && r1 === r0 + 1) {
      to.data.copyWithin(at, at - to.stride, at - to.stride + w);
      continue;
    }
    before = r1 === r0 + 1 ? r0 : -1;
    if (before >= 0 && columns <= w) {
      // One cell a pixel: no largest to look for.
      const row = r0 * width;
      if (sign)
        for (let i = 0; i < w; i++)
          to.data[at + i] = lut[signedIndex(codes[row + first[i]!]!, sign[row + first[i]!]!)]!;
      else for (let i = 0; i < w; i++) to.data[at + i] = lut[codes[row + first[i]!]!]!;
      continue;
    }
    for (let i = 0; i < w; i++) {
      const c0 = first[i]!;
      const c1 = last[i]!;
      let most = 0;
      let where = r0 * width + c0;
      for (let r = r0, start = r0 * width; r < r1; r++, start += width) {
        for (let c = start + c0, end = start + c1; c < end; c++) {
          if (codes[c]! > most) {
            most = codes[c]!;
            where = c;
          }
        }
      }
      to.data[at + i] = sign ? lut[signedIndex(most, sign[where]!)]! : lut[most]!;
    }
  }
}

/** The place in a diverging palette of a code and its sign. */
export const signedIndex = (code: number, sign: number): number => (sign < 0 ? 127 - (code >> 1) : 128 + (code >> 1));

/** Pixels, [row column] as little-endian RGBA, on a canvas of their own. */
export function canvasOf(pixels: Uint32Array, width: number): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, pixels.length / width];
  const bytes = new Uint8ClampedArray(pixels.buffer as ArrayBuffer);
  canvas.getContext("2d")?.putImageData(new ImageData(bytes, width), 0, 0);
  return canvas;
}

/** Paint a whole palette across a canvas. */
export const strip = (canvas: HTMLCanvasElement, lut: Uint32Array, width: number, height: number): void =>
  surface(canvas, width, height).drawImage(canvasOf(lut, lut.length), 0, 0, width, height);
