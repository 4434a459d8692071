// A head on the picture that its tokens are areas of: where a query looks, or which queries look at a key.

import { h } from "../dom";
import { figure } from "../format";
import type { PictureInfo } from "../protocol";
import type { Item } from "./axis";
import { surface } from "./canvas";
import { type Shown, value } from "./cut";
import { type Focus, type Scene, SIGNS } from "./scene";

export type Box = readonly [number, number, number, number];
type End = "from" | "to";

/** From so many times as wide as tall on, pictures stand one below the other. */
export const WIDE = 2.5;

const images = new Map<string, Promise<HTMLImageElement>>();

/** A picture of the payload, read once. */
export function imageOf({ src }: PictureInfo): Promise<HTMLImageElement> {
  let found = images.get(src);
  if (!found) {
    found = new Promise((done, fail) => {
      const image = new Image();
      image.onload = () => done(image);
      image.onerror = () => fail(new Error("the picture of this input cannot be read"));
      image.src = src;
    });
    images.set(src, found);
  }
  return found;
}

/** The part of a picture that some areas cover: left, top, right, bottom. */
export function covered(boxes: readonly (Box | null)[]): Box {
  const all = boxes.filter((box) => box !== null);
  return [Math.min(...all.map((box) => box[0])), Math.min(...all.map((box) => box[1])), Math.max(...all.map((box) => box[2])), Math.max(...all.map((box) => box[3]))];
}

/** What lies over an area that has a share of the most that any has: what is not looked at darkens. */
export const veil = (share: number, opacity: number): string => `rgb(12 16 18 / ${opacity * (1 - Math.sqrt(Math.abs(share)))})`;

/** One side of the head: the queries that look, or the keys that are looked at. */
class Board {
  readonly canvas = h("canvas", { "aria-hidden": "true" });
  readonly chips = h("div.others");
  readonly title = h("span.cap");
  readonly root: HTMLElement;
  private scale = 1;

  constructor(
    private readonly scene: Scene,
    readonly end: End,
  ) {
    this.root = h("figure.board", { "data-end": end }, this.title, this.canvas, this.chips);
    this.canvas.addEventListener("pointermove", (event) => this.hover(this.at(event)));
    this.canvas.addEventListener("pointerleave", () => scene.leave());
    this.canvas.addEventListener("click", (event) => this.pin(this.at(event), event.shiftKey));
    this.chips.addEventListener("pointerover", (event) => this.hover(this.chip(event)));
    this.chips.addEventListener("pointerleave", () => scene.leave());
    this.chips.addEventListener("click", (event) => this.pin(this.chip(event), event.shiftKey));
  }

  private get items(): readonly Item[] {
    return (this.end === "from" ? this.scene.rows : this.scene.columns).items;
  }

  private get boxes(): readonly (Box | null)[] {
    const axis = this.end === "from" ? this.scene.part.query : this.scene.part.key;
    return this.items.map(({ start }) => (axis.boxes?.[start] ?? null) as Box | null);
  }

