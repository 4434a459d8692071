// One head as a matrix: from (rows) by to (columns), with the tokens' names where they have room.

import { PALETTES, type Theme } from "./color";
import type { HeadMap } from "./data";
import { clamp, fit, h, pixelRatio } from "./dom";
import { shown } from "./format";
import type { Component } from "./host";

export interface Pair {
  readonly row: number;
  readonly column: number;
}

export interface HeatProps {
  map: HeadMap;
  query: readonly string[];
  key: readonly string[];
  querySequences: readonly number[] | null;
  keySequences: readonly number[] | null;
  theme: Theme;
  /** Room for the whole figure, names included. */
  width: number;
  height: number;
  label: string;
}

const FONT = 'Inter, -apple-system, "Segoe UI", system-ui, Arial, sans-serif';
const SMALLEST = 7.5;

/** Paint a matrix of codes as w × h pixels: nearest when enlarging, the maximum when shrinking. */
export function paint(codes: Uint8Array, rows: number, columns: number, lut: Uint32Array, w: number, hgt: number): Uint32Array<ArrayBuffer> {
  const pixels = new Uint32Array(w * hgt);
  for (let y = 0; y < hgt; y++) {
    const r0 = Math.floor((y * rows) / hgt);
    const r1 = Math.max(r0 + 1, rows > hgt ? Math.floor(((y + 1) * rows) / hgt) : 0);
    for (let x = 0; x < w; x++) {
      const c0 = Math.floor((x * columns) / w);
      const c1 = Math.max(c0 + 1, columns > w ? Math.floor(((x + 1) * columns) / w) : 0);
      let most = 0;
      for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) most = Math.max(most, codes[r * columns + c] ?? 0);
      pixels[y * w + x] = lut[most] ?? 0;
    }
  }
  return pixels;
}

export class HeatMap implements Component<HeatProps> {
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly over = h("canvas.over", { "aria-hidden": "true" });
  private readonly root = h("div.heat", { tabindex: 0, role: "application" }, this.canvas, this.over);
  private pair: Pair | null = null;
  private box = { left: 0, top: 0, width: 0, height: 0 };

  constructor(
    element: HTMLElement,
    private props: HeatProps,
    private readonly pointed: (pair: Pair | null) => void,
  ) {
    element.append(this.root);
    this.root.addEventListener("pointermove", (event) => this.point(this.at(event)));
    this.root.addEventListener("pointerdown", (event) => this.point(this.at(event)));
    this.root.addEventListener("pointerleave", () => this.point(null));
    this.root.addEventListener("blur", () => this.point(null));
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.draw();
  }

  update(props: Partial<HeatProps>): void {
    this.props = { ...this.props, ...props };
    this.pair = null;
    this.draw();
  }

  destroy(): void {
    this.root.remove();
  }

  private draw(): void {
    const { map, theme, width, height, label } = this.props;
    this.box = this.place();
    const { left, top, width: wide, height: high } = this.box;
    const context = fit(this.canvas, left + wide, top + high);
    fit(this.over, left + wide, top + high);
    this.root.style.cssText = `width:${left + wide}px;height:${top + high}px`;
    this.root.setAttribute("aria-label", `${label}. Arrow keys move between pairs of tokens.`);
    if (width <= 0 || height <= 0 || map.rows === 0 || map.columns === 0) return;
    const ratio = pixelRatio();
    const [w, hgt] = [Math.round(wide * ratio), Math.round(high * ratio)];
    const pixels = paint(map.codes, map.rows, map.columns, PALETTES[theme].sequential, w, hgt);
    const image = new ImageData(new Uint8ClampedArray(pixels.buffer), w, hgt);
    context.putImageData(image, Math.round(left * ratio), Math.round(top * ratio));
    this.rules(context);
    this.names(context);
    this.overlay();
  }

