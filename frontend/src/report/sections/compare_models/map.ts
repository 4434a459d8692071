// A map of heads and, beside it, the layers: how far they moved between two models.

import * as Plot from "@observablehq/plot";
import { css, inkOn, PALETTES } from "../../../color";
import { h, s } from "../../../dom";
import { code, errorFigure, figure, paper } from "../../../format";
import type { CompareSection } from "../../../protocol";
import { means, type Shown } from "./data";
import { layout } from "../../grid";
import { type Cell, same } from "../../figures";
import type { Host, Now } from "../../host";
import { Legend } from "../../legend";
import { placeNames } from "../../names";
import { type Point, Points } from "../../points";

const LABEL = { left: 24, top: 18 };
const HEIGHT = 250;
const NAMED = 6;
/** Standard errors on each side of a 95 % interval. */
const REACH = 1.96;

interface Box {
  readonly place: number;
  readonly cell: Cell;
  readonly box: SVGElement;
}

/** The next head that an arrow key leads to: of its layer, or the same one of another; undefined at the edge. */
export function beside<At extends { readonly cell: Cell }>(all: readonly At[], from: Cell, key: string): At | undefined {
  const [along, across] = key === "ArrowLeft" || key === "ArrowRight" ? (["head", "layer"] as const) : (["layer", "head"] as const);
  const sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  const far = (one: At): number => sign * (one.cell[along] - from[along]);
  return all.filter((one) => one.cell[across] === from[across] && far(one) > 0).sort((a, b) => far(a) - far(b))[0];
}

export class CompareMap {
  readonly root = h("div.compared");
  private readonly map = h("div.headmap");
  private readonly chart = h("div.plot");
  private readonly legend: Legend;
  private readonly left: HTMLElement;
  private readonly points: Points;
  private boxes: Box[] = [];

  constructor(
    private readonly info: CompareSection,
    private readonly cells: readonly (Cell | null)[],
    private one: Shown,
    private readonly host: Host,
    private readonly open: (place: number) => void,
  ) {
    const scale = h("div.scale");
    this.left = h("figure.chart", {}, h("figcaption", {}, h("h3", {}, "Heads"), h("span.dim", {}, "layers down, heads across")), this.map, scale);
    this.root.append(this.left, h("figure.chart", {}, h("figcaption", {}, h("h3", {}, "Layers"), h("span.dim", {}, "points are heads, the line their mean")), this.chart));
    this.legend = new Legend(scale, { scale: one.scale, theme: host.now.theme, units: one.units });
    const opens: Host = { ...wrapped(host), open: (cell) => this.open(this.placeOf(cell)) };
    this.points = new Points(this.chart, opens, ({ cell }) => this.tip(this.placeOf(cell)));
    this.map.addEventListener("pointermove", (event) => {
      const place = this.under(event);
      this.map.style.cursor = place === null ? "default" : "pointer";
      host.tip(place === null ? null : this.tip(place), event.clientX, event.clientY);
    });
    this.map.addEventListener("pointerleave", () => host.tip(null));
    this.map.addEventListener("click", (event) => {
      const place = this.under(event);
      if (place !== null) this.open(place);
    });
    this.map.addEventListener("keydown", (event) => this.key(event));
    this.map.addEventListener("focusin", (event) => this.told(event));
    this.map.addEventListener("focusout", () => host.tip(null));
  }

  /** Draw what is shown for the page's size and theme. */
  draw(one: Shown, now: Now): void {
    this.one = one;
    const beside = now.width >= 560;
    this.root.classList.toggle("beside", beside);
    const room = beside ? Math.floor(now.width * 0.54) : now.width;
    const wide = this.drawMap(now, room);
    this.left.style.width = `${wide}px`;
    this.drawChart(now, beside ? now.width - wide - 28 : now.width);
    this.legend.update({ scale: one.scale, theme: now.theme, units: one.units });
    this.select(now.cell);
  }

  select(cell: Cell): void {
    for (const one of this.boxes) one.box.classList.toggle("on", same(one.cell, cell));
    if (!this.map.contains(document.activeElement)) this.stop(this.boxes.find((one) => same(one.cell, cell)) ?? this.boxes[0]);
    this.points.select(cell);
  }

  // The map is one stop of the Tab key: this cell.
  private stop(at: Box | undefined): void {
    for (const one of this.boxes) one.box.setAttribute("tabindex", one === at ? "0" : "-1");
  }

