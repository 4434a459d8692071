// One layer's open heads: two columns of tokens with lines between them.

import { ratio, surface } from "../draw/canvas";
import type { View } from "../draw/golddraw";
import { cost, drawHead, drawLines, others } from "../draw/headdraw";
import { type Item, name } from "../scene/axis";
import { type Shown, value } from "../scene/cut";
import { brief, figure, plural } from "../scene/format";
import { concerns, inWords } from "../scene/gold";
import { above, type HeadBox, headBoxOf, middle } from "../scene/headlayout";
import { type Lines, linesAtRest, linesCaption, linesOf, linesSaid } from "../scene/lines";
import { Of } from "../scene/made";
import { lineAt } from "../scene/pick";
import { nameOf } from "../scene/quantities";
import { type Focus, focusOn, type Scene } from "../scene/scene";
import { type Heeds, valuesOf } from "../scene/state";
import { h, touched } from "./dom";
import { TokenRows } from "./tokenrows";
import { mark, placeOf } from "./tokens";

/** What is drawn at once, in hairlines; the rest follows, a part a frame. */
const AT_ONCE = 800;

interface HeadSpace {
  readonly width: number;
  readonly tallest: number;
}

export class HeadLines {
  static readonly heeds = { update: ["gold", "threshold", "top_k"] } as const satisfies Heeds;
  // Two canvases between the columns for all lines, and one across for what is pointed at.
  private readonly under = h("canvas.base", { "aria-hidden": "true" });
  private readonly base = h("canvas.base", { "aria-hidden": "true" });
  private readonly over = h("canvas.over", { "aria-hidden": "true" });
  private readonly rows: TokenRows;
  private readonly axis = h("div.axis");
  readonly caption = h("div.sub");
  readonly root = h("div.hv", { role: "group" }, this.axis);
  private box!: HeadBox;
  private lines: Lines = { buffer: new Uint32Array(), count: 0, left: 0 };
  private about = "";
  private readonly laid = new Of();
  private readonly drawn = new Of();
  private readonly focused = new Of();
  private job = 0;
  /** The lower canvas shows lines. */
  private below = false;
  done = true;

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    this.rows = new TokenRows(scene, ["from (query)", "to (key)"], "hvbody", [this.under, this.base, this.over], () =>
      this.draw(),
    );
    this.root.append(this.rows.scroller, this.caption);
    element.append(this.root);
    for (const [column, side] of [
      [this.rows.left, "from"],
      [this.rows.right, "to"],
    ] as const) {
      column.addEventListener("pointermove", (event) => this.tip(event, side));
    }
    this.rows.body.addEventListener("click", (event) => {
      if (event.target === this.rows.body) this.pick(event);
    });
  }

  update(space: HeadSpace): void {
    const { scene } = this;
    this.rows.fill();
    const maps = scene.shown();
    this.root.setAttribute(
      "aria-label",
      `${scene.name()}${maps.length > 1 ? ` and ${maps.length - 1} more` : ""}: attention from ${plural(scene.rows.items.length, "token")} to ${scene.columns.items.length}`,
    );
    this.box = headBoxOf(scene, { ...space, widest: this.rows.widest, touch: touched() });
    this.lay();
    // Only what has changed is drawn: the grid's measure, say, does not touch the lines.
    const looks = [scene.owner.theme, ratio(), ...valuesOf(scene.state, HeadLines.heeds.update)];
    if (this.drawn.renewed(maps, this.box, this.rows.offset, ...looks)) this.draw();
    else if (this.focused.stale(scene.focus)) this.focus();
  }

  private lay(): void {
    const { box } = this;
    if (!this.laid.renewed(...this.rows.of, box)) return;
    this.rows.lay(
      this.root,
      box,
      `left:0;width:${box.x0}px`,
      `left:${box.x1}px;width:${box.tokens + box.stripRight}px`,
    );
  }

  private get scrolled(): number {
    return this.rows.scrolled;
  }

  private draw(): void {
    const { scene, box } = this;
    const maps = scene.shown();
    const [from, to] = this.rows.seen;
    const lines = (scene.owner.printing ? linesOf : linesAtRest)(scene, from, to);
    this.lines = lines;
    const base = this.between(this.base);
    // The lower canvas is touched only when it has something, or had: every canvas that changes is composited anew.
    if (this.below) this.between(this.under);
    this.below = false;
    let next = lines.count - 1;
    const take = (): [number, number] => {
      const last = next;
      let spent = 0;
      while (next >= 0 && (spent < AT_ONCE || scene.owner.printing)) spent += cost(maps, lines, next--);
      return [next + 1, last];
    };
    drawLines(this.on(base), lines, ...take());
    const job = ++this.job;
    this.done = next < 0;
    const rest = (): void => {
      if (job !== this.job) return;
      if (next >= 0) {
        const under = this.below ? this.under.getContext("2d")! : this.between(this.under);
        this.below = true;
        drawLines(this.on(under), lines, ...take());
        requestAnimationFrame(rest);
      } else this.done = true;
    };
    if (!this.done) requestAnimationFrame(rest);
    const rows = scene.rows.items.length;
    const part = box.full > box.height ? ` · rows ${from + 1}–${Math.min(to, rows)} of ${rows}` : "";
    this.about = lines.count === 0 ? "" : `${linesSaid(scene, lines)}${part}. `;
    this.focus();
  }

  private on(pen: CanvasRenderingContext2D): View {
    const { scene, box, scrolled } = this;
    return { pen, scene, box, maps: scene.shown(), scrolled };
  }

  // A canvas between the columns, which draws in the picture's own coordinates.
  private between(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
    const { x0, x1, height } = this.box;
    canvas.style.left = `${x0}px`;
    const context = surface(canvas, x1 - x0, height);
    context.translate(-x0, 0);
    return context;
  }

  /** Only what is pointed at has changed. */
  focus(): void {
    const { scene, box } = this;
    if (this.rows.stale) return;
    const { focus } = scene;
    this.focused.renewed(focus);
    this.base.style.opacity = this.under.style.opacity = String(others(scene));
    this.rows.mark(focus);
    drawHead(this.on(surface(this.over, box.width, box.height)));
    this.caption.replaceChildren(
      h("span", { "data-export": "no" }, `${this.about}${hint(scene)}`),
      h("span.saved", linesCaption(scene, this.lines)),
    );
    this.axis.replaceChildren(
      ...above(scene, box).map(({ text, x, align, head }) => {
        const place = align === "right" ? `right:${box.width - x}px` : `left:${x}px`;
        const color = head === undefined ? "" : `;color:${scene.color(head)}`;
        return h(head === undefined ? "span.cap" : "span.cap.hn", { style: place + color }, text);
      }),
    );
  }

  // A click on a line shows its pair's numbers.
  private pick(event: MouseEvent): void {
    const { scene, box } = this;
    const bounds = this.rows.body.getBoundingClientRect();
    const x = event.clientX - bounds.left;
    const pair = lineAt(box, this.lines, this.scrolled, x, event.clientY - bounds.top - this.scrolled);
    scene.owner.hover(scene, pair);
    scene.owner.tip(pair && pairTip(scene, pair.from, pair.to), event);
  }

  private tip(event: PointerEvent, side: "from" | "to"): void {
    const { scene } = this;
    const place = placeOf(event);
    if (place === null) return;
    const maps = scene.shown();
    const { pinned } = scene;
    const [rows, columns] = [scene.rows.items, scene.columns.items];
    const links = linkTable(scene, focusOn(side, place));
    let content: Node;
    if (pinned && (side === "from" ? pinned.to : pinned.from) !== null) {
      content = pairTip(scene, side === "from" ? place : pinned.from!, side === "to" ? place : pinned.to!);
    } else if (maps.length === 1) {
      // The numbers of one head stand in the strip.
      if (!links) return scene.owner.tip(null);
      content = h("div", links);
    } else {
      const items = side === "from" ? columns : rows;
      const at = (map: Shown, other: number): number =>
        value(map, side === "from" ? place * map.columns + other : other * map.columns + place);
      const row = (map: Shown): HTMLElement => {
        let best = 0;
        items.forEach((_, other) => {
          if (Math.abs(at(map, other)) > Math.abs(at(map, best))) best = other;
        });
        return headRow(scene, map, figure(at(map, best)), name(items[best]));
      };
      const about = side === "from" ? "looks most at" : "is most looked at by";
      content = h(
        "div",
        h("b", h("bdi", name((side === "from" ? rows : columns)[place]))),
        h("span.dim", ` ${about}`),
        h("table", ...maps.slice(0, 16).map(row)),
        links,
        maps.length > 16 && h("div.dim", `and ${maps.length - 16} more heads`),
      );
    }
    const bounds = this.rows.scroller.getBoundingClientRect();
    const clientY = bounds.top + middle(this.box, place, this.scrolled) - 10;
    // The tip stands in the strip that the focus has left empty: never over tokens or lines.
    const { stripLeft, x1, tokens } = this.box;
    if (side === "from") scene.owner.tip(content, { clientX: bounds.left + stripLeft - 4, clientY }, "left");
    else scene.owner.tip(content, { clientX: bounds.left + x1 + tokens + 4, clientY }, "right");
  }

  /** Scroll so that a token can be seen. */
  reveal(side: "from" | "to", place: number): void {
    this.rows.show(place);
    mark(side === "from" ? this.rows.left : this.rows.right, place, "hit");
  }

  hits(from: readonly number[], to: readonly number[]): void {
    for (const [column, places] of [
      [this.rows.left, from],
      [this.rows.right, to],
    ] as const) {
      column.querySelectorAll(".hit").forEach((row) => row.classList.remove("hit"));
      for (const place of places) column.children[place]?.classList.add("hit");
    }
  }

  destroy(): void {
    this.job++;
  }
}

