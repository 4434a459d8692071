// One head, neuron by neuron: q of every query, k of every key, their product for one query, the score, the softmax.

import { area, strip, surface } from "../draw/canvas";
import { markTokens, outlines } from "../draw/golddraw";
import { bars, block, connectors, numbers } from "../draw/neurondraw";
import { PALETTES } from "../scene/color";
import { value } from "../scene/cut";
import { brief, figure, fixed, shown } from "../scene/format";
import { concerns } from "../scene/gold";
import { type NeuronBox, neuronBox } from "../scene/neuronlayout";
import type { Scene } from "../scene/scene";
import { product, type Scores, scores, span, vector } from "../scene/scores";
import type { LayerNeurons } from "../scene/source";
import { headsOf, unread } from "../scene/state";
import { h, touched } from "./dom";
import { TokenRows } from "./tokenrows";

/** The shown keys of the query that is followed. */
interface Row extends Scores {
  readonly weights: Float32Array;
  readonly sink: { readonly logit: number; readonly weight: number } | null;
}

const signed = (x: number): string => (x < 0 ? "" : "+") + fixed(x, 2);

export class Neuron {
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly over = h("canvas.ov", { "aria-hidden": "true" });
  private readonly rows: TokenRows;
  private readonly axis = h("div.axis.n");
  private readonly ramp = h("canvas");
  private readonly key = h("div.dkey", {}, h("span", {}, "negative"), this.ramp, h("span", {}, "positive"));
  private readonly about = h("div.sub");
  private readonly caption = h("div.sub");
  private readonly chartTitle = h("h3");
  private readonly chart = h("canvas", { role: "img" });
  readonly root = h("div.nv", {}, h("div.nvhead", {}, this.about, h("span.grow"), this.key), this.axis);
  private box!: NeuronBox;
  private spans = { key: "", q: 1, k: 1, v: 1 };
  private row: Row | null = null;

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    this.rows = new TokenRows(scene, ["query", "key"], "nvbody", [this.canvas, this.over], () => this.draw());
    this.root.append(this.rows.scroller, this.caption, h("div.vector", {}, this.chartTitle, this.chart));
    element.append(this.root);
    this.rows.body.addEventListener("pointermove", (event) => this.move(event));
    this.rows.body.addEventListener("click", (event) => {
      const found = this.at(event);
      if (found && !(event.target instanceof Element && event.target.closest(".tok")))
        scene.owner.pin(scene, found.where === "q" ? "from" : "to", found.row, event.shiftKey);
    });
  }

  private get layer(): LayerNeurons | undefined {
    const { data, part, state, head } = this.scene;
    return unread(part, state.layer, head) ? undefined : data.neurons(part, state.layer);
  }

  /** The head's place among those of its layer whose queries are here. */
  private get place(): number {
    return this.layer?.info.heads.indexOf(this.scene.head) ?? 0;
  }

  /** The query that is followed: pointed at, pinned, or the first that is no special token. */
  private get query(): number {
    const { hovered, pinned, rows } = this.scene;
    if (hovered?.from != null) return hovered.from;
    if (pinned?.from != null) return pinned.from;
    const first = rows.items.findIndex((item) => !item.special);
    const start = this.scene.part.causal ? rows.items.length - 1 : first;
    return Math.max(0, start);
  }

  update(width: number, tallest: number): void {
    const { scene, layer } = this;
    if (!layer) return;
    if (this.rows.fill() && layer.info.sinks)
      this.rows.right.append(
        h(
          "div.tok.sp.sink",
          { role: "option", "aria-disabled": "true" },
          h("span.t", { title: "A learned logit that takes part of the softmax and stands for no token" }, "sink"),
        ),
      );
    const { values } = scene.state;
    const sinks = layer.info.sinks ? 1 : 0;
    this.box = neuronBox({
      width,
      rows: Math.max(scene.rows.items.length, scene.columns.items.length + sinks),
      tokens: Math.max(scene.part.query.pieces.length, scene.part.key.pieces.length),
      widest: this.rows.widest,
      size: layer.q.shape[2],
      vectors: values && layer.v !== null,
      norms: values && scene.part.quantities.some((quantity) => quantity.name === "norms"),
      tallest,
      touch: touched(),
    });
    const { box } = this;
    this.root.classList.toggle("slim", box.narrow);
    this.rows.lay(this.root, box, `left:0;width:${box.tokens}px`, `left:${box.right}px;width:${box.tokens}px`);
    this.heading(layer);
    strip(this.ramp, PALETTES[scene.owner.theme].diverging, 96, 8);
    const spans = `${this.rows.key}|${scene.state.layer}|${scene.head}`;
    if (this.spans.key !== spans) {
      const head = layer.info.key_head[this.place] ?? 0;
      this.spans = {
        key: spans,
        q: span(scene.rows.items.map((item) => vector(layer.q, this.place, item.start))),
        k: span(scene.columns.items.map((item) => vector(layer.k, head, item.start))),
        v: layer.v ? span(scene.columns.items.map((item) => vector(layer.v!, head, item.start))) : 1,
      };
    }
    this.draw();
  }

  private heading(layer: LayerNeurons): void {
    const { box, scene } = this;
    const { info } = layer;
    const cap = (x: number, width: number, title: string, below: string): HTMLElement =>
      h("span", { style: `left:${x}px;width:${width}px` }, h("b", {}, title), h("em", {}, below));
    const made = [scaling(layer), info.bias && "+ bias"].filter(Boolean).join(" ") || "not scaled";
    // Where there is little room the note above names the key head.
    const shared = info.groups > 1 && !box.narrow;
    this.axis.replaceChildren(
      cap(box.q, box.block, "q", "query"),
      cap(box.k, box.block, "k", shared ? `key head ${info.keys[info.key_head[this.place] ?? 0]}` : "key"),
      cap(box.product, box.block, box.narrow ? "q×k" : "q × k", box.narrow ? "each" : "elementwise"),
      cap(box.dot - 6, box.dotWidth + 12, box.narrow ? "q·k" : "q · k", made),
      cap(box.soft - (box.narrow ? 8 : 0), box.softWidth + (box.narrow ? 16 : 0), "softmax", "weight"),
    );
    if (box.v) this.axis.append(cap(box.v, box.block, "v", "value"));
    if (box.norm)
      this.axis.append(cap(box.norm - (box.narrow ? 8 : 0), box.normWidth + (box.narrow ? 8 : 0), "‖αvWₒ‖", "added"));
    const notes: string[] = [];
    if (info.groups > 1) {
      const served = info.keys[info.key_head[this.place] ?? 0]! * info.groups;
      notes.push(
        `Key head ${info.keys[info.key_head[this.place] ?? 0]} serves query heads ${served} to ${served + info.groups - 1}.`,
      );
    }
    if (info.softcap) notes.push(`Scores are capped softly: ${info.softcap} · tanh(score / ${info.softcap}).`);
    if (info.bias) notes.push("A bias of the pair's positions is added to the scores.");
    if (scene.part.hidden) notes.push("A mask hides some keys from some queries: they are not seen.");
    if (info.sinks) notes.push("A learned sink, no token, takes part of each row.");
    if (scene.part.causal) notes.push("A query sees only itself and what stands before it.");
    if (scene.state.unit === "words") notes.push("Neurons are those of pieces.");
    this.about.textContent = notes.join(" ");
  }

  private draw(): void {
    const { scene, box, layer, place } = this;
    if (!layer) return;
    const { theme } = scene.owner;
    const {
      scrolled,
      seen: [first, last],
    } = this.rows;
    const head = layer.info.key_head[place] ?? 0;
    const context = surface(this.canvas, box.width, box.height);
    const [rows, columns] = [scene.rows.items.slice(first, last), scene.columns.items.slice(first, last)];
    block(
      context,
      box,
      box.q,
      first,
      rows.map((item) => vector(layer.q, place, item.start)),
      this.spans.q,
      theme,
      scrolled,
    );
    block(
      context,
      box,
      box.k,
      first,
      columns.map((item) => vector(layer.k, head, item.start)),
      this.spans.k,
      theme,
      scrolled,
    );
    if (box.v && layer.v)
      block(
        context,
        box,
        box.v,
        first,
        columns.map((item) => vector(layer.v!, head, item.start)),
        this.spans.v,
        theme,
        scrolled,
      );
    this.focus();
  }

  /** Another query is followed, or a neuron pointed at. */
  focus(): void {
    const { scene, box, layer, place } = this;
    if (!layer || this.rows.stale) return;
    const { theme, ink } = scene.owner;
    const query = this.query;
    const item = scene.rows.items[query];
    if (!item) return;
    const map = scene.map(scene.state.layer, scene.head, "weights");
    if (!map) return;
    const columns = scene.columns.items;
    const weights = Float32Array.from(columns, (_, b) => value(map, query * map.columns + b));
    const found = scores(layer, place, item.start, (key) =>
      scene.data.unseen(scene.part, scene.state.layer, scene.head, item.start, key),
    );
    const pick = (from: Float32Array): Float32Array => Float32Array.from(columns, (column) => from[column.start]!);
    const row: Row = {
      dots: pick(found.dots),
      bias: found.bias && pick(found.bias),
      scores: pick(found.scores),
      masked: Uint8Array.from(columns, (column) => found.masked[column.start]!),
      weights,
      sink: this.sink(layer, item.start),
    };
    this.row = row;
    const normMap = box.norm ? scene.map(scene.state.layer, scene.head, "norms") : null;
    const norm = (b: number): number | null => (normMap ? value(normMap, query * normMap.columns + b) : null);
    const {
      scrolled,
      seen: [first, last],
    } = this.rows;
    const y = (at: number): number => at * box.row + box.row / 2 - scrolled;
    const keyHead = layer.info.key_head[place] ?? 0;
    const mine = vector(layer.q, place, item.start);
    const products = columns
      .slice(first, last)
      .map((column, at) => (row.masked[first + at] ? null : product(mine, vector(layer.k, keyHead, column.start))));
    const pen = surface(this.over, box.width, box.height);
    block(pen, box, box.product, first, products, span(products.filter((each) => each !== null)), theme, scrolled);
    this.rows.mark({ from: query, to: scene.hovered?.to ?? null }, scene.hovered);
    // Other queries recede.
    const top = query * box.row - scrolled;
    area(pen, ink("--veil"), box.q - 1, -2, box.block + 2, top + 2);
    pen.fillRect(box.q - 1, top + box.row, box.block + 2, box.height);
    pen.strokeStyle = scene.accent;
    pen.lineWidth = 1.5;
    pen.strokeRect(box.q - 1.25, top + 0.75, box.block + 2.5, box.row - 1.5);
    connectors(
      pen,
      box,
      y(query),
      columns
        .map((_, b) => ({ y: y(b), weight: row.weights[b]! }))
        .filter((each) => each.y > -40 && each.y < box.height + 40),
      scene.accent,
    );
    const most = { score: 1e-6, norm: 1e-9 };
    columns.forEach((_, b) => {
      if (!row.masked[b]) most.score = Math.max(most.score, Math.abs(row.scores[b]!));
      most.norm = Math.max(most.norm, norm(b) ?? 0);
    });
    pen.fillStyle = ink("--line2");
    if (!box.narrow) pen.fillRect(Math.round(box.dot + box.dotWidth * 0.36), -scrolled, 1, columns.length * box.row);
    for (let b = first; b < Math.min(last, columns.length); b++) {
      numbers(
        pen,
        box,
        y(b),
        { score: row.scores[b]!, weight: row.weights[b]!, masked: row.masked[b] === 1, norm: norm(b) },
        most,
        theme,
        ink,
        scene.accent,
      );
      (this.rows.right.children[b] as HTMLElement).style.opacity = row.masked[b]
        ? "0.35"
        : String(0.6 + 0.4 * Math.min(1, Math.sqrt(row.weights[b]!) * 1.6));
    }
    if (row.sink)
      numbers(
        pen,
        box,
        y(columns.length),
        { score: row.sink.logit, weight: row.sink.weight, masked: false, norm: null },
        most,
        theme,
        ink,
        scene.accent,
      );
    const links = scene.judged().filter(({ gold }) => concerns(gold, { from: query, to: null }));
    outlines(
      pen,
      scene,
      links,
      { left: box.tokens, right: box.right, most: box.tokens, row: box.row, height: box.height },
      scrolled,
    );
    for (const link of links) {
      if (link.gold.side === "from") markTokens(pen, scene, link, { right: box.right, row: box.row }, scrolled);
    }
    const { neuron } = scene.hovered ?? {};
    if (neuron !== undefined) {
      pen.strokeStyle = ink("--ink");
      pen.lineWidth = 1;
      const cell = box.block / layer.q.shape[2];
      for (const x of [box.q, box.k, box.product])
        pen.strokeRect(x + neuron * cell - 0.5, 0.5, cell + 1, box.height - 1);
    }
    this.describe(query, row, neuron, mine, keyHead);
  }

  // What the sink of this head takes of a query's row.
  private sink(layer: LayerNeurons, query: number): Row["sink"] {
    const { part, state, data, head } = this.scene;
    const logit = layer.info.sinks?.[this.place];
    if (logit === undefined) return null;
    const given = part.sink?.[part.index.indexOf(state.layer)];
    const byte =
      (given && data.array(given)?.[headsOf(part, state.layer).indexOf(head) * layer.q.shape[1] + query]) ?? 0;
    return { logit, weight: given?.encoding === "sqrt" ? (byte / 255) ** 2 : byte };
  }

  private describe(query: number, row: Row, neuron: number | undefined, mine: Float32Array, keyHead: number): void {
    const { scene, layer, box } = this;
    const columns = scene.columns.items;
    let best = 0;
    row.weights.forEach((w, b) => {
      if (w > row.weights[best]!) best = b;
    });
    const [from, to] = [scene.rows.items[query]!, columns[best]];
    if (!layer || !to) return;
    const bold = (item: typeof to): HTMLElement => h("b", {}, h("bdi", {}, item.mark + item.text));
    const strong = [...product(mine, vector(layer.k, keyHead, to.start))]
      .map((x, d) => [x, d] as const)
      .sort((a, b) => b[0] - a[0])
      .slice(0, 3);
    this.caption.replaceChildren(
      bold(from),
      " looks most at ",
      bold(to),
      ` (${figure(row.weights[best]!)}); neurons ${strong.map((each) => each[1]).join(", ")} add most to that score (in this basis: turning q and k alike gives others, and the same score). ${touched() ? "Tap a query to follow it, a key for its vector." : "Hover a query to follow it, a key for its vector; click to pin."}`,
    );
    const key = scene.hovered?.to ?? scene.pinned?.to ?? best;
    const item = columns[key];
    if (!item) return;
    const theirs = vector(layer.k, keyHead, item.start);
    this.chartTitle.replaceChildren("All neurons of ", bold(from), " (q) and ", bold(item), " (k)");
    const charts = [
      { name: "q", values: mine },
      { name: "k", values: theirs },
      { name: "q × k", values: product(mine, theirs) },
    ];
    if (box.v && layer.v) charts.push({ name: "v", values: vector(layer.v, keyHead, item.start) });
    bars(this.chart, Math.min(box.width, 900), charts, neuron, scene.owner.theme, scene.owner.ink);
    this.chart.setAttribute("aria-label", `Neurons of ${shown(from.text)} and ${shown(item.text)}`);
  }

  private at(event: MouseEvent): { where: "q" | "k" | "product" | "row"; row: number; neuron: number } | null {
    const bounds = this.rows.body.getBoundingClientRect();
    const [x, row] = [event.clientX - bounds.left, Math.floor((event.clientY - bounds.top) / this.box.row)];
    const size = this.layer?.q.shape[2] ?? 1;
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
    const { scene, layer, place } = this;
    if (!layer || (event.target instanceof Element && event.target.closest(".tok"))) return;
    const found = this.at(event);
    if (!found) return scene.leave();
    const { where, row, neuron } = found;
    const name = (item: { mark: string; text: string } | undefined): HTMLElement =>
      h("b", {}, h("bdi", {}, item ? item.mark + item.text : ""));
    const line = (label: string, text: string): HTMLElement => h("tr", {}, h("td", {}, label), h("td.n", {}, text));
    if (where === "q") {
      scene.owner.hover(scene, { from: null, to: null, neuron });
      const item = scene.rows.items[row];
      const x = item ? vector(layer.q, place, item.start)[neuron]! : NaN;
      return scene.owner.tip(
        h("div", {}, name(item), h("span.dim", {}, ` q, neuron ${neuron} `), signed(x)),
        event.clientX,
        event.clientY,
      );
    }
    const query = scene.rows.items[scene.pinned?.from ?? this.query];
    const { sink } = this.row ?? {};
    if (sink && row === scene.columns.items.length) {
      const content = h("table", {}, line("logit", signed(sink.logit)), line("takes", fixed(sink.weight, 4)));
      return scene.owner.tip(
        h("div", {}, name(query), " → ", h("b", {}, "sink"), content),
        event.clientX,
        event.clientY,
      );
    }
    scene.owner.hover(scene, where === "row" ? { from: null, to: row } : { from: null, to: row, neuron });
    const item = scene.columns.items[row];
    const title = [name(query), " → ", name(item)];
    if (!query || !item || !this.row) return;
    if (where === "row") {
      const { masked, weights } = this.row;
      const content = masked[row]
        ? h("div.dim", {}, "this query cannot see this key")
        : h(
            "table",
            {},
            ...steps(layer, this.row, row).map(([label, x]) => line(label, signed(x))),
            line("softmax: weight", fixed(weights[row]!, 4)),
          );
      return scene.owner.tip(h("div", {}, ...title, content), event.clientX, event.clientY);
    }
    const [a, b] = [
      vector(layer.q, place, query.start)[neuron]!,
      vector(layer.k, layer.info.key_head[place] ?? 0, item.start)[neuron]!,
    ];
    scene.owner.tip(
      h(
        "div",
        {},
        ...title,
        h("span.dim", {}, ` neuron ${neuron}`),
        h("table", {}, line("q", signed(a)), line("k", signed(b)), line("q × k", signed(a * b))),
      ),
      event.clientX,
      event.clientY,
    );
  }
}

/** How q·k is scaled, as the heading says it; null where it is not. */
function scaling({ info, q }: LayerNeurons): string | null {
  const size = q.shape[2];
  if (Math.abs(info.scaling * Math.sqrt(size) - 1) < 1e-4) return `÷ √${size}`;
  return info.scaling === 1 ? null : `× ${brief(info.scaling)}`;
}

/** From q·k to the score of one key, a number a step. */
function steps(layer: LayerNeurons, { dots, bias, scores: all }: Row, key: number): [string, number][] {
  const { info } = layer;
  const scaled = scaling(layer);
  const found: [string, number][] = [["q · k", dots[key]!]];
  if (scaled) found.push([scaled, dots[key]! * info.scaling]);
  if (bias) found.push(["bias", bias[key]!]);
  return [...found, [info.softcap ? `score, capped at ±${info.softcap}` : "score", all[key]!]];
}
