// Every head as a thumbnail, layers down, heads across: one canvas, and a ring that a click moves.

import { area, FONT, paint, ratio, surface, whole } from "../draw/canvas";
import { drawCells, drawThumbLinks } from "../draw/golddraw";
import { drawCell } from "../draw/lanes";
import { inked } from "../draw/spectrogram";
import { imageOf, photo, rasterOf, within } from "../draw/veils";
import type { MeasureColumn } from "../protocol";
import { type Box as Area, WIDE } from "../scene/areas";
import { length } from "../scene/axis";
import { PALETTES } from "../scene/color";
import { SQUARE } from "../scene/data";
import { bare, figure, fixed } from "../scene/format";
import { type Box, box, LINES_UP_TO, places, queue } from "../scene/gridlayout";
import { looksOf, meansOf } from "../scene/rows";
import type { Scene } from "../scene/scene";
import { lineSegments, type Thumb, Thumbs } from "../scene/thumbs";
import { h, touched } from "./dom";
import { AT_ONCE, inSlices } from "./slices";

/** Pixels that each token of a thumbnail must have for gold links to be drawn. */
const ROOM_OF_TOKEN = 2;

/** A cell is at most so many times as tall as wide. */
const TALLEST = 1.6;
/** A cell is so tall for its width where it is a sound. */
const HEARD = 0.6;

export type GridKind = "beside" | "large" | "mini";

