// Every head as a thumbnail, the longer of layers and heads across: one canvas, and a ring that a click moves.

import { area, paint, ratio, surface, whole } from "../draw/canvas";
import { aspectOf, type Blocks, painter } from "../draw/griddraw";
import { inked } from "../draw/spectrogram";
import { imageOf, onCanvas } from "../draw/veils";
import type { MeasureColumn } from "../protocol";
import { PALETTES } from "../scene/color";
import { figure } from "../scene/format";
import { queue, type Room } from "../scene/gridlayout";
import { Heads } from "../scene/heads";
import { alike, Of } from "../scene/made";
import type { Scene } from "../scene/scene";
import { type Heeds, valuesOf } from "../scene/state";
import { h, listen, touched } from "./dom";
import { AT_ONCE, inSlices } from "./slices";

/** Room for the rings of cells at the edge. */
const MARGIN = 5;

export class Grid {
  static readonly heeds = {
    update: ["draw", "measure", "sort", "ascending", "least", "sinks", "gold", "span"],
  } as const satisfies Heeds;
  readonly canvas = h("canvas", { role: "application", tabindex: 0, "aria-roledescription": "grid of heads" });
  private readonly ring = h("div.ring");
  private readonly hover = h("div.ring.hov", { hidden: true });
  // They stay while the cells move beneath them.
  private readonly top = h("div.collabels");
  private readonly left = h("div.rowlabels");
  readonly root = h("div.gridbox", this.top, this.left, this.canvas, this.hover, this.ring);
  /** Of more heads than have room the grid moves in a box of its own. */
  private readonly scroller = h("div.gridscroll", this.root);
  private readonly heads: Heads;
  private job = 0;
  private readonly drawn = new Of();
  private readonly laid = new Of();
  /** Where the open head stands: when that changes it is brought into sight. */
  private stood = -1;
  /** The places that still show what was there before. */
  private readonly veiled = new Set<number>();
  /** The input's picture, where each cell shows it. */
  private image: HTMLImageElement | null = null;
  width = 400;
  private room = 400;
  private last: Parameters<Grid["update"]> | null = null;
  /** The last drawing is complete. */
  done = true;

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    this.heads = new Heads(scene, true);
    element.append(this.scroller);
    listen(this.canvas, {
      pointermove: (event) => this.move(event),
      pointerleave: () => this.leave(),
      click: (event) => {
        const cell = this.at(event);
        if (cell) scene.owner.open(cell.layer, cell.head, event.shiftKey);
      },
    });
  }

  get turned(): boolean {
    return this.heads.turned;
  }

  /** How the cells are drawn. */
  get drawing(): "auto" | "lines" | "heat" {
    return this.heads.pictured ? "auto" : this.heads.lines ? "lines" : "heat";
  }

  missing(): Promise<void>[] {
    return this.heads.missing();
  }

  /** Draw what has changed; a moved selection only moves the ring. */
  update(width: number, kind: Room["kind"], room: number, most = room): void {
    const { heads, scene } = this;
    const { state, owner } = scene;
    heads.lay(width, kind, room, aspectOf(heads));
    // Of cells that get no smaller all are in sight where there is room for all.
    const { height } = heads.box;
    [this.width, this.room] = [width, height <= most ? Math.max(room, height) : room];
    this.last = [width, kind, room, most];
    const asks = owner.host.asks?.();
    const looks = [
      this.drawing,
      owner.theme,
      asks,
      ratio(),
      scene.pointed,
      scene.only,
      ...valuesOf(state, Grid.heeds.update),
    ];
    if (this.drawn.renewed(heads.thumbs.of, width, kind, room, ...looks)) {
      heads.arrange();
      this.labels();
      void this.draw();
    }
    this.mark();
  }

  /** What is pointed at has changed, or more is known of it (`anew`). */
  point(anew: boolean): void {
    if (anew) this.drawn.forget();
    if (this.last) this.update(...this.last);
  }

  private labels(): void {
    const { box, kind, sorted } = this.heads;
    const mini = kind === "mini";
    this.root.classList.toggle("mini", mini);
    this.root.style.cssText = `width:${box.width}px;height:${box.height}px;--top:${box.top}px;--gutter:${box.gutter}px`;
    this.scroller.style.maxHeight = kind === "large" ? "" : `${Math.ceil(this.room) + 2 * MARGIN}px`;
    this.top.hidden = this.left.hidden = sorted;
    const { axes, turned } = this.heads;
    const [layers, heads] = ["data-layer", "data-head"];
    const { across, down } = this.heads.labels();
    this.top.replaceChildren(
      h("b", axes.across),
      ...across.map(({ index, text, at }) =>
        h("span", { style: `width:${box.cell}px;left:${at}px`, [turned ? layers : heads]: index }, text),
      ),
    );
    this.left.replaceChildren(
      h("b", axes.down),
      ...down.map(({ index, text, at }) =>
        h("span", { style: `height:${box.tall}px;top:${at - box.top}px`, [turned ? heads : layers]: index }, text),
      ),
    );
  }

  // What stands here keeps its place under a veil until what replaces it is made: seen cells first, a slice a frame.
  private async draw(): Promise<void> {
    const { heads, scene } = this;
    const { order, thumbs, pictured } = heads;
    const job = ++this.job;
    const { of } = thumbs;
    this.done = false;
    if (pictured && !this.image) {
      this.image = await imageOf(scene.input.picture!).catch((error: unknown) => (scene.owner.fail(error), null));
      if (job !== this.job) return;
    }
    const context = this.clear();
    const quick = ({ layer, head }: { layer: number; head: number }): boolean =>
      pictured || scene.pointed !== null || thumbs.quick(layer, head);
    const cells = queue(order, this.inSight(), quick);
    for (const place of cells) if (!quick(order[place]!)) this.veil(context, place);
    const cell = painter(context, heads, this.blocks(context));
    const { step, down } = heads.box;
    try {
      // The scene may show other tokens before this grid is told of it: its thumbnails are not those of this job.
      const whole = await inSlices(
        cells,
        {
          needs: (place) =>
            scene.pointed && thumbs.quick(order[place]!.layer, order[place]!.head)
              ? null
              : heads.needs(order[place]!.layer),
          one: (place) => {
            this.veiled.delete(place);
            const [x, y] = heads.corner(place);
            context.clearRect(x - 1, y - 1, step, down);
            cell(place);
          },
          going: () => job === this.job && alike(thumbs.of, of),
        },
        scene.owner.printing ? AT_ONCE : undefined,
      );
      if (job !== this.job) return;
      if (!whole) this.drawn.forget();
      this.done = true;
    } catch (error) {
      if (job !== this.job) return;
      this.done = true;
      scene.owner.fail(error);
    }
  }

  // The canvas, emptied where its cells are not those that stood there.
  private clear(): CanvasRenderingContext2D {
    const { box, order } = this.heads;
    const context = this.laid.renewed(box, ratio(), this.scene.part, order) ? null : this.canvas.getContext("2d");
    if (context) return context;
    this.veiled.clear();
    return surface(this.canvas, box.width - box.gutter, box.height - box.top);
  }

  private veil(context: CanvasRenderingContext2D, place: number): void {
    if (this.veiled.has(place)) return;
    this.veiled.add(place);
    const { ink } = this.scene.owner;
    const { cell, tall } = this.heads.box;
    const [x, y] = this.heads.corner(place);
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
    const { down } = this.heads.box;
    const { across } = this.heads;
    return [Math.floor(-top / down) * across, Math.ceil((window.innerHeight - top) / down) * across - 1];
  }

  private blocks(context: CanvasRenderingContext2D): Blocks {
    const { scene, heads, image } = this;
    const scale = ratio();
    const side = Math.round(heads.box.cell * scale);
    const cell = context.createImageData(side, side);
    const pixels = { data: new Uint32Array(cell.data.buffer), stride: side };
    const palette = PALETTES[scene.owner.theme];
    const source = image && scene.input.sound ? inked(image, scene.owner.theme) : null;
    return {
      easel: image && onCanvas(context, image),
      spectrogram([begin, end], x, y, width, height) {
        if (!source) return;
        const across = source.width;
        context.drawImage(source, begin * across, 0, (end - begin) * across, source.height, x, y, width, height);
      },
      heat: (thumb, x, y) => {
        const colours = thumb.sign ? palette.diverging : palette.sequential;
        paint(pixels, 0, 0, side, side, whole(thumb.codes, thumb.rows, thumb.columns), colours, thumb.sign);
        context.putImageData(cell, Math.round(x * scale), Math.round(y * scale));
      },
    };
  }

  private set(ring: HTMLElement, place: number): void {
    const { box } = this.heads;
    const [x, y] = this.heads.corner(place);
    ring.style.transform = `translate(${box.gutter + x}px,${box.top + y}px)`;
    ring.style.width = `${box.cell}px`;
    ring.style.height = `${box.tall}px`;
  }

  private mark(): void {
    const { scene } = this;
    const { order, columns, across, sorted, box } = this.heads;
    const { layer } = scene.state;
    const find = (head: number): number => order.findIndex((cell) => cell.layer === layer && cell.head === head);
    const open = find(scene.head);
    this.canvas.setAttribute(
      "aria-label",
      `Attention of ${scene.part.index.length} layers by ${columns.length} heads. ${scene.name(scene.head)} is open${this.standing(open)}. Arrow keys move to the next head or layer, Enter comes closer.`,
    );
    this.set(this.ring, open);
    // Sorted cells have no labels beside them: where names have no room in them either, the ring has that of the open
    // head.
    const unnamed = sorted && box.named === "none" && scene.head >= 0;
    if (unnamed) this.ring.dataset.name = scene.name(scene.head);
    else delete this.ring.dataset.name;
    this.ring.classList.toggle("end", 2 * (open % across) > across);
    this.show(open);
    this.root.querySelectorAll(".also").forEach((ring) => ring.remove());
    for (const head of scene.heads.slice(0, -1)) {
      const ring = h("div.ring.also");
      this.set(ring, find(head));
      this.root.append(ring);
    }
    for (const span of this.root.querySelectorAll<HTMLElement>("[data-head], [data-layer]")) {
      const { head } = span.dataset;
      span.classList.toggle("on", head ? scene.heads.includes(Number(head)) : Number(span.dataset.layer) === layer);
    }
  }

  // Which figure the open head has, and how many have a larger one, where the heads are sorted.
  private standing(place: number): string {
    const { scene } = this;
    const { measure, order, sorted } = this.heads;
    if (!sorted || !measure || place < 0) return "";
    return `, ${scene.called(measure)} ${figure(scene.data.figure(scene.part, measure, scene.state.layer, scene.head))}, number ${place + 1} of ${order.length}`;
  }

  // The open head is in sight of a grid that moves.
  private show(place: number): void {
    if (place === this.stood || place < 0) return;
    this.stood = place;
    const { scroller, width, room } = this;
    const { box, kind } = this.heads;
    const [x, y] = this.heads.corner(place);
    const within = (at: number, size: number, from: number, seen: number): number =>
      at < from || at + size > from + seen ? at - (seen - size) / 2 : from;
    if (box.width > width) scroller.scrollLeft = within(x, box.cell, scroller.scrollLeft, width - box.gutter);
    if (kind !== "large" && box.height > room)
      scroller.scrollTop = within(y, box.tall, scroller.scrollTop, room - box.top);
  }

  private at(event: PointerEvent | MouseEvent): { layer: number; head: number; place: number } | null {
    const bounds = this.canvas.getBoundingClientRect();
    const { box, across, order } = this.heads;
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const [column, row] = [Math.floor(x / box.step), Math.floor(y / box.down)];
    const place = row * across + column;
    const cell = order[place];
    if (x % box.step > box.cell || column >= across || !cell || cell.head < 0) return null;
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
            h("td", "gold links"),
            h("td.n", `${links.filter((link) => link.right).length} of ${links.length} right`),
          )
        : null;
    const row = (measure: MeasureColumn): HTMLElement =>
      h(
        "tr",
        h("td", measure.of === "corpus" ? scene.called(measure) : measure.title),
        h(
          "td.n",
          `${figure(scene.data.figure(scene.part, measure, cell.layer, cell.head))}${measure.units === "share" ? "" : ` ${measure.units}`}`,
        ),
      );
    scene.owner.tip(
      h(
        "div",
        h("b", `L${cell.layer}H${cell.head}`),
        h("span.dim", ` ${scene.whose() || "on this input"}`),
        h("table", gold, ...figures.map(row)),
        !touched() && h("div.dim", "click opens, shift-click adds"),
      ),
      event,
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
