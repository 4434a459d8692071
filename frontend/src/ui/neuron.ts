// One head, neuron by neuron: q of every query, k of every key, their product for one query, the score, the softmax.

import { strip, surface } from "../draw/canvas";
import { barAt, bars, barsHeight, block, drawRow } from "../draw/neurondraw";
import { type Item, name } from "../scene/axis";
import { PALETTES } from "../scene/color";
import { clamp, fixed, shown } from "../scene/format";
import { Of } from "../scene/made";
import type { NeuronBox } from "../scene/neuronlayout";
import { type Block, type Chart, Neurons, type Row, SIGNS, signed, strength, type Words } from "../scene/neurons";
import type { Scene } from "../scene/scene";
import { span } from "../scene/scores";
import type { Heeds } from "../scene/state";
import { answered, around, h, listen, touched } from "./dom";
import { TokenRows } from "./tokenrows";

const bold = (item: Item | undefined): HTMLElement => h("b", h("bdi", name(item)));

export class Neuron {
  static readonly heeds = { update: ["values"] } as const satisfies Heeds;
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly over = h("canvas.ov", { "aria-hidden": "true" });
  private readonly rows: TokenRows;
  private readonly axis = h("div.axis.n");
  private readonly ramp = h("canvas");
  private readonly key = h("div.dkey", h("span", SIGNS[0]), this.ramp, h("span", SIGNS[1]));
  private readonly about = h("div.sub");
  private readonly caption = h("div.sub");
  private readonly chartTitle = h("h3");
  private readonly chart = h("canvas", { role: "slider", tabindex: 0, "aria-valuemin": 0 });
  /** The neuron that is pointed at, by its number. */
  private readonly index = h("div.sub.index");
  /** What the chart shows: the token on its right, and how many neurons. */
  private charted = { to: 0, size: 1 };
  readonly root = h("div.nv", h("div.nvhead", this.key, this.about), this.axis);
  private box!: NeuronBox;
  private blocks: readonly Block[] = [];
  private readonly blocksOf = new Of();
  private row: Row | null = null;

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    this.rows = new TokenRows(scene, ["query", "key"], "nvbody", [this.canvas, this.over], () => this.draw());
    this.root.append(this.rows.scroller, this.caption, h("div.vector", this.chartTitle, this.chart, this.index));
    element.append(this.root);
    this.rows.body.addEventListener("pointermove", (event) => this.move(event));
    const read = (neuron: number): void =>
      scene.owner.hover(scene, { from: null, to: this.charted.to, neuron: clamp(neuron, 0, this.charted.size - 1) });
    listen(this.chart, {
      pointermove: ({ offsetX }) => read(Math.floor(barAt(offsetX, this.chart.clientWidth) * this.charted.size)),
      pointerleave: () => scene.leave(),
      blur: () => scene.leave(),
      keydown: (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!by) return;
        answered(event); // elsewhere arrows go from head to head
        read((scene.hovered?.neuron ?? -1) + by);
      },
    });
    this.rows.body.addEventListener("click", (event) => {
      const found = this.at(event);
      if (found && !around(event, ".tok")) scene.owner.pin(scene, found.where === "q" ? "from" : "to", found.row);
    });
  }

  private get open(): Neurons | null {
    return Neurons.of(this.scene);
  }

  update(width: number, tallest: number): void {
    const { scene, open } = this;
    if (!open) return;
    if (this.rows.fill() && open.layer.info.sinks)
      this.rows.right.append(
        h(
          "div.tok.sp.sink",
          { role: "option", "aria-disabled": "true" },
          h("span.t", { title: "A learned logit that takes part of the softmax and stands for no token" }, "sink"),
        ),
      );
    this.box = open.box({ width, widest: this.rows.widest, tallest, touch: touched() });
    const { box } = this;
    this.root.classList.toggle("slim", box.narrow);
    this.rows.lay(this.root, box, `left:0;width:${box.tokens}px`, `left:${box.right}px;width:${box.tokens}px`);
    this.axis.replaceChildren(
      ...open
        .heads(box)
        .map(({ x, width, title, below }) =>
          h("span", { style: `left:${x}px;width:${width}px` }, h("b", title), h("em", below)),
        ),
    );
    this.about.textContent = open.notes().join(" ");
    this.key.style.marginLeft = `${box.q}px`; // above the blocks whose colours it tells
    strip(this.ramp, PALETTES[scene.owner.theme].diverging, 96, 8);
    const { layer } = scene.state;
    if (this.blocksOf.renewed(...this.rows.of, layer, scene.head, open.vectors)) this.blocks = open.blocks();
    this.draw();
  }

  private draw(): void {
    const { box } = this;
    if (!this.open) return;
    const context = surface(this.canvas, box.width, box.height);
    for (const { name, vectors, scale } of this.blocks) this.block(context, box[name], vectors, scale);
    this.focus();
  }

  // The rows of a block that can be seen.
  private block(pen: CanvasRenderingContext2D, x: number, vectors: Row["products"], scale: number): void {
    const { scrolled, seen } = this.rows;
    block(pen, this.box, x, seen[0], vectors.slice(...seen), scale, this.scene.owner.theme, scrolled);
  }

  /** Another query is followed, or a neuron pointed at. */
  focus(): void {
    const { scene, box, open } = this;
    const { scrolled, seen, right, stale } = this.rows;
    const row = stale ? null : open?.row();
    if (!open || !row) return;
    this.row = row;
    const pen = surface(this.over, box.width, box.height);
    this.block(pen, box.product, row.products, span(row.products));
    this.rows.mark({ from: row.query, to: scene.hovered?.to ?? null }, scene.hovered);
    drawRow(pen, scene, box, row, open.links(row.query), seen, box.height, scrolled);
    for (let b = seen[0]; b < Math.min(seen[1], row.weights.length); b++)
      (right.children[b] as HTMLElement).style.opacity = String(strength(row, b));
    const { neuron } = scene.hovered ?? {};
    if (neuron !== undefined) {
      pen.strokeStyle = scene.owner.ink("--ink");
      pen.lineWidth = 1;
      const cell = box.block / open.size;
      for (const x of [box.q, box.k, box.product])
        pen.strokeRect(x + neuron * cell - 0.5, 0.5, cell + 1, box.height - 1);
    }
    this.describe(open, row, neuron);
  }

  private describe(open: Neurons, row: Row, neuron: number | undefined): void {
    const { scene, box } = this;
    const looks = open.looks(row);
    if (!looks) return;
    const { from, best, said } = looks;
    const words = (said: Words) => said.map((one) => (typeof one === "string" ? one : bold(one)));
    const hint = touched()
      ? " Tap a query to follow it, a key for its vector."
      : " Point at a query to follow it, a key for its vector; click to pin.";
    this.caption.replaceChildren(...words(said), hint);
    const item = scene.columns.items[scene.hovered?.to ?? scene.pinned?.to ?? best];
    if (!item) return;
    const { title, charts } = open.charts(from, item);
    this.chartTitle.replaceChildren(...words(title));
    const width = Math.min(box.width, 900);
    const { theme, ink } = scene.owner;
    bars(surface(this.chart, width, barsHeight(charts)), width, charts, neuron, theme, ink);
    const number = ({ name, values }: Chart): string => `${name} ${signed(values[neuron!]!)}`;
    const numbers = neuron === undefined ? "" : `Neuron ${neuron}: ${charts.map(number).join(", ")}`;
    this.index.textContent =
      numbers || (touched() ? "Tap a bar to read a neuron." : "Point at a bar, or press ← →, to read a neuron.");
    this.charted = { to: scene.columns.items.indexOf(item), size: open.size };
    const attributes = {
      "aria-label": `Neurons of ${shown(from.text)} and ${shown(item.text)}`,
      "aria-valuemax": open.size - 1,
      "aria-valuenow": neuron ?? 0,
      "aria-valuetext": numbers || "none",
    };
    for (const [name, value] of Object.entries(attributes)) this.chart.setAttribute(name, String(value));
  }

  private at(event: MouseEvent): { where: "q" | "k" | "product" | "row"; row: number; neuron: number } | null {
    const bounds = this.rows.body.getBoundingClientRect();
    const [x, row] = [event.clientX - bounds.left, Math.floor((event.clientY - bounds.top) / this.box.row)];
    const size = this.open?.size ?? 1;
    for (const [where, left] of [
      ["q", this.box.q],
      ["k", this.box.k],
      ["product", this.box.product],
    ] as const) {
      const neuron = Math.floor(((x - left) / this.box.block) * size);
      const rows = where === "q" ? this.scene.rows.items.length : this.scene.columns.items.length;
      if (neuron >= 0 && neuron < size) return row >= 0 && row < rows ? { where, row, neuron } : null;
    }
    const rows = this.scene.columns.items.length + (this.row?.sink ? 1 : 0);
    return x > this.box.dot && x < this.box.right && row >= 0 && row < rows ? { where: "row", row, neuron: -1 } : null;
  }

  private move(event: PointerEvent): void {
    const { scene, open } = this;
    if (!open || around(event, ".tok")) return;
    const found = this.at(event);
    if (!found) return scene.leave();
    const { where, row, neuron } = found;
    const line = (label: string, text: string): HTMLElement => h("tr", h("td", label), h("td.n", text));
    if (where === "q") {
      scene.owner.hover(scene, { from: null, to: null, neuron });
      const item = scene.rows.items[row];
      const x = item ? open.q(item)[neuron]! : NaN;
      return scene.owner.tip(h("div", bold(item), h("span.dim", ` q, neuron ${neuron} `), signed(x)), event);
    }
    const query = scene.rows.items[scene.pinned?.from ?? open.query];
    const { sink } = this.row ?? {};
    if (sink && row === scene.columns.items.length) {
      const content = h("table", line("logit", signed(sink.logit)), line("takes", fixed(sink.weight, 4)));
      return scene.owner.tip(h("div", bold(query), " → ", h("b", "sink"), content), event);
    }
    scene.owner.hover(scene, where === "row" ? { from: null, to: row } : { from: null, to: row, neuron });
    const item = scene.columns.items[row];
    const title = [bold(query), " → ", bold(item)];
    if (!query || !item || !this.row) return;
    if (where === "row") {
      const { masked, weights } = this.row;
      const content = masked[row]
        ? h("div.dim", "this query cannot see this key")
        : h(
            "table",
            ...open.steps(this.row, row).map(([label, x]) => line(label, signed(x))),
            line("softmax: weight", fixed(weights[row]!, 4)),
          );
      return scene.owner.tip(h("div", ...title, content), event);
    }
    const [a, b] = [open.q(query)[neuron]!, open.k(item)[neuron]!];
    scene.owner.tip(
      h(
        "div",
        ...title,
        h("span.dim", ` neuron ${neuron}`),
        h("table", line("q", signed(a)), line("k", signed(b)), line("q × k", signed(a * b))),
      ),
      event,
    );
  }
}