/** What can be done next. */
function hint({ pinned, pair }: Scene): string {
  const finger = touched();
  if (pair)
    return finger
      ? "Tap other tokens to move the pair; “clear” lets it go."
      : "Click other tokens to move the pair, Esc lets it go.";
  const other = pinned?.from != null ? "right" : "left";
  if (pinned)
    return `${finger ? "Tap" : "Click"} a token on the ${other}: all heads are ranked by the weight between the two. ${finger ? "Tap the pinned one to let go." : "Esc lets go."}`;
  return finger
    ? "Tap a token to see its lines, and what each head makes of it."
    : "Point at a token to see its lines, and what each head makes of it; click to pin it.";
}

function headRow(scene: Scene, map: Shown, text: string, what = ""): HTMLElement {
  const swatch = h("i.sw", { style: `background:${scene.color(map.head)}` });
  return h("tr", h("td", swatch, scene.name(map.head)), h("td", h("bdi", what)), h("td.n", text));
}

/** The gold links of a token or a pair, for a tip; null where it has none. */
function linkTable(scene: Scene, focus: Focus): HTMLElement | null {
  const links = scene.judged().filter(({ gold }) => concerns(gold, focus));
  const rows = links.slice(0, 8).map((link) => {
    const { label, pair, verdict } = inWords(scene.rows.items, scene.columns.items, link);
    return h(
      "tr",
      h("td", h("span", { class: link.right ? "isright" : "iswrong" }, link.right ? "✓ " : "✗ "), label),
      h("td", h("bdi", pair)),
      h("td.n", h("bdi", verdict)),
    );
  });
  return rows.length > 0 ? h("table", ...rows) : null;
}