  private key(event: KeyboardEvent): void {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const place = this.under(event);
    const at = this.boxes.find((one) => one.place === place);
    if (!at) return;
    if (event.key === "Enter" || event.key === " ") this.open(at.place);
    else if (event.key.startsWith("Arrow")) {
      const next = beside(this.boxes, at.cell, event.key);
      if (next) this.stop(next);
      next?.box.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation(); // the page's own arrows are those of the heat map
  }

  // What a cell says when it is reached by a key; under a pointer the pointer brings it.
  private told(event: FocusEvent): void {
    const place = this.under(event);
    const box = event.target as Element;
    if (place === null || !box.matches(":focus-visible")) return;
    const { right, bottom } = box.getBoundingClientRect();
    this.host.tip(this.tip(place), right, bottom);
  }

  private drawMap(now: Now, room: number): number {
    const { figures } = this.host;
    const { values, scale, title } = this.one;
    const { size, gap } = layout(figures.rows, figures.columns, room - LABEL.left, 420, 40);
    const step = size + gap;
    const [width, height] = [LABEL.left + figures.columns * step, LABEL.top + figures.rows * step];
    const drawing = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${title} of ${values.length} heads, layers down, heads across. Arrow keys move between heads, Enter opens one.` });
    drawing.dataset.export = "yes";
    const palette = PALETTES[now.theme];
    const lut = scale.diverging ? palette.diverging : palette.sequential;
    const texts: SVGElement[] = [];
    const focused = this.map.contains(document.activeElement) ? document.activeElement?.getAttribute("data-place") : null;
    const group = s("g");
    this.boxes = [];
    this.cells.forEach((cell, place) => {
      const value = values[place]!;
      if (!cell || !Number.isFinite(value)) return;
      const pixel = lut[Math.round(255 * scale.tint(value))] ?? 0;
      const [x, y] = [LABEL.left + cell.head * step, LABEL.top + cell.layer * step];
      const box = s("rect", { x, y, width: size, height: size, fill: css(pixel), class: "cell", "data-place": place, tabindex: -1, role: "button", "aria-label": this.say(place) });
      group.append(box);
      this.boxes.push({ place, cell, box });
      if (size >= 24) texts.push(s("text", { x: x + size / 2, y: y + size / 2, dy: "0.35em", fill: inkOn(pixel) }, short(value)));
    });
    const every = Math.max(1, Math.ceil(20 / step));
    const everyRow = Math.max(1, Math.ceil(13 / step));
    const label = (x: number, y: number, text: number, anchor: string): SVGElement => s("text", { x, y, dy: "0.35em", "text-anchor": anchor, class: "axis" }, String(text));
    const across = figures.payload.heads.flatMap((head, i) => (i % every ? [] : [label(LABEL.left + i * step + size / 2, 7, head, "middle")]));
    const down = figures.payload.layers.flatMap((layer, i) => (i % everyRow ? [] : [label(LABEL.left - 8, LABEL.top + i * step + size / 2, layer, "end")]));
    drawing.append(...across, ...down, group, ...texts);
    this.map.replaceChildren(drawing);
    const again = this.boxes.find((one) => String(one.place) === focused);
    if (again) this.stop(again);
    again?.box.focus({ preventScroll: true });
    return width;
  }

  private drawChart(now: Now, width: number): void {
    const { figures } = this.host;
    const { layers } = figures.payload;
    const { values, title, units, scale } = this.one;
    const spread = figures.columns > 1 ? 0.56 / (figures.columns - 1) : 0;
    const marks = this.cells.flatMap((cell, place) => {
      const y = values[place]!;
      return cell && Number.isFinite(y) ? [{ cell, series: place, x: cell.layer + (cell.head - (figures.columns - 1) / 2) * spread, y }] : [];
    });
    const lines = means(this.info, this.one).map(({ layer, mean, error }) => ({ x: layers.indexOf(layer), mean, error }));
    const every = Math.ceil(layers.length / Math.max(2, Math.floor((width - 50) / 22)));
    const reach = lines.filter(({ error }) => Number.isFinite(error)).map((line) => ({ ...line, low: line.mean - REACH * line.error, high: line.mean + REACH * line.error }));
    const plot = Plot.plot({
      width,
      height: HEIGHT,
      marginLeft: 38,
      marginRight: 8,
      marginTop: 10,
      marginBottom: 24,
      style: { background: "none", color: "var(--ink3)", fontFamily: "inherit", fontSize: "11px", overflow: "visible" },
      x: { domain: [-0.5, layers.length - 0.5], ticks: layers.map((_, i) => i).filter((i) => i % every === 0), tickFormat: (i: number) => String(layers[i]), tickSize: 0, tickPadding: 6, label: null },
      y: { domain: [1.04 * Math.min(0, ...marks.map(({ y }) => y)), 1.04 * Math.max(1e-9, ...marks.map(({ y }) => y))], ticks: 5, tickFormat: (y: number) => tick(y), tickSize: 0, tickPadding: 4, label: null },
      marks: [
        Plot.gridY({ stroke: "var(--line)", strokeOpacity: 1, ticks: 5 }),
        scale.diverging ? Plot.ruleY([0], { stroke: "var(--tick)" }) : null,
        Plot.dot(marks, { x: "x", y: "y", r: marks.length > 500 ? 1.8 : 3, fill: "var(--accent)", fillOpacity: 0.5, stroke: "var(--bg)", strokeWidth: 0.4, clip: false }),
        Plot.lineY(lines, { x: "x", y: "mean", stroke: "var(--ink2)", strokeWidth: 1.25 }),
        Plot.ruleX(reach, { x: "x", y1: "low", y2: "high", stroke: "var(--ink)", strokeWidth: 1.5 }),
        Plot.dot(lines, { x: "x", y: "mean", r: 2.6, fill: "var(--ink)", stroke: "var(--bg)", strokeWidth: 1 }),
      ],
    }) as SVGSVGElement & Plot.Plot;
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", `${title} by layer, ${units}`);
    const [x, y] = [plot.scale("x"), plot.scale("y")];
    const points = marks.map((mark): Point => ({ cell: mark.cell, series: mark.series, x: x?.apply(mark.x) as number, y: y?.apply(mark.y) as number }));
    this.points.show(plot, points, now.cell);
    const named = [...points].sort((a, b) => Math.abs(values[b.series]!) - Math.abs(values[a.series]!)).slice(0, NAMED);
    const names = placeNames(named.map((point) => ({ x: point.x, y: point.y, text: figures.name(point.cell) })), width, NAMED, points);
    plot.append(...names.map((one) => s("text", { class: "name", x: one.x, y: one.y, dy: "0.32em", "text-anchor": one.anchor }, one.text)));
  }

  private placeOf(cell: Cell): number {
    return this.cells.findIndex((own) => own !== null && same(own, cell));
  }

  private under(event: Event): number | null {
    const box = event.target instanceof Element ? event.target.closest<SVGElement>("rect.cell") : null;
    return box ? Number(box.dataset.place) : null;
  }

  /** `L2H9, drift 0.261 nats` */
  private say(place: number): string {
    const { info, one } = this;
    return `${code(info.layer[place]!, info.head[place]!)}, ${one.title} ${figure(one.values[place]!)}${one.units === "share" ? "" : ` ${one.units}`}`;
  }

  private tip(place: number): HTMLElement {
    const { info, one } = this;
    const row = (name: string, text: string): HTMLElement => h("tr", {}, h("td", {}, name), h("td.n", {}, text));
    const [layer, head] = [info.layer[place]!, info.head[place]!];
    const measure = info.measures.find(({ name }) => name === one.name);
    const error = one.errors[place] ?? NaN;
    const a = measure?.a[place] ?? NaN;
    return h(
      "div",
      {},
      h("div", {}, h("b", {}, `L${layer}H${head}`), h("span.dim", {}, `  ${paper(layer, head)} in papers`)),
      h(
        "table",
        {},
        measure && row("A", figure(a)),
        measure && row("B", figure(a - one.values[place]!)),
        row(measure ? "A − B" : "drift", `${figure(one.values[place]!)}${one.units === "share" ? "" : ` ${one.units}`}`),
        Number.isFinite(error) && row("standard error", `± ${errorFigure(error)}`),
        measure ? row("drift", `${figure(info.js[place]!)} nats`) : row("cosine of the rows", figure(info.cosine[place]!)),
      ),
    );
  }
}

/** A host whose functions can be put in place of others. */
const wrapped = (host: Host): Host => ({
  figures: host.figures,
  get now() {
    return host.now;
  },
  set: (change) => host.set(change),
  open: (cell, example) => host.open(cell, example),
  row: (cell) => host.row(cell),
  light: (make) => host.light(make),
  tip: (content, x, y) => host.tip(content, x, y),
});

/** `.66`, `−.12`, `3.1`: in a cell. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size < 0.005) return "·";
  const text = size >= 9.95 ? size.toFixed(0) : size >= 0.995 ? size.toFixed(1) : size.toFixed(2).slice(1);
  return value < 0 ? `−${text}` : text;
}

const tick = (y: number): string => String(Number(y.toPrecision(3))).replace(/^(-?)0\./, "$1.").replace("-", "−");
