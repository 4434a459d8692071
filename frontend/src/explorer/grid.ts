// Every head as a thumbnail, layers down, heads across: one canvas, and a ring that a click moves.

import { PALETTES } from "../color";
import { h } from "../dom";
import { figure } from "../format";
import type { MeasureColumn } from "../protocol";
import { FONT, paint, ratio, surface, whole } from "./canvas";
import { type Box, box, LINES_UP_TO, places } from "./gridlayout";
import type { Scene } from "./scene";
import { lineSegments, type Thumb, Thumbs } from "./thumbs";

export type GridKind = "beside" | "large" | "mini";

export class Grid {
  readonly canvas = h("canvas", { role: "application", tabindex: 0, "aria-roledescription": "grid of heads" });
  private readonly ring = h("div.ring");
  private readonly hover = h("div.ring.hov", { hidden: true });
  private readonly top = h("div.collabels");
  private readonly left = h("div.rowlabels");
  readonly root = h("div.gridbox", {}, this.top, this.left, this.canvas, this.hover, this.ring);
  private readonly thumbs: Thumbs;
  private box!: Box;
  private order: { layer: number; head: number }[] = [];
  private job = 0;
  private drawn = "";
  kind: GridKind = "beside";
  width = 400;
  /** The last drawing is complete. */
  done = true;

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    this.thumbs = new Thumbs(scene);
    element.append(this.root);
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("click", (event) => {
      const cell = this.at(event);
      if (cell) scene.owner.open(cell.layer, cell.head, event.shiftKey);
    });
  }

  get height(): number {
    return this.box.height;
  }

  get pixelWidth(): number {
    return this.box.width;
  }

  get measure(): MeasureColumn | undefined {
    return this.scene.part.measures.find((measure) => measure.name === this.scene.state.measure);
  }

  get lines(): boolean {
    const { draw } = this.scene.state;
    if (this.kind === "mini" || this.scene.against) return false;
    return draw === "lines" || (draw === "auto" && Math.max(this.scene.part.query.pieces.length, this.scene.part.key.pieces.length) <= LINES_UP_TO);
  }

  missing(): Promise<void>[] {
    return this.thumbs.missing();
  }

  /** Draw what has changed; a moved selection only moves the ring. */
  update(width: number, kind: GridKind, room: number): void {
    const { state, part, owner } = this.scene;
    [this.width, this.kind] = [width, kind];
    const sorted = state.sort && !!this.measure && kind !== "mini";
    const noted = !!this.measure && kind !== "mini";
    this.box = box({ layers: part.index.length, heads: this.columns.length, width, kind, room, noted, sorted });
    const key = [width, kind, room, owner.theme, this.lines, state.measure, sorted, state.least, state.filter, state.special, state.unit, state.part, state.quantity, state.renormalise, this.scene.place, ratio()].join("|");
    if (key !== this.drawn) {
      this.drawn = key;
      this.order = places(this.scene, sorted ? this.measure : undefined);
      this.labels(sorted);
      this.draw();
    }
    this.mark();
  }

  /** The heads that any layer has, by the model's own indices. */
  private get columns(): number[] {
    return [...new Set(this.scene.part.heads.flat())].sort((a, b) => a - b);
  }

  private labels(sorted: boolean): void {
    const { box, kind } = this;
    this.root.classList.toggle("mini", kind === "mini");
    this.root.style.cssText = `width:${box.width}px;height:${box.height}px`;
    this.canvas.style.left = `${box.gutter}px`;
    this.canvas.style.top = `${box.top}px`;
    const every = box.step < 15 ? 2 : 1;
    this.top.replaceChildren(
      ...(sorted ? [] : this.columns.map((head, i) => h("span", { style: `left:${box.gutter + i * box.step}px;width:${box.cell}px`, "data-head": head }, i % every ? "" : String(head)))),
    );
    this.left.replaceChildren(
      ...(sorted ? [] : this.scene.part.index.map((layer, i) => h("span", { style: `top:${box.top + i * box.down}px;height:${box.cell}px;width:${box.gutter - (kind === "mini" ? 5 : 10)}px`, "data-layer": layer }, box.down < 11 && i % 2 ? "" : String(layer)))),
    );
  }

  /** Where the cell at a place of the order stands, from the canvas' corner. */
  private corner(place: number): [number, number] {
    const across = this.columns.length;
    return [(place % across) * this.box.step, Math.floor(place / across) * this.box.down];
  }

  private draw(): void {
    const { scene, box, order } = this;
    const { theme } = scene.owner;
    const context = surface(this.canvas, box.width - box.gutter, box.height - box.top);
    const scale = ratio();
    const job = ++this.job;
    this.done = false;
    const { measure } = this;
    const figures = measure && this.kind !== "mini" ? order.map(({ layer, head }) => scene.data.figure(scene.part, measure, layer, head)) : null;
    const most = Math.max(1e-9, ...(figures ?? []).filter(Number.isFinite));
    const thumbs = order.map(({ layer, head }) => (head < 0 ? null : this.thumbs.get(layer, head)));
    if (!this.lines) {
      const image = context.createImageData(this.canvas.width, this.canvas.height);
      const pixels = { data: new Uint32Array(image.data.buffer), stride: this.canvas.width };
      const side = Math.round(box.cell * scale);
      const palette = PALETTES[theme];
      thumbs.forEach((thumb, place) => {
        if (!thumb) return;
        const [x, y] = this.corner(place);
        paint(pixels, Math.round(x * scale), Math.round(y * scale), side, side, whole(thumb.codes, thumb.rows, thumb.columns), thumb.sign ? palette.diverging : palette.sequential, thumb.sign);
      });
      context.putImageData(image, 0, 0);
    }
    const paper = scene.owner.ink("--panel");
    const one = (place: number): void => {
      const { layer, head } = order[place]!;
      const thumb = thumbs[place];
      if (head < 0) return;
      const [x, y] = this.corner(place);
      if (this.lines && thumb) {
        context.fillStyle = paper;
        context.fillRect(x, y, box.cell, box.cell);
        this.strokes(context, thumb, x, y);
      }
      if (figures) this.note(context, x, y, layer, head, figures[place]!, most);
    };
    let next = 0;
    const chunk = (): void => {
      if (job !== this.job) return;
      const from = performance.now();
      while (next < order.length && performance.now() - from < 12) one(next++);
      if (next < order.length) requestAnimationFrame(chunk);
      else this.done = true;
    };
    if (this.lines || figures) chunk();
    else this.done = true;
  }

  // The three strongest of each row in eight opacity classes, weakest first.
  private strokes(context: CanvasRenderingContext2D, thumb: Thumb, x: number, y: number): void {
    const { cell } = this.box;
    const [pad, room] = [3, cell - 6];
    context.lineWidth = ratio() > 1 ? 1 / ratio() : 0.75;
    lineSegments(thumb).forEach((list, level) => {
      if (list.length === 0) return;
      context.strokeStyle = this.scene.accent;
      context.globalAlpha = 0.08 + 0.92 * (level / 7) ** 1.6;
      context.beginPath();
      for (let i = 0; i < list.length; i += 2) {
        context.moveTo(x + pad, y + pad + ((list[i]! + 0.5) / thumb.rows) * room);
        context.lineTo(x + cell - pad, y + pad + ((list[i + 1]! + 0.5) / thumb.columns) * room);
      }
      context.stroke();
    });
    context.globalAlpha = 1;
  }

  private note(context: CanvasRenderingContext2D, x: number, y: number, layer: number, head: number, found: number, most: number): void {
    const { box, scene } = this;
    const { ink } = scene.owner;
    if (found < scene.state.least || !Number.isFinite(found)) {
      context.globalAlpha = 0.86;
      context.fillStyle = ink("--bg");
      context.fillRect(x - 0.5, y - 0.5, box.cell + 1, box.cell + 1);
      context.globalAlpha = 1;
      if (!Number.isFinite(found)) return;
    }
    context.fillStyle = ink("--track");
    context.fillRect(x, y + box.cell + 2, box.cell, 2);
    context.fillStyle = scene.accent;
    context.fillRect(x, y + box.cell + 2, (box.cell * Math.max(0, found)) / most, 2);
    context.font = `500 9.5px ${FONT}`;
    context.textBaseline = "alphabetic";
    context.fillStyle = ink("--ink2");
    context.textAlign = "left";
    const text = found.toFixed(2).replace(/^0(?=\.)/, "");
    const named = scene.state.sort && box.cell > 40;
    if (named) context.fillText(`L${layer}H${head}`, x, y + box.cell + 14);
    if (named) context.textAlign = "right";
    if (box.cell > 26) context.fillText(text, named ? x + box.cell : x, y + box.cell + 14);
  }

  private set(ring: HTMLElement, place: number): void {
    const [x, y] = this.corner(place);
    ring.style.transform = `translate(${this.box.gutter + x}px,${this.box.top + y}px)`;
    ring.style.width = ring.style.height = `${this.box.cell}px`;
  }

  private mark(): void {
    const { scene } = this;
    const { layer } = scene.state;
    this.canvas.setAttribute("aria-label", `Attention of ${scene.part.index.length} layers by ${this.columns.length} heads. ${scene.name(scene.head)} is open. Arrow keys move to the next head or layer, Enter comes closer.`);
    const find = (head: number): number => this.order.findIndex((cell) => cell.layer === layer && cell.head === head);
    this.set(this.ring, find(scene.head));
    this.root.querySelectorAll(".also").forEach((ring) => ring.remove());
    for (const head of scene.heads.slice(0, -1)) {
      const ring = h("div.ring.also");
      this.set(ring, find(head));
      this.root.append(ring);
    }
    for (const span of this.top.children as Iterable<HTMLElement>) span.classList.toggle("on", scene.heads.includes(Number(span.dataset.head)));
    for (const span of this.left.children as Iterable<HTMLElement>) span.classList.toggle("on", Number(span.dataset.layer) === layer);
  }

  private at(event: PointerEvent | MouseEvent): { layer: number; head: number; place: number } | null {
    const bounds = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const [column, row] = [Math.floor(x / this.box.step), Math.floor(y / this.box.down)];
    const place = row * this.columns.length + column;
    const cell = this.order[place];
    if (x % this.box.step > this.box.cell || column >= this.columns.length || !cell || cell.head < 0) return null;
    return { ...cell, place };
  }

  private move(event: PointerEvent): void {
    const { scene } = this;
    const cell = this.at(event);
    if (!cell) return this.leave();
    this.hover.hidden = false;
    this.set(this.hover, cell.place);
    const figures = scene.part.measures.filter((measure) => measure.of === "input" || measure.name === scene.state.measure);
    const row = (measure: MeasureColumn): HTMLElement =>
      h("tr", {}, h("td", {}, measure.title), h("td.n", {}, `${figure(scene.data.figure(scene.part, measure, cell.layer, cell.head), 2)}${measure.units === "share" ? "" : ` ${measure.units}`}`));
    scene.owner.tip(
      h("div", {}, h("b", {}, `L${cell.layer}H${cell.head}`), h("table", {}, ...figures.map(row)), h("div.dim", {}, "click opens, shift-click adds")),
      event.clientX,
      event.clientY,
    );
  }

  private leave(): void {
    this.hover.hidden = true;
    this.scene.owner.tip(null);
  }

  destroy(): void {
    this.job++;
    this.root.remove();
  }
}