  // Cells are as square as the tokens allow; the gutters hold names when a row has room for one.
  private place(): typeof this.box {
    const { map, query, key, width, height } = this.props;
    const cell = Math.min(26, width / map.columns, height / map.rows);
    const wanted = cell >= SMALLEST;
    const context = this.canvas.getContext("2d");
    if (!wanted || !context) {
      const size = Math.min(width / map.columns, height / map.rows);
      return { left: 0, top: 0, width: Math.floor(size * map.columns), height: Math.floor(size * map.rows) };
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.font = `400 ${this.fontSize(cell)}px ${FONT}`;
    const widest = (pieces: readonly string[]): number =>
      Math.min(84, Math.max(16, ...pieces.map((raw) => context.measureText(shown(raw, false)).width)) + 8);
    const [left, top] = [Math.ceil(widest(query)), Math.ceil(widest(key))];
    const size = Math.min(26, (width - left) / map.columns, (height - top) / map.rows);
    if (size < SMALLEST - 1.5) {
      const bare = Math.min(width / map.columns, height / map.rows);
      return { left: 0, top: 0, width: Math.floor(bare * map.columns), height: Math.floor(bare * map.rows) };
    }
    return { left, top, width: Math.floor(size * map.columns), height: Math.floor(size * map.rows) };
  }

  private fontSize(cell: number): number {
    return clamp(cell * 0.92, 7, 11.5);
  }

  private rules(context: CanvasRenderingContext2D): void {
    const { querySequences, keySequences, map } = this.props;
    const { left, top, width, height } = this.box;
    context.fillStyle = this.color("--line2");
    const breaks = (ids: readonly number[] | null): number[] =>
      (ids ?? []).flatMap((id, i) => (i > 0 && id === 1 && ids?.[i - 1] !== 1 && ids?.slice(0, i).includes(0) ? [i] : []));
    for (const row of breaks(querySequences)) context.fillRect(left, top + (row / map.rows) * height - 0.5, width, 1);
    for (const column of breaks(keySequences)) context.fillRect(left + (column / map.columns) * width - 0.5, top, 1, height);
  }

  private names(context: CanvasRenderingContext2D): void {
    const { query, key, map } = this.props;
    const { left, top, width, height } = this.box;
    if (left === 0) return;
    const [row, column] = [height / map.rows, width / map.columns];
    context.fillStyle = this.color("--ink2");
    context.textBaseline = "middle";
    context.direction = "ltr";
    context.font = `400 ${this.fontSize(row)}px ${FONT}`;
    context.textAlign = "right";
    query.forEach((raw, i) => context.fillText(cut(context, shown(raw, false), left - 6), left - 5, top + (i + 0.5) * row));
    context.font = `400 ${this.fontSize(column)}px ${FONT}`;
    context.textAlign = "left";
    key.forEach((raw, j) => {
      context.save();
      context.translate(left + (j + 0.5) * column, top - 5);
      context.rotate(-Math.PI / 2);
      context.fillText(cut(context, shown(raw, false), top - 6), 0, 0);
      context.restore();
    });
  }

  private at(event: MouseEvent): Pair | null {
    const { map } = this.props;
    const bounds = this.root.getBoundingClientRect();
    const x = (event.clientX - bounds.left - this.box.left) / this.box.width;
    const y = (event.clientY - bounds.top - this.box.top) / this.box.height;
    if (x < 0 || y < 0 || x >= 1 || y >= 1) return null;
    return { row: Math.floor(y * map.rows), column: Math.floor(x * map.columns) };
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const { map } = this.props;
    const { row, column } = this.pair ?? { row: -Number(step[0]! > 0), column: -Number(step[1]! > 0) };
    this.point({ row: clamp(row + step[0]!, 0, map.rows - 1), column: clamp(column + step[1]!, 0, map.columns - 1) });
  }

  private point(pair: Pair | null): void {
    if (pair?.row === this.pair?.row && pair?.column === this.pair?.column) return;
    this.pair = pair;
    this.overlay();
    this.pointed(pair);
  }

  private overlay(): void {
    const { map } = this.props;
    const { left, top, width, height } = this.box;
    const context = fit(this.over, left + width, top + height);
    if (!this.pair) return;
    const [row, column] = [height / map.rows, width / map.columns];
    context.strokeStyle = this.color("--ink");
    context.lineWidth = 1;
    const [x, y] = [left + this.pair.column * column, top + this.pair.row * row];
    context.strokeRect(left + 0.5, Math.round(y) + 0.5, width - 1, Math.max(2, Math.round(row) - 1));
    context.strokeRect(Math.round(x) + 0.5, top + 0.5, Math.max(2, Math.round(column) - 1), height - 1);
  }

  private color(name: string): string {
    return getComputedStyle(this.root).getPropertyValue(name);
  }
}

/** The longest beginning of a text that fits, with an ellipsis. */
function cut(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  const characters = Array.from(text);
  let [low, high] = [0, characters.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (context.measureText(`${characters.slice(0, middle).join("")}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return `${characters.slice(0, low).join("")}…`;
}
