// Two columns of tokens with a picture between them that stands while the rows are scrolled.

import { widest } from "../draw/tokens";
import { Of } from "../scene/made";
import type { Scene } from "../scene/scene";
import { hoverColumns, type Place } from "./columns";
import { h } from "./dom";
import { fill, mark, tell } from "./tokens";

/** What a picture's geometry says of the rows: the height of one, of all, and of the window onto them. */
interface RowBox {
  readonly row: number;
  readonly tokens: number;
  readonly full: number;
  readonly height: number;
}

export class TokenRows {
  readonly left: HTMLElement;
  readonly right: HTMLElement;
  readonly body: HTMLElement;
  readonly scroller: HTMLElement;
  /** Width of the widest token. */
  widest = 100;
  private readonly stick: HTMLElement;
  private box: RowBox = { row: 1, tokens: 0, full: 0, height: 0 };
  private readonly filled = new Of();
  private frame = 0;
  /** How far the rows are scrolled: kept, for reading it would lay the page out. */
  offset = 0;

  constructor(
    private readonly scene: Scene,
    [from, to]: readonly [string, string],
    className: "hvbody" | "nvbody",
    canvases: readonly HTMLCanvasElement[],
    draw: () => void,
  ) {
    this.left = h("div.toks.l", { role: "listbox", tabindex: 0, "aria-label": from });
    this.right = h("div.toks.r", { role: "listbox", tabindex: 0, "aria-label": to });
    this.body = h(`div.${className}`, this.left, this.right);
    this.stick = h("div.stick", ...canvases);
    this.scroller = h("div.scroll", this.stick, this.body);
    this.scroller.addEventListener("scroll", () => {
      this.offset = this.scroller.scrollTop;
      this.frame ||= requestAnimationFrame(() => {
        this.frame = 0;
        if (!this.stale) draw();
      });
    });
    this.body.addEventListener("pointerleave", () => scene.leave());
    hoverColumns(
      scene,
      { from: this.left, to: this.right },
      { first: () => Math.ceil(this.scrolled / this.box.row), show: (place) => this.show(place) },
    );
  }

  /** Show the scene's tokens; true when they are others than before. */
  fill(): boolean {
    const { scene } = this;
    if (!this.filled.renewed(...this.of)) return false;
    this.widest = widest(scene.rows.items, scene.columns.items);
    fill(this.left, scene.rows.items, scene.input.picture);
    fill(this.right, scene.columns.items, scene.input.picture);
    return true;
  }

  /** The scene has other tokens, which are drawn when their maps are there. */
  get stale(): boolean {
    return this.filled.stale(...this.of);
  }

  /** What the columns show: it changes with the tokens. */
  get of(): readonly unknown[] {
    const { part, rows, columns } = this.scene;
    return [part, rows, columns];
  }

  lay(root: HTMLElement, box: RowBox, left: string, right: string): void {
    this.box = box;
    root.style.setProperty("--rh", `${box.row}px`);
    root.style.setProperty("--tw", `${box.tokens}px`);
    this.scroller.style.height = this.stick.style.height = `${box.height}px`;
    this.stick.style.marginBottom = `${-box.height}px`;
    this.body.classList.toggle("long", box.full > box.height);
    this.body.style.height = `${box.full}px`;
    this.left.style.cssText = left;
    this.right.style.cssText = right;
  }

  get scrolled(): number {
    return Math.min(this.offset, Math.max(0, this.box.full - this.box.height));
  }

  /** The first row that can be seen, and the one after the last. */
  get seen(): [number, number] {
    return [Math.floor(this.scrolled / this.box.row), Math.ceil((this.scrolled + this.box.height) / this.box.row)];
  }

  /** Scroll so that a row can be seen. */
  show(place: number): void {
    const y = place * this.box.row;
    if (y < this.scrolled || y + this.box.row > this.scrolled + this.box.height)
      this.scroller.scrollTop = y - this.box.height / 2;
  }

  /** Mark the tokens that are pointed at (`on`) and pinned, for eyes and for screen readers (`told`). */
  mark(on: Place, told: Place = on): void {
    const { pinned } = this.scene;
    for (const [column, side] of [
      [this.left, "from"],
      [this.right, "to"],
    ] as const) {
      mark(column, on?.[side] ?? null, "on");
      mark(column, pinned?.[side] ?? null, "pin");
      tell(column, told?.[side] ?? null, pinned?.[side] ?? null);
    }
  }
}