  private at(event: MouseEvent): number | null {
    const bounds = this.canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - bounds.left) / this.scale, (event.clientY - bounds.top) / this.scale];
    const found = this.boxes.findIndex((box) => box !== null && x >= box[0] && x < box[2] && y >= box[1] && y < box[3]);
    return found < 0 ? null : found;
  }

  private chip(event: Event): number | null {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-place]") : null;
    return button ? Number(button.dataset.place) : null;
  }

  private hover(place: number | null): void {
    if (place === null) this.scene.leave();
    else this.scene.owner.hover(this.scene, { from: null, to: null, [this.end]: place });
  }

  private pin(place: number | null, keep: boolean): void {
    const item = place === null ? undefined : this.items[place];
    if (item) this.scene.owner.pin(this.scene, this.end, item.start, keep);
  }

  /** Draw the picture, and over it how much each token has of `shares` (null: nothing is chosen on the other side). */
  draw(info: PictureInfo, image: HTMLImageElement, width: number, look: Look, shares: Float64Array | null, chosen: number | null): void {
    const { scene } = this;
    this.scale = width / info.width;
    const context = surface(this.canvas, width, info.height * this.scale);
    const height = info.height * this.scale;
    context.imageSmoothingEnabled = true;
    context.drawImage(image, 0, 0, width, height);
    const { boxes } = this;
    const most = shares ? Math.max(1e-12, ...boxes.map((box, place) => (box ? Math.abs(shares[place]!) : 0))) : 1;
    if (shares) {
      const area = covered(boxes);
      if (look.smooth) this.soft(context, boxes, shares, most, area, look.opacity);
      else {
        boxes.forEach((box, place) => {
          if (!box) return;
          context.fillStyle = this.veil(shares[place]! / most, look.opacity);
          const [left, top, right, bottom] = box.map((side) => Math.round(side * this.scale)) as [number, number, number, number];
          context.fillRect(left, top, right - left, bottom - top);
        });
      }
    }
    const box = chosen === null ? null : boxes[chosen];
    if (box) {
      for (const [color, line] of [["#0b0e10", 4], ["#ffffff", 2]] as const) {
        context.strokeStyle = color;
        context.lineWidth = line;
        context.strokeRect(box[0] * this.scale, box[1] * this.scale, (box[2] - box[0]) * this.scale, (box[3] - box[1]) * this.scale);
      }
    }
    const others = this.items.flatMap((item, place) => (boxes[place] ? [] : [h("button", { type: "button", "data-place": place, "aria-pressed": String(place === chosen), title: this.end === "from" ? "Where it looks" : "Which tokens look at it" }, h("bdi", {}, item.mark + item.text), shares ? h("i", {}, figure(shares[place]!)) : "")]));
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.place : undefined;
    const inside = this.chips.contains(document.activeElement);
    this.chips.replaceChildren(...others);
    if (inside && focused !== undefined) this.chips.querySelector<HTMLElement>(`[data-place="${focused}"]`)?.focus();
    this.canvas.title = scene.owner.printing ? "" : this.end === "from" ? "Click a patch: where it looks" : "Click a patch: which tokens look at it";
  }

  // What is not looked at darkens; a difference is tinted by its sign.
  private veil(share: number, opacity: number): string {
    if (!this.scene.against) return veil(share, opacity);
    const hex = SIGNS[this.scene.owner.theme][share < 0 ? "minus" : "plus"];
    return `rgb(${[1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).join(" ")} / ${opacity * Math.sqrt(Math.abs(share))})`;
  }

  // One pixel a patch, and the browser's own interpolation between them.
  private soft(context: CanvasRenderingContext2D, boxes: readonly (Box | null)[], shares: Float64Array, most: number, area: Box, opacity: number): void {
    const all = boxes.flatMap((box) => (box ? [box] : []));
    const columns = new Set(all.map((box) => box[0])).size;
    const rows = new Set(all.map((box) => box[1])).size;
    const small = document.createElement("canvas");
    [small.width, small.height] = [columns, rows];
    const pen = small.getContext("2d")!;
    boxes.forEach((box, place) => {
      if (!box) return;
      pen.fillStyle = this.veil(shares[place]! / most, opacity);
      pen.fillRect(Math.round(((box[0] - area[0]) / (area[2] - area[0])) * columns), Math.round(((box[1] - area[1]) / (area[3] - area[1])) * rows), 1, 1);
    });
    context.imageSmoothingQuality = "high";
    context.drawImage(small, area[0] * this.scale, area[1] * this.scale, (area[2] - area[0]) * this.scale, (area[3] - area[1]) * this.scale);
  }
}

interface Look {
  smooth: boolean;
  opacity: number;
}

