// A measure of every head: layers down, heads across.

import { css, inkOn, type Theme } from "../color";
import { clamp, fit, h } from "../dom";
import type { Pen } from "../explorer/canvas";
import { painters } from "../explorer/export";
import { weight } from "../format";
import { type Cell, type Figures, type Measure, same } from "./figures";
import type { Component, Host } from "./host";
import { figureTip } from "./tip";

export interface GridProps {
  figures: Figures;
  measure: Measure;
  cell: Cell;
  theme: Theme;
  width: number;
}

const LABEL = { left: 30, top: 18 };
const FONT = 'Inter, -apple-system, "Segoe UI", system-ui, Arial, sans-serif';

/** Cell size and gap for so many rows and columns in so much room. */
export function layout(rows: number, columns: number, width: number, height: number, largest: number): { size: number; gap: number } {
  const size = Math.min(largest, (width + 2) / columns, (height + 2) / rows);
  const gap = size >= 24 ? 4 : size >= 14 ? 3 : size >= 8 ? 2 : 1;
  return { size: Math.max(2, Math.floor(size) - gap), gap };
}

/** Paint every cell of a measure; what has no value stays empty. */
export function paintCells(
  context: Pen,
  { figures, measure, theme }: Pick<GridProps, "figures" | "measure" | "theme">,
  { size, gap }: { size: number; gap: number },
  [left, top]: readonly [number, number],
): void {
  for (const cell of figures.cells) {
    const value = measure.value(cell);
    if (!Number.isFinite(value)) continue;
    context.fillStyle = css(measure.pixel(value, theme));
    context.fillRect(left + cell.head * (size + gap), top + cell.layer * (size + gap), size, size);
  }
}

export class Grid implements Component<GridProps> {
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly ring = h("div.ring");
  private readonly hover = h("div.ring.hov", { hidden: true });
  private readonly root = h("div.grid", { tabindex: 0, role: "application" }, this.canvas, this.hover, this.ring);
  private box = { size: 0, gap: 0 };

  constructor(
    element: HTMLElement,
    private props: GridProps,
    private readonly host: Host,
  ) {
    element.append(this.root);
    this.root.addEventListener("pointermove", (event) => this.move(event));
    this.root.addEventListener("pointerleave", () => this.leave());
    this.root.addEventListener("click", (event) => {
      const cell = this.at(event);
      if (cell) host.open(cell);
    });
    this.draw();
  }

  update(props: Partial<GridProps>): void {
    const before = this.props;
    this.props = { ...before, ...props };
    const { measure, theme, width, figures } = this.props;
    const redraw = measure !== before.measure || theme !== before.theme || width !== before.width || figures !== before.figures;
    if (redraw) this.draw();
    else this.select();
  }

  destroy(): void {
    this.root.remove();
  }

  private draw(): void {
    const { figures, measure, width } = this.props;
    this.box = layout(figures.rows, figures.columns, width - LABEL.left, 560, 48);
    const step = this.box.size + this.box.gap;
    const size = [LABEL.left + figures.columns * step, LABEL.top + figures.rows * step] as const;
    const context = fit(this.canvas, ...size);
    this.root.style.width = `${size[0]}px`;
    this.root.style.height = `${size[1]}px`;
    const paint = (pen: Pen): void => {
      paintCells(pen, this.props, this.box, [LABEL.left, LABEL.top]);
      this.labels(pen, step);
      if (this.box.size >= 30) this.numbers(pen, step);
    };
    paint(context);
    painters.set(this.canvas, paint);
    this.root.setAttribute("aria-label", `Heat map of ${measure.info.title}, layers by heads. Arrow keys move between heads.`);
    this.select();
  }

  private labels(context: Pen, step: number): void {
    const { figures } = this.props;
    context.font = `500 11px ${FONT}`;
    context.fillStyle = getComputedStyle(this.root).getPropertyValue("--ink3");
    context.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(20 / step));
    const everyRow = Math.max(1, Math.ceil(13 / step));
    context.textAlign = "center";
    for (let head = 0; head < figures.columns; head += every) {
      context.fillText(String(figures.payload.heads[head]), LABEL.left + head * step + this.box.size / 2, 7);
    }
    context.textAlign = "right";
    for (let layer = 0; layer < figures.rows; layer += everyRow) {
      context.fillText(String(figures.payload.layers[layer]), LABEL.left - 9, LABEL.top + layer * step + this.box.size / 2 + 0.5);
    }
  }

  private numbers(context: Pen, step: number): void {
    const { figures, measure, theme } = this.props;
    const write = (value: number): string => (measure.isShare ? weight(value) : value.toFixed(value >= 10 ? 0 : 1));
    context.font = `500 9.5px ${FONT}`;
    context.textAlign = "center";
    for (const cell of figures.cells) {
      const value = measure.value(cell);
      if (!Number.isFinite(value)) continue;
      context.fillStyle = inkOn(measure.pixel(value, theme));
      const [x, y] = [LABEL.left + cell.head * step, LABEL.top + cell.layer * step];
      context.fillText(write(value), x + this.box.size / 2, y + this.box.size / 2 + 0.5);
    }
  }

  private select(): void {
    this.put(this.ring, this.props.cell);
  }

  private put(ring: HTMLElement, cell: Cell | null): void {
    const { size, gap } = this.box;
    ring.hidden = !cell;
    if (!cell) return;
    const [x, y] = [LABEL.left + cell.head * (size + gap), LABEL.top + cell.layer * (size + gap)];
    ring.style.cssText = `transform:translate(${x}px,${y}px);width:${size}px;height:${size}px`;
  }

  private at(event: MouseEvent): Cell | null {
    const bounds = this.root.getBoundingClientRect();
    const step = this.box.size + this.box.gap;
    const column = (event.clientX - bounds.left - LABEL.left) / step;
    const row = (event.clientY - bounds.top - LABEL.top) / step;
    const { figures } = this.props;
    if (column < 0 || row < 0 || column >= figures.columns || row >= figures.rows) return null;
    const cell = {
      layer: clamp(Math.floor(row), 0, figures.rows - 1),
      head: clamp(Math.floor(column), 0, figures.columns - 1),
    };
    return figures.exists(cell) ? cell : null;
  }

  private move(event: PointerEvent): void {
    const cell = this.at(event);
    this.put(this.hover, cell && !same(cell, this.props.cell) ? cell : null);
    this.root.style.cursor = cell ? "pointer" : "default";
    const { figures, measure } = this.props;
    this.host.tip(cell ? figureTip(figures, measure, cell) : null, event.clientX, event.clientY);
  }

  private leave(): void {
    this.put(this.hover, null);
    this.host.tip(null);
  }
}