export class Grid {
  readonly canvas = h("canvas", { role: "application", tabindex: 0, "aria-roledescription": "grid of heads" });
  private readonly ring = h("div.ring");
  private readonly hover = h("div.ring.hov", { hidden: true });
  private readonly top = h("div.collabels");
  private readonly left = h("div.rowlabels");
  private readonly across = h("div.axisname", {}, "Heads");
  private readonly down = h("div.axisname.down", {}, "Layers");
  readonly root = h("div.gridbox", {}, this.across, this.down, this.top, this.left, this.canvas, this.hover, this.ring);
  /** Of more heads than have room the grid moves sideways in a box of its own. */
  private readonly scroller = h("div.gridscroll", {}, this.root);
  private readonly thumbs: Thumbs;
  private box!: Box;
  private order: { layer: number; head: number }[] = [];
  private job = 0;
  private drawn = "";
  private layout = "";
  /** Where the open head stands: when that changes it is brought into sight. */
  private stood = -1;
  /** The heads that any layer has, by the model's own indices. */
  private columns: number[] = [];
  /** The places that still show what was there before. */
  private readonly veiled = new Set<number>();
  /** The input's picture, where each cell shows it. */
  private image: HTMLImageElement | null = null;
  kind: GridKind = "beside";
  width = 400;
  /** The last drawing is complete. */
  done = true;

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    this.thumbs = new Thumbs(scene);
    element.append(this.scroller);
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
    return (
      draw === "lines" ||
      (draw === "auto" &&
        !this.pictured &&
        Math.max(
          length(this.scene.part.query, this.scene.state.unfolded),
          length(this.scene.part.key, this.scene.state.unfolded),
        ) <= LINES_UP_TO)
    );
  }

  /** Each cell is the input's picture, with what the head looks at. */
  get pictured(): boolean {
    const { part, state, input, against } = this.scene;
    const both =
      !against ||
      (part.peaks !== undefined &&
        against.part.peaks !== undefined &&
        part.key.boxes?.length === against.part.key.boxes?.length);
    return (
      part.looks !== undefined &&
      input.picture !== undefined &&
      both &&
      state.draw === "auto" &&
      state.quantity === "weights"
    );
  }

  // How tall a cell is for its width: as the picture that it shows.
  private get aspect(): number {
    const { part } = this.scene;
    if (!this.pictured) return 1;
    const [left, top, right, bottom] = rasterOf((part.key.boxes ?? []) as readonly (Area | null)[]).area;
    return this.scene.input.sound
      ? HEARD
      : right - left > WIDE * (bottom - top)
        ? 1
        : Math.min(TALLEST, (bottom - top) / (right - left));
  }

  private get sorted(): boolean {
    return this.scene.state.sort && !!this.measure && this.kind !== "mini";
  }

  missing(): Promise<void>[] {
    const { data, part, against, lacking } = this.scene;
    if (!this.pictured || lacking) return this.thumbs.missing();
    const wanted = against ? [part.looks, part.peaks, against.part.looks, against.part.peaks] : [part.looks];
    return wanted.filter((ref) => ref && !data.array(ref)).map((ref) => data.loadArray(ref!));
  }

  /** Draw what has changed; a moved selection only moves the ring. */
  update(width: number, kind: GridKind, room: number): void {
    const { state, part, owner } = this.scene;
    [this.width, this.kind] = [width, kind];
    this.columns = [...new Set(part.heads.flat())].sort((a, b) => a - b);
    const { sorted } = this;
    const noted = !!this.measure && kind !== "mini";
    const letters = [
      `L${Math.max(...part.index)}H${Math.max(...this.columns)}`.length,
      this.measure?.units === "share" ? 4 : 5,
    ] as const;
    this.box = box({
      layers: part.index.length,
      heads: this.columns.length,
      width,
      kind,
      room,
      noted,
      sorted,
      letters,
      pictured: this.pictured,
      aspect: this.aspect,
    });
    const key = [
      width,
      kind,
      room,
      owner.theme,
      this.lines,
      this.pictured,
      state.measure,
      sorted,
      state.ascending,
      state.least,
      state.filter,
      state.special,
      state.sinks,
      state.unit,
      state.part,
      state.quantity,
      state.renormalise,
      state.gold,
      state.span,
      this.scene.rows.key,
      this.scene.columns.key,
      this.scene.place,
      ratio(),
    ].join("|");
    if (key !== this.drawn) {
      this.drawn = key;
      this.order = places(this.scene, sorted ? this.measure : undefined, state.ascending);
      this.labels(sorted);
      void this.draw();
    }
    this.mark();
  }

  private labels(sorted: boolean): void {
    const { box, kind } = this;
    this.root.classList.toggle("mini", kind === "mini");
    this.root.style.cssText = `width:${box.width}px;height:${box.height}px`;
    this.canvas.style.left = `${box.gutter}px`;
    this.canvas.style.top = `${box.top}px`;
    const every = box.step < 15 ? 2 : 1;
    this.across.hidden = this.down.hidden = sorted;
    this.across.style.left = `${box.gutter}px`;
    this.down.style.top = `${box.top}px`;
    const named = kind === "mini" ? 10 : 14;
    this.top.replaceChildren(
      ...(sorted
        ? []
        : this.columns.map((head, i) =>
            h(
              "span",
              { style: `top:${named}px;left:${box.gutter + i * box.step}px;width:${box.cell}px`, "data-head": head },
              i % every ? "" : String(head),
            ),
          )),
    );
    this.left.replaceChildren(
      ...(sorted
        ? []
        : this.scene.part.index.map((layer, i) =>
            h(
              "span",
              {
                style: `top:${box.top + i * box.down}px;height:${box.tall}px;width:${box.gutter - (kind === "mini" ? 5 : 10)}px`,
                "data-layer": layer,
              },
              box.down < 11 && i % 2 ? "" : String(layer),
            ),
          )),
    );
  }

  /** Where the cell at a place of the order stands, from the canvas' corner. */
  private corner(place: number): [number, number] {
    const across = this.columns.length;
    return [(place % across) * this.box.step, Math.floor(place / across) * this.box.down];
  }

  // What stands here keeps its place under a veil until what replaces it is made: seen cells first, a slice a frame.
  private async draw(): Promise<void> {
    const { order, thumbs, scene, pictured } = this;
    const job = ++this.job;
    const { key } = thumbs;
    this.done = false;
    if (pictured && !this.image) {
      this.image = await imageOf(scene.input.picture!).catch((error: unknown) => (scene.owner.fail(error), null));
      if (job !== this.job) return;
    }
    const context = this.clear();
    const cells = queue(order, this.inSight(), ({ layer, head }) => pictured || thumbs.quick(layer, head));
    for (const place of cells)
      if (!pictured && !thumbs.quick(order[place]!.layer, order[place]!.head)) this.veil(context, place);
    const cell = this.painter(context);
    try {
      // The scene may show other tokens before this grid is told of it: its thumbnails are not those of this job.
      const whole = await inSlices(
        cells,
        {
          needs: (place) => (pictured ? null : thumbs.needs(order[place]!.layer)),
          one: (place) => {
            this.veiled.delete(place);
            cell(place);
          },
          going: () => job === this.job && thumbs.key === key,
        },
        scene.owner.printing ? AT_ONCE : undefined,
      );
      if (job !== this.job) return;
      if (!whole) this.drawn = "";
      this.done = true;
    } catch (error) {
      if (job !== this.job) return;
      this.done = true;
      scene.owner.fail(error);
    }
  }

  // The canvas, emptied where its cells are not those that stood there.
  private clear(): CanvasRenderingContext2D {
    const { box } = this;
    const layout = [
      JSON.stringify(box),
      ratio(),
      this.scene.part.name,
      this.order.map(({ layer, head }) => `${layer}.${head}`),
    ].join("|");
    const context = layout === this.layout ? this.canvas.getContext("2d") : null;
    if (context) return context;
    this.layout = layout;
    this.veiled.clear();
    return surface(this.canvas, box.width - box.gutter, box.height - box.top);
  }

  private veil(context: CanvasRenderingContext2D, place: number): void {
    if (this.veiled.has(place)) return;
    this.veiled.add(place);
    const { ink } = this.scene.owner;
    const { cell, tall } = this.box;
    const [x, y] = this.corner(place);
    context.save();
    context.beginPath();
    context.rect(x, y, cell, tall);
    context.clip();
    context.globalAlpha = 0.6;
    area(context, ink("--bg"), x, y, cell, tall);
    context.globalAlpha = 1;
    context.strokeStyle = ink("--line2");
    context.lineWidth = 1;
    context.beginPath();
    for (let at = 4; at < 2 * cell; at += 5) {
      context.moveTo(x + at, y);
      context.lineTo(x, y + at);
    }
    context.stroke();
    context.restore();
  }

  // The first and the last place that can be seen.
  private inSight(): [number, number] {
    const { top } = this.canvas.getBoundingClientRect();
    const { down } = this.box;
    const across = this.columns.length;
    return [Math.floor(-top / down) * across, Math.ceil((window.innerHeight - top) / down) * across - 1];
  }

  // Draws the cell at a place of the order as the state asks now.
  private painter(context: CanvasRenderingContext2D): (place: number) => void {
    const { scene, box, order, measure, lines } = this;
    const scale = ratio();
    const figures =
      measure && this.kind !== "mini"
        ? order.map(({ layer, head }) => scene.data.figure(scene.part, measure, layer, head))
        : null;
    const most = Math.max(1e-9, ...(figures ?? []).filter(Number.isFinite));
    const side = Math.round(box.cell * scale);
    const image = context.createImageData(side, side);
    const pixels = { data: new Uint32Array(image.data.buffer), stride: side };
    const palette = PALETTES[scene.owner.theme];
    const paper = scene.owner.ink("--panel");
    const seen = this.pictured && this.image ? this.seen(context, this.image) : null;
    return (place) => {
      const { layer, head } = order[place]!;
      const thumb = seen ? null : this.thumbs.get(layer, head);
      const [x, y] = this.corner(place);
      context.clearRect(x - 1, y - 1, box.step, box.down);
      seen?.(x, y, layer, head);
      if (thumb && lines) {
        area(context, paper, x, y, box.cell, box.tall);
        this.strokes(context, thumb, x, y);
      } else if (thumb) {
        paint(
          pixels,
          0,
          0,
          side,
          side,
          whole(thumb.codes, thumb.rows, thumb.columns),
          thumb.sign ? palette.diverging : palette.sequential,
          thumb.sign,
        );
        context.putImageData(image, Math.round(x * scale), Math.round(y * scale));
      }
      if (thumb) this.links(context, x, y, layer, head);
      if (figures) this.note(context, x, y, layer, head, figures[place]!, most);
    };
  }

  // Draws a head on the picture, as large as a cell has room.
  private seen(
    context: CanvasRenderingContext2D,
    image: HTMLImageElement,
  ): (x: number, y: number, layer: number, head: number) => void {
    const { scene, box } = this;
    const { part } = scene;
    const boxes = (part.key.boxes ?? []) as readonly (Area | null)[];
    const paper = scene.owner.ink("--panel");
    const raster = rasterOf(boxes);
    const [left, top, right, bottom] = raster.area;
    // A wide one, such as a spectrogram, fills its cell.
    const fits = Math.min(box.cell / (right - left), box.tall / (bottom - top));
    const fills = right - left > WIDE * (bottom - top);
    const [wide, tall] = [(right - left) * fits, fills ? box.tall : (bottom - top) * fits];
    const under = photo(image, within(image, scene.input.picture!, raster.area), wide, tall, scene.against !== null);
    const sharp = (at: number): number => Math.round(at * ratio()) / ratio();
    const { against } = scene;
    const look = { smooth: false, opacity: 0.85, signed: against !== null, theme: scene.owner.theme };
    const source = scene.input.sound ? inked(image, scene.owner.theme) : null;
    return (x, y, layer, head) => {
      const [x0, y0] = [sharp(x + (box.cell - wide) / 2), sharp(y + (box.tall - tall) / 2)];
      area(context, paper, x, y, box.cell, box.tall);
      if (source) return drawCell(context, scene, source, this.means(layer, head), [x, y, box.cell, box.tall]);
      context.drawImage(under, x0, y0, wide, tall);
      const place: Area = [x0, y0, wide, tall];
      if (!against) return raster.drawCodes(context, place, looksOf(scene, layer, head) ?? [], look);
      raster.draw(context, place, this.means(layer, head), look);
    };
  }

  // What a head gives each key on average, or gives it more than the other of two inputs does.
  private means(layer: number, head: number): ArrayLike<number> {
    const { scene } = this;
    const { against } = scene;
    if (!against) return Float64Array.from(looksOf(scene, layer, head) ?? [], (code) => SQUARE[code]!);
    const [mine, other] = [meansOf(scene, layer, head), meansOf(against, layer, head)];
    return mine?.map((mean, key) => mean - (other?.[key] ?? 0)) ?? [];
  }

  // The gold links of a head, where a token has room.
  private links(context: CanvasRenderingContext2D, x: number, y: number, layer: number, head: number): void {
    const { scene, box } = this;
    const map = this.fits && scene.links.length > 0 ? scene.map(layer, head) : null;
    if (!map) return;
    const links = scene.judge([map]);
    if (this.lines)
      return drawThumbLinks(
        context,
        scene.owner.ink,
        { x: x + 3, y: y + 3, size: box.cell - 6, rows: map.rows, columns: map.columns },
        links,
      );
    const [tall, wide] = [box.cell / map.rows, box.cell / map.columns];
    drawCells(
      context,
      scene.owner.ink,
      { x, y, wide, tall, row: 0, rows: map.rows, column: 0, columns: map.columns },
      links,
    );
  }

  private get fits(): boolean {
    const { rows, columns } = this.scene;
    return this.kind !== "mini" && this.box.cell / Math.max(rows.items.length, columns.items.length) >= ROOM_OF_TOKEN;
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

  private note(
    context: CanvasRenderingContext2D,
    x: number,
    y: number,
    layer: number,
    head: number,
    found: number,
    most: number,
  ): void {
    const { box, scene } = this;
    const { ink } = scene.owner;
    if (found < scene.state.least || !Number.isFinite(found)) {
      context.globalAlpha = 0.86;
      area(context, ink("--bg"), x - 0.5, y - 0.5, box.cell + 1, box.tall + 1);
      context.globalAlpha = 1;
      if (!Number.isFinite(found)) return;
    }
    area(context, ink("--track"), x, y + box.tall + 2, box.cell, 2);
    area(context, scene.accent, x, y + box.tall + 2, (box.cell * Math.max(0, found)) / most, 2);
    context.font = `500 9.5px ${FONT}`;
    context.textBaseline = "alphabetic";
    context.fillStyle = ink("--ink2");
    context.textAlign = "left";
    const text = bare(fixed(found, 2));
    if (box.named !== "none") context.fillText(`L${layer}H${head}`, x, y + box.tall + 14);
    if (box.named === "before") context.textAlign = "right";
    if (box.cell > 26)
      context.fillText(
        text,
        box.named === "before" ? x + box.cell : x,
        y + box.tall + (box.named === "above" ? 25 : 14),
      );
  }

  private set(ring: HTMLElement, place: number): void {
    const [x, y] = this.corner(place);
    ring.style.transform = `translate(${this.box.gutter + x}px,${this.box.top + y}px)`;
    ring.style.width = `${this.box.cell}px`;
    ring.style.height = `${this.box.tall}px`;
  }

  private mark(): void {
    const { scene } = this;
    const { layer } = scene.state;
    const find = (head: number): number => this.order.findIndex((cell) => cell.layer === layer && cell.head === head);
    const open = find(scene.head);
    this.canvas.setAttribute(
      "aria-label",
      `Attention of ${scene.part.index.length} layers by ${this.columns.length} heads. ${scene.name(scene.head)} is open${this.standing(open)}. Arrow keys move to the next head or layer, Enter comes closer.`,
    );
    this.set(this.ring, open);
    // Sorted cells have no labels beside them: where names have no room in them either, the ring has that of the open
    // head.
    const unnamed = this.sorted && this.box.named === "none" && scene.head >= 0;
    if (unnamed) this.ring.dataset.name = scene.name(scene.head);
    else delete this.ring.dataset.name;
    this.ring.classList.toggle("end", 2 * (open % this.columns.length) > this.columns.length);
    this.show(open);
    this.root.querySelectorAll(".also").forEach((ring) => ring.remove());
    for (const head of scene.heads.slice(0, -1)) {
      const ring = h("div.ring.also");
      this.set(ring, find(head));
      this.root.append(ring);
    }
    for (const span of this.top.children as Iterable<HTMLElement>)
      span.classList.toggle("on", scene.heads.includes(Number(span.dataset.head)));
    for (const span of this.left.children as Iterable<HTMLElement>)
      span.classList.toggle("on", Number(span.dataset.layer) === layer);
  }

  // Which figure the open head has, and how many have a larger one, where the heads are sorted.
  private standing(place: number): string {
    const { scene, measure, order } = this;
    if (!this.sorted || !measure || place < 0) return "";
    return `, ${scene.called(measure)} ${figure(scene.data.figure(scene.part, measure, scene.state.layer, scene.head))}, number ${place + 1} of ${order.length}`;
  }

  // The open head is in sight of a grid that moves sideways.
  private show(place: number): void {
    if (place === this.stood || place < 0) return;
    this.stood = place;
    const { box, scroller, width } = this;
    if (box.width <= width) return;
    const x = box.gutter + this.corner(place)[0];
    const { scrollLeft } = scroller;
    if (x < scrollLeft + box.gutter || x + box.step > scrollLeft + width) scroller.scrollLeft = x - width / 2;
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
    const figures = scene.part.measures.filter(
      (measure) => measure.of === "input" || measure.name === scene.state.measure,
    );
    const map = scene.links.length > 0 ? scene.map(cell.layer, cell.head) : null;
    const links = map ? scene.judge([map]) : [];
    const gold =
      links.length > 0
        ? h(
            "tr",
            {},
            h("td", {}, "gold links"),
            h("td.n", {}, `${links.filter((link) => link.right).length} of ${links.length} right`),
          )
        : null;
    const row = (measure: MeasureColumn): HTMLElement =>
      h(
        "tr",
        {},
        h("td", {}, measure.of === "corpus" ? scene.called(measure) : measure.title),
        h(
          "td.n",
          {},
          `${figure(scene.data.figure(scene.part, measure, cell.layer, cell.head))}${measure.units === "share" ? "" : ` ${measure.units}`}`,
        ),
      );
    scene.owner.tip(
      h(
        "div",
        {},
        h("b", {}, `L${cell.layer}H${cell.head}`),
        h("span.dim", {}, ` ${scene.whose() || "on this input"}`),
        h("table", {}, gold, ...figures.map(row)),
        !touched() && h("div.dim", {}, "click opens, shift-click adds"),
      ),
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
  }
}