export class HeadPicture {
  private readonly boards: readonly [Board, Board];
  private readonly several = h("div.several");
  private readonly row: HTMLElement;
  private readonly caption = h("div.sub");
  private readonly look: Look = { smooth: false, opacity: 0.8 };
  private readonly smooth = h("input", { type: "checkbox", oninput: () => this.again({ smooth: this.smooth.checked }) });
  private readonly opacity = h("input", { type: "range", min: 10, max: 100, step: 5, value: 80, "aria-label": "Opacity", oninput: () => this.again({ opacity: Number(this.opacity.value) / 100 }) });
  readonly root = h("div.hp", { role: "group" });
  private image: HTMLImageElement | null = null;
  private src = "";
  private width = 0;
  /** The picture has been drawn. */
  done = true;

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    this.boards = [new Board(scene, "from"), new Board(scene, "to")];
    this.row = h("div.boards", {}, this.boards[0].root, this.boards[1].root);
    const tools = h("div.looks", { "data-export": "no" }, h("label.field", {}, this.smooth, h("span", {}, "smooth")), h("label.field", {}, h("span.cap", {}, "Opacity"), this.opacity));
    this.root.append(tools, this.row, this.several, this.caption);
    element.append(this.root);
  }

  private again(look: Partial<Look>): void {
    Object.assign(this.look, look);
    this.paint();
  }

  update(width: number): void {
    const { scene } = this;
    this.width = width;
    const { picture } = scene.input;
    if (!picture) return;
    this.root.setAttribute("aria-label", `${scene.name()} on the picture${picture.name ? ` ${picture.name}` : ""}`);
    if (picture.src !== this.src) {
      this.src = picture.src;
      this.done = false;
      imageOf(picture)
        .then((image) => (this.image = image))
        .catch((error: unknown) => scene.owner.fail(error))
        .finally(() => {
          this.done = true;
          this.paint();
        });
    }
    this.paint();
  }

  focus(): void {
    this.paint();
  }

  private paint(): void {
    const { scene, image } = this;
    const { picture } = scene.input;
    if (!image || !picture || this.root.hidden) return;
    const maps = scene.shown();
    const map = maps.at(-1);
    if (!map) return;
    const { from, to } = scene.focus ?? { from: null, to: null };
    const gap = 20;
    const narrow = this.width < 420;
    const each = Math.min(narrow ? this.width : (this.width - gap) / 2, 560);
    // A wide one, such as a spectrogram, has all the width; a side of text alone has no picture.
    const { query, key } = scene.part;
    const full = picture.width > WIDE * picture.height || !query.boxes || !key.boxes;
    const room = full ? Math.min(this.width, picture.width > WIDE * picture.height ? this.width : 560) : each;
    const [left, right] = this.boards;
    this.row.classList.toggle("stacked", full);
    left.canvas.hidden = !query.boxes;
    right.canvas.hidden = !key.boxes;
    left.title.textContent = to === null ? "from (query)" : `which tokens look at ${this.called("to", to)}`;
    right.title.textContent = from === null ? "to (key): mean over all queries" : `where ${this.called("from", from)} looks`;
    left.draw(picture, image, room, this.look, to === null ? null : column(map, to), from);
    right.draw(picture, image, room, this.look, from === null ? received(map, scene) : row(map, from), to);
    this.many(maps, picture, image, { from, to });
    this.caption.textContent = this.says(map, from);
  }

  // Several heads as small pictures.
  private many(maps: readonly Shown[], picture: PictureInfo, image: HTMLImageElement, { from }: Focus): void {
    this.several.hidden = maps.length < 2;
    if (maps.length < 2) return this.several.replaceChildren();
    const across = picture.width > WIDE * picture.height ? 1 : Math.min(maps.length, 6);
    const width = Math.max(110, Math.floor(this.width / across) - (across > 1 ? 10 : 0));
    this.several.replaceChildren(
      ...maps.map((map) => {
        const board = new Board(this.scene, "to");
        board.draw(picture, image, width, this.look, from === null ? received(map, this.scene) : row(map, from), null);
        board.chips.remove();
        board.title.textContent = this.scene.name(map.head);
        board.root.classList.add("small");
        return board.root;
      }),
    );
  }

  private called(end: End, place: number): string {
    const item = (end === "from" ? this.scene.rows : this.scene.columns).items[place];
    return item ? item.mark + item.text : "";
  }

  private says(map: Shown, from: number | null): string {
    const { columns, part } = this.scene;
    const shares = from === null ? received(map, this.scene) : row(map, from);
    let [inside, best] = [0, -1];
    columns.items.forEach(({ start }, place) => {
      if (!part.key.boxes?.[start]) return;
      inside += shares[place]!;
      if (best < 0 || shares[place]! > shares[best]!) best = place;
    });
    const all = shares.reduce((a, b) => a + b, 0);
    if (best < 0 || this.scene.against || map.sign) return "Click a patch or a token to see where it looks; click on the right to see what looks there.";
    const who = from === null ? "Of what tokens look at" : `Of what ${this.called("from", from)} looks at`;
    return `${who} ${((100 * inside) / Math.max(all, 1e-9)).toFixed(1)} % is the ${this.scene.input.picture?.kind ?? "picture"}, most of it ${this.called("to", best)} (${figure(shares[best]!)}).`;
  }
}

const row = (map: Shown, from: number): Float64Array => Float64Array.from({ length: map.columns }, (_, to) => value(map, from * map.columns + to));
const column = (map: Shown, to: number): Float64Array => Float64Array.from({ length: map.rows }, (_, from) => value(map, from * map.columns + to));

/** What each key receives on average from the queries that see it. */
function received(map: Shown, scene: Scene): Float64Array {
  const total = new Float64Array(map.columns);
  for (let from = 0; from < map.rows; from++) for (let to = 0; to < map.columns; to++) total[to]! += value(map, from * map.columns + to);
  const { seen } = scene;
  const rows = seen.reduce((number, each) => number + Number(each > 0), 0) || map.rows;
  return total.map((sum) => sum / rows);
}