/** Everything that is known of a pair: each open head, and every other matrix of the open one. */
export function pairTip(scene: Scene, from: number, to: number): HTMLElement {
  const maps = scene.shown();
  const [row, column] = [scene.rows.items[from], scene.columns.items[to]];
  const rows = maps.slice(0, 16).map((map) => {
    const found = headRow(scene, map, figure(value(map, from * map.columns + to), map.scale < 0.05 ? 5 : 3));
    const single = row && column && row.end === row.start + 1 && column.end === column.start + 1;
    if (!single || map.head < 0 || scene.against) return found;
    // Where a kernel stands behind the page, the byte's value gives way to the exact one.
    void scene.owner.exact(scene, map.head, scene.state.quantity, row.start)?.then(
      (values) => {
        const exact = values[column.start];
        if (exact !== undefined) found.lastElementChild!.textContent = brief(exact, 6);
      },
      () => undefined,
    );
    return found;
  });
  const others =
    scene.many || scene.aggregated || scene.against
      ? []
      : ["weights", ...scene.part.quantities.map((quantity) => quantity.name)];
  for (const quantity of others) {
    if (quantity === scene.state.quantity) continue;
    const map = scene.map(scene.state.layer, scene.head, quantity);
    const written = quantity === "weights" ? figure : brief;
    if (map)
      rows.push(h("tr", h("td", nameOf(quantity)), h("td"), h("td.n", written(value(map, from * map.columns + to)))));
  }
  const named = (item: Item | undefined): HTMLElement =>
    h("b", h("bdi", name(item)), item?.id == null ? null : h("span.dim", ` ${item.id}`));
  return h(
    "div",
    named(row),
    " → ",
    named(column),
    h("table", ...rows),
    linkTable(scene, { from, to }),
    scene.hides(from, to) && h("div.dim", "not seen: the mask hides it"),
  );
}
