// The open head as a matrix, from (rows) by to (columns): small beside the grid, or large with tokens and zoom.

import { ratio, surface } from "../draw/canvas";
import { drawMarks, paintCells } from "../draw/matrixdraw";
import { widest } from "../draw/tokens";
import type { Shown } from "../scene/cut";
import { clamp } from "../scene/format";
import { concerns, ofOpen } from "../scene/gold";
import { Of } from "../scene/made";
import { CELL, cellOf, LABELLED, moved, windowSaid, within, type Zoom, zoomed } from "../scene/matrixlayout";
import type { Scene } from "../scene/scene";
import { type Heeds, valuesOf } from "../scene/state";
import { clickedCell } from "./between";
import { arrow, h, keyed, listen, touched, wheeled, zooms } from "./dom";
import { pairTip } from "./head";
import { tokenText } from "./tokens";

export class Matrix {
  static readonly heeds = { update: ["gold", "zoom"] } as const satisfies Heeds;
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly over = h("canvas.ov", { tabindex: -1 });
  private readonly box = h("div.mbox", this.canvas, this.over);
  private readonly title = h("h3", { "aria-level": 2 });
  private readonly rows = h("div.mrows");
  private readonly columns = h("div.mcols");
  private readonly frame = h("div.mframe", this.columns, this.rows);
  private readonly tools = h("div.mtools", { "data-export": "no" });
  private readonly note = h("span.dim");
  private readonly ends = h("figcaption", h("span", "from ↓"), h("span", "to →"));
  readonly root: HTMLElement;
  size = 300;
  private readonly drawn = new Of();
  private readonly focused = new Of();
  private zoom: Zoom = [0, 1, 0, 1];
  private wide = 0;
  private tall = 0;
  private drag: { x: number; y: number; zoom: Zoom; moved: boolean } | null = null;

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
    private readonly large = true,
  ) {
    this.tools.append(
      zooms(1.5, (factor) => this.step(factor)),
      h("button.link", { onclick: () => scene.owner.set({ zoom: null }) }, "all of it"),
      this.note,
    );
    this.root = large
      ? h("figure.matrix.big", this.tools, this.frame, this.ends)
      : h("figure.matrix", this.title, this.box, this.ends);
    if (large) this.frame.append(this.box);
    element.append(this.root);
    listen(this.over, {
      pointermove: (event) => this.move(event),
      pointerleave: () => scene.leave(),
      pointerdown: (event) => {
        if (!large) return;
        this.drag = { x: event.clientX, y: event.clientY, zoom: this.zoom, moved: false };
        this.over.setPointerCapture(event.pointerId);
      },
      pointerup: (event) => {
        const dragged = this.drag?.moved;
        this.drag = null;
        if (dragged) return;
        this.choose(event);
        this.move(event); // the pair's numbers stay
      },
      dblclick: (event) => {
        const { row, column } = this.at(event);
        if (large) this.step(0.5, row, column);
      },
    });
    if (large) {
      wheeled(this.over, (factor, event) => {
        const { row, column } = this.at(event);
        this.step(factor, row, column);
      });
      this.over.setAttribute("role", "application");
      this.over.tabIndex = 0;
      keyed(this.over, (event) => this.key(event));
      this.over.addEventListener("blur", () => scene.leave());
    }
  }

  // The row of a cell is pinned, or its pair chosen.
  private choose(event: MouseEvent): void {
    const { row, column } = this.at(event);
    this.scene.owner.choose(this.scene, clickedCell(this.scene.pinned, row, column));
  }

  // From pair to pair by keyboard; Enter pins the row, and in a pinned row it chooses the pair.
  private key(event: KeyboardEvent): boolean {
    const { scene, zoom } = this;
    const { hovered } = scene;
    const [row, column] = [hovered?.from ?? zoom[0], hovered?.to ?? zoom[2]];
    const move = arrow(event);
    if (event.key === "Enter") scene.owner.choose(scene, clickedCell(scene.pinned, row, column));
    else if (!move) return false;
    else {
      const [down, right] = hovered ? move : [0, 0];
      const to = {
        from: clamp(row + down, zoom[0], zoom[0] + zoom[1] - 1),
        to: clamp(column + right, zoom[2], zoom[2] + zoom[3] - 1),
      };
      scene.owner.hover(scene, to);
      const bounds = this.over.getBoundingClientRect();
      scene.owner.tip(pairTip(scene, to.from, to.to), {
        clientX: bounds.left + ((to.to + 1 - zoom[2]) / zoom[3]) * this.wide,
        clientY: bounds.top + ((to.from + 1 - zoom[0]) / zoom[1]) * this.tall,
      });
    }
    return true;
  }

  /** Closer or farther, about a cell or the middle. */
  step(factor: number, row?: number, column?: number): void {
    const map = this.map;
    if (!map) return;
    const [r, c] = [row ?? this.zoom[0] + this.zoom[1] / 2, column ?? this.zoom[2] + this.zoom[3] / 2];
    this.scene.owner.set({ zoom: zoomed(this.zoom, factor, r, c, map.rows, map.columns) });
  }

  private get map(): Shown | undefined {
    return this.scene.shown().at(-1);
  }

  update({ width, tall: height }: { readonly width: number; readonly tall: number }): void {
    const { scene } = this;
    const map = this.map;
    if (!map) return;
    const looks = [scene.owner.theme, ratio(), ...valuesOf(scene.state, Matrix.heeds.update)];
    if (!this.drawn.renewed(scene.shown(), width, height, ...looks)) {
      if (this.focused.stale(scene.focus)) this.focus();
      return;
    }
    this.zoom = within(this.large ? scene.state.zoom : null, map.rows, map.columns);
    const [, rows, , columns] = this.zoom;
    let [left, top] = [0, 0];
    if (this.large) {
      const label = clamp(Math.ceil(widest(scene.rows.items, scene.columns.items)) + 12, 40, 120);
      [left, top] = [label, label];
    }
    const cell = cellOf(this.zoom, map, width - left, height - top, this.large ? CELL : Infinity);
    [this.wide, this.tall] = [Math.max(1, Math.round(columns * cell)), Math.max(1, Math.round(rows * cell))];
    this.size = this.wide;
    this.title.textContent = `${scene.name(map.head)} as a matrix`;
    if (this.large)
      this.over.setAttribute(
        "aria-label",
        `${this.title.textContent}, from ${map.rows} tokens to ${map.columns}. Arrow keys move from pair to pair, Enter pins the row, and again ranks all heads by the pair.`,
      );
    const context = surface(this.canvas, this.wide, this.tall);
    const image = context.createImageData(this.canvas.width, this.canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    paintCells(pixels, this.canvas.width, this.canvas.height, scene, map, this.zoom);
    context.putImageData(image, 0, 0);
    this.ends.style.width = `${left + this.wide}px`;
    if (this.large) this.labels(cell, left, top);
    this.focus();
  }

  private labels(cell: number, left: number, top: number): void {
    const { scene, zoom } = this;
    const every = Math.max(1, Math.ceil(LABELLED / cell));
    const lay = (
      items: readonly Scene["rows"]["items"][number][],
      first: number,
      count: number,
      style: (at: number) => string,
    ): HTMLElement[] => {
      const found: HTMLElement[] = [];
      for (let at = 0; at < count; at += every) {
        const item = items[first + at];
        if (item)
          found.push(
            h(
              item.special ? "div.mtok.sp" : "div.mtok",
              { style: style(at), "data-i": first + at },
              tokenText(item, scene.input.picture),
            ),
          );
      }
      return found;
    };
    const tall = Math.max(cell, LABELLED);
    this.rows.style.cssText = `width:${left}px;top:${top}px;height:${this.tall}px`;
    this.columns.style.cssText = `height:${top}px;left:${left}px;width:${this.wide}px`;
    this.rows.replaceChildren(
      ...lay(
        scene.rows.items,
        zoom[0],
        zoom[1],
        (at) => `top:${at * cell}px;height:${tall}px;line-height:${tall}px;width:${left - 4}px`,
      ),
    );
    this.columns.replaceChildren(
      ...lay(
        scene.columns.items,
        zoom[2],
        zoom[3],
        (at) => `left:${at * cell}px;width:${tall}px;line-height:${tall}px;height:${top - 4}px`,
      ),
    );
    this.frame.style.padding = `${top}px 0 0 ${left}px`;
    const map = this.map!;
    const all = zoom[1] === map.rows && zoom[3] === map.columns;
    this.note.textContent = all
      ? `${map.rows} × ${map.columns}. ${touched() ? "+ comes closer." : "Double-click, + or ctrl and the wheel come closer."}`
      : `${windowSaid(zoom, map)}. Drag to move.`;
  }

  focus(): void {
    const { scene, zoom, wide, tall } = this;
    const { focus } = scene;
    this.focused.renewed(focus);
    const links =
      this.large || !focus
        ? scene.judged()
        : scene.judged().filter(({ gold }) => concerns(gold, { from: focus.from, to: null }));
    drawMarks(surface(this.over, wide, tall), scene, zoom, wide, tall, links.map(ofOpen));
    for (const [element, place] of [
      [this.rows, focus?.from],
      [this.columns, focus?.to],
    ] as const) {
      element.querySelector(".on")?.classList.remove("on");
      if (place != null) element.querySelector(`[data-i="${place}"]`)?.classList.add("on");
    }
  }

  private at(event: MouseEvent): { row: number; column: number } {
    const bounds = this.over.getBoundingClientRect();
    const [r, c] = [
      ((event.clientY - bounds.top) / this.tall) * this.zoom[1],
      ((event.clientX - bounds.left) / this.wide) * this.zoom[3],
    ];
    return {
      row: this.zoom[0] + clamp(Math.floor(r), 0, this.zoom[1] - 1),
      column: this.zoom[2] + clamp(Math.floor(c), 0, this.zoom[3] - 1),
    };
  }

  private move(event: PointerEvent): void {
    const { scene, drag } = this;
    const map = this.map;
    if (drag && map && (drag.moved || Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4)) {
      drag.moved = true;
      const down = ((drag.y - event.clientY) / this.tall) * drag.zoom[1];
      const right = ((drag.x - event.clientX) / this.wide) * drag.zoom[3];
      if (scene.state.zoom) scene.owner.set({ zoom: moved(drag.zoom, down, right, map.rows, map.columns) });
      return;
    }
    const { row, column } = this.at(event);
    scene.owner.hover(scene, { from: row, to: column });
    scene.owner.tip(pairTip(scene, row, column), event);
  }
}
