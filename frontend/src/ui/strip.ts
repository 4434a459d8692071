// Layers as a strip: where the chosen query looks in every layer, one small picture each.

import { surface } from "../draw/canvas";
import { drawCovered, onCanvas, rastersOf } from "../draw/veils";
import type { PictureInfo } from "../protocol";
import { boxesOf, covered, isWide } from "../scene/areas";
import { Of } from "../scene/made";
import { type Look, lacking, layerLooks, strip, stripLayout, there, together } from "../scene/onpicture";
import type { Asked, Source } from "../scene/rows";
import type { Scene } from "../scene/scene";
import type { Keys } from "../scene/state";
import { type Control, controls } from "./controls";
import { around, h } from "./dom";
import { toolbar } from "./roving";
import { AT_ONCE, inSlices } from "./slices";

/** What stands now has been painted. */
const painted = (): Promise<unknown> => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

interface Cell {
  readonly layer: number;
  readonly button: HTMLButtonElement;
  readonly canvas: HTMLCanvasElement;
}

export class LayerStrip {
  static readonly heeds = ["strip"] as const satisfies Keys;
  private readonly title = h("span.cap");
  private readonly of: Control;
  private readonly row = h("div.layers");
  readonly root = h("div.layers-strip");
  private readonly stops: () => void;
  private cells: readonly Cell[] = [];
  private readonly listed = new Of();
  private readonly named = new Of();
  private readonly drawn = new Of();
  private stood = -1;
  private job = 0;
  /** The last drawing is complete. */
  done = true;

  constructor(private readonly scene: Scene) {
    this.of = controls(scene.owner.set, {
      strip: {
        label: "Strip of layers",
        options: [
          ["head", "This head", "The open head's number in every layer"],
          ["mean", "Mean of heads", "The mean over all heads of each layer"],
        ],
        when: together,
        of: () => (strip(scene, "")?.source === "means" ? "mean" : "head"),
        look: "small",
      },
    }).strip;
    this.root.append(h("div.striphead", this.title, this.of.root), this.row);
    this.stops = toolbar(this.row, "Layers");
    this.row.addEventListener("click", (event) => {
      const button = around(event, "[data-layer]");
      if (button) scene.owner.set({ layer: Number(button.dataset.layer) });
    });
  }

  /** Draw what has changed: `who` looks, in `width` pixels. */
  update(info: PictureInfo, image: HTMLImageElement, width: number, look: Look, who: Asked, said: string): void {
    const { scene } = this;
    const { part, state } = scene;
    const shown = strip(scene, said);
    this.root.hidden = !shown;
    if (!shown) return;
    const { title, source } = shown;
    this.of.show(scene);
    this.title.textContent = title;
    if (this.listed.renewed(part)) {
      this.cells = part.index.map((layer) => {
        const canvas = h("canvas", { "aria-hidden": "true" });
        return { layer, canvas, button: h("button", { "data-layer": layer }, canvas, h("span", String(layer))) };
      });
      this.row.replaceChildren(...this.cells.map(({ button }) => button));
    }
    if (this.named.renewed(part, source, state.layer)) this.name(source);
    const { quantity, renormalise } = state;
    if (this.drawn.renewed(part, scene.rows, scene.columns, source, who, quantity, renormalise, width, info, look))
      void this.draw(info, image, width, look, source, who);
    this.show();
  }

  private name(source: Source): void {
    const { scene } = this;
    const { state } = scene;
    for (const { layer, button } of this.cells) {
      const has = there(scene, layer, source);
      button.setAttribute("aria-label", `Layer ${layer}${has ? "" : `, which has no head ${source}`}`);
      button.title = has ? `Open layer ${layer}` : `Layer ${layer} has no head ${source}`;
      button.setAttribute("aria-pressed", String(layer === state.layer));
      button.classList.toggle("none", !has);
    }
    this.stops();
  }

  private async draw(
    info: PictureInfo,
    image: HTMLImageElement,
    width: number,
    look: Look,
    source: Source,
    who: Asked,
  ): Promise<void> {
    const { scene, cells } = this;
    const { part, rows, columns } = scene;
    const job = ++this.job;
    this.done = false;
    const boxes = boxesOf(part.key, columns);
    const rasters = rastersOf(info, boxes);
    const { one, tall } = stripLayout(cells.length, isWide(info), covered(boxes), width);
    this.row.style.setProperty("--wide", `${one}px`);
    this.row.style.setProperty("--tall", `${tall}px`);
    try {
      const missed = cells.filter(({ layer }) => lacking(scene, layer, source, who).length > 0);
      // The head itself is seen first. Then all layers are asked for at once: one after the other takes twice as long.
      if (missed.length > 0 && !scene.owner.printing) await painted();
      if (job !== this.job) return;
      const coming = new Map(missed.map(({ layer }) => [layer, Promise.all(lacking(scene, layer, source, who))]));
      const whole = await inSlices(
        cells,
        {
          needs: ({ layer }) => coming.get(layer) ?? null,
          one: ({ layer, canvas }) => {
            const easel = onCanvas(surface(canvas, one, tall), image);
            drawCovered(easel, info, rasters, [0, 0, one, tall], look, layerLooks(scene, layer, source, who));
          },
          // Another layer may be opened meanwhile; other tokens are another strip.
          going: () => job === this.job && scene.part === part && scene.rows === rows && scene.columns === columns,
        },
        scene.owner.printing ? AT_ONCE : undefined,
      );
      if (job === this.job && !whole) this.drawn.forget();
    } catch (error) {
      if (job === this.job) scene.owner.fail(error);
    }
    if (job === this.job) this.done = true;
  }

  // The open layer is in sight of a strip that moves sideways.
  private show(): void {
    const { row, scene } = this;
    const open = this.cells.find(({ layer }) => layer === scene.state.layer);
    if (!open || open.layer === this.stood) return;
    this.stood = open.layer;
    if (row.scrollWidth <= row.clientWidth) return;
    const { offsetLeft, offsetWidth } = open.button;
    row.scrollLeft = offsetLeft - (row.clientWidth - offsetWidth) / 2;
  }

  destroy(): void {
    this.job++;
  }
}
