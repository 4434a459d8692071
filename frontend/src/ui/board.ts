// A picture with the tokens of one side of a head: the queries that look, or the keys that are looked at.

import { drawBoard } from "../draw/boarddraw";
import { surface } from "../draw/canvas";
import { onSheet, type Panes, panesOf } from "../draw/panes";
import { imageOf, onCanvas } from "../draw/veils";
import type { AxisInfo, PictureInfo } from "../protocol";
import { areaAt, type Box, boxesOf, nextTo, nounOf } from "../scene/areas";
import type { Item, Side } from "../scene/axis";
import { Of } from "../scene/made";
import { called, chipFigure, type End, type Look, type Board as Shown, type Small } from "../scene/onpicture";
import { focusOn, type Scene } from "../scene/scene";
import { around, h, keyed, listen } from "./dom";

/** A choice beside the tokens of a side. */
export interface Choice {
  readonly text: string;
  readonly title: string;
  readonly on: boolean;
  choose(): void;
}

const STEPS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The image of the input's picture, read when it is another one than before. */
export class Photo {
  image: HTMLImageElement | null = null;
  /** It has been read, or cannot be. */
  read = true;
  private src = "";

  constructor(
    private readonly scene: Scene,
    private readonly paint: () => void,
  ) {}

  show(picture: PictureInfo): void {
    const { src } = picture;
    if (src === this.src) return;
    this.src = src;
    this.read = false;
    imageOf(picture)
      .then((image) => {
        if (src === this.src) this.image = image;
      })
      .catch((error: unknown) => this.scene.owner.fail(error))
      .finally(() => {
        this.read = true;
        this.paint();
      });
  }
}

export class Board {
  readonly canvas: HTMLCanvasElement;
  readonly chips = h("div.others");
  readonly title = h("span.cap");
  readonly root: HTMLElement;
  private panes: Panes = { panes: [], height: 0 };
  private boxes: readonly (Box | null)[] = [];
  private readonly listed = new Of();

  /** `plain`: nothing can be chosen on it. */
  constructor(
    private readonly scene: Scene,
    readonly end: End,
    private readonly plain = false,
  ) {
    this.canvas = plain
      ? h("canvas", { "aria-hidden": "true" })
      : h("canvas", { role: "application", tabindex: 0, "aria-roledescription": "picture" });
    this.root = h("figure.board", { "data-end": end }, this.title, this.canvas, this.chips);
    if (plain) return;
    listen(this.canvas, {
      pointermove: (event) => this.hover(this.at(event)),
      pointerleave: () => scene.leave(),
      click: (event) => this.pin(this.at(event)),
      blur: () => scene.leave(),
    });
    keyed(this.canvas, ({ key }) => this.key(key));
    listen(this.chips, {
      pointerover: (event) => this.hover(this.chip(event)),
      pointerleave: () => scene.leave(),
      click: (event) => this.pin(this.chip(event)),
    });
  }

  private get side(): Side {
    return this.scene.tokens(this.end);
  }

  private get items(): readonly Item[] {
    return this.side.items;
  }

  private get axis(): AxisInfo {
    return this.scene.axis(this.end);
  }

  private at(event: MouseEvent): number | null {
    const bounds = this.canvas.getBoundingClientRect();
    const point = onSheet(this.panes, event.clientX - bounds.left, event.clientY - bounds.top);
    const found = point ? areaAt(this.boxes, ...point) : -1;
    return found < 0 ? null : found;
  }

  private chip(event: Event): number | null {
    const button = around(event, "[data-place]");
    return button ? Number(button.dataset.place) : null;
  }

  private hover(place: number | null): void {
    if (place === null) this.scene.leave();
    else this.scene.owner.hover(this.scene, focusOn(this.end, place));
  }

  private pin(place: number | null): void {
    const item = place === null ? undefined : this.items[place];
    if (item) this.scene.owner.pin(this.scene, this.end, place!);
  }

  // From area to area by keyboard; Enter chooses one.
  private key(key: string): boolean {
    const step = STEPS[key];
    if (!step && key !== "Enter") return false;
    const { boxes, scene, end } = this;
    const at = scene.hovered?.[end] ?? scene.pinned?.[end] ?? boxes.findIndex((box) => box !== null);
    const box = boxes[at];
    if (!step) this.pin(at);
    else if (!box || scene.hovered?.[end] == null) this.hover(at);
    else {
      const next = nextTo(boxes, at, step);
      if (next >= 0) this.hover(next);
    }
    return true;
  }

  /** Draw the picture, and over it how much each token has. */
  draw(
    info: PictureInfo,
    image: HTMLImageElement,
    width: number,
    look: Look,
    shown: Shown,
    choices: readonly Choice[] = [],
  ): void {
    const { scene } = this;
    this.boxes = boxesOf(this.axis, this.side);
    this.panes = panesOf(info, width, scene.state.medium);
    this.root.style.width = `${Math.ceil(width)}px`;
    this.title.textContent = shown.title;
    const pen = surface(this.canvas, width, this.panes.height);
    drawBoard(onCanvas(pen, image), scene, info, width, look, shown);
    if (!this.plain) this.label(shown, choices);
  }

  // The tokens without an area, as buttons, and what the picture is called. Buttons stay: one that is pressed must not
  // go before it is let go.
  private label({ shares, chosen }: Shown, choices: readonly Choice[]): void {
    const { end, items, boxes, chips, canvas, scene } = this;
    const texts = choices.map(({ text }) => text);
    if (this.listed.renewed(scene.part, this.side, texts)) {
      const title = end === "from" ? "Where it looks" : "Which tokens look at it";
      const means = choices.map(({ text, title: about, choose }) =>
        h("button.mean", { title: about, onclick: choose }, text),
      );
      const tokens = items.flatMap((item, place) =>
        boxes[place] ? [] : [h("button", { "data-place": place, title }, h("bdi", called(this.axis, item)), h("i"))],
      );
      chips.replaceChildren(...means, ...tokens);
    }
    choices.forEach(({ on }, at) => chips.children[at]!.setAttribute("aria-pressed", String(on)));
    for (const button of chips.querySelectorAll<HTMLElement>("[data-place]")) {
      const place = Number(button.dataset.place);
      button.setAttribute("aria-pressed", String(place === chosen));
      button.lastElementChild!.textContent = chipFigure(shares, place);
    }
    canvas.title = scene.owner.printing
      ? ""
      : end === "from"
        ? "Click a patch: where it looks"
        : "Click a patch: which tokens look at it";
    const item = chosen === null ? undefined : items[chosen];
    canvas.setAttribute(
      "aria-label",
      `${end === "from" ? "Queries" : "Keys"} on ${nounOf(scene.input.picture)}${item ? `: ${called(this.axis, item)}` : ""}. Arrow keys go from patch to patch, Enter chooses.`,
    );
  }
}

/** One of several heads as a small picture, which opens it. */
export const smallButton = ({ head, title, color }: Small, { canvas }: Board): HTMLElement =>
  h(
    "button.small",
    { "data-head": head, title: `Open ${title} alone`, "aria-label": `Open ${title} alone` },
    h("span", h("i", { style: `background:${color}` }), title),
    canvas,
  );
