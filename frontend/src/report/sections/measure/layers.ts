// One measure against the layer, a point a head: figures 2 and 4 of Clark et al. 2019.

import * as Plot from "@observablehq/plot";
import { h, s } from "../../../dom";
import type { LayersSection } from "../../../protocol";
import { type Cell, type Figures, type Measure, tidy } from "../../figures";
import type { Component, Drawn, Host, Section } from "../../host";
import { placeNames } from "../../names";
import { type Point, Points } from "../../points";
import { figureTip } from "../../tip";

export interface ChartProps {
  figures: Figures;
  measure: Measure;
  cell: Cell;
  width: number;
}

const HEIGHT = 176;
/** Heads above this share are named. */
export const NAMED = 0.5;

export class LayerChart implements Component<ChartProps> {
  private readonly title = h("h3");
  private readonly note = h("span.dim");
  private readonly box = h("div.plot");
  private readonly root = h("figure.chart", {}, h("figcaption", {}, this.title, this.note), this.box);
  private readonly points: Points;

  constructor(
    element: HTMLElement,
    private props: ChartProps,
    host: Host,
  ) {
    element.append(this.root);
    this.title.append(
      h("button.link", { type: "button", onclick: () => host.set({ measure: this.props.measure.name }) }, props.measure.info.title),
    );
    this.points = new Points(this.box, host, ({ cell }) => figureTip(this.props.figures, this.props.measure, cell));
    this.draw();
  }

  update(props: Partial<ChartProps>): void {
    const before = this.props;
    this.props = { ...before, ...props };
    if (this.props.width !== before.width || this.props.figures !== before.figures) this.draw();
    else this.points.select(this.props.cell);
  }

  destroy(): void {
    this.root.remove();
  }

  private draw(): void {
    const { figures, measure, width } = this.props;
    const { layers } = figures.payload;
    const spread = figures.columns > 1 ? 0.56 / (figures.columns - 1) : 0;
    const marks = figures.cells
      .filter((cell) => Number.isFinite(measure.value(cell)))
      .map((cell) => ({ cell, x: cell.layer + (cell.head - (figures.columns - 1) / 2) * spread, y: measure.value(cell) }));
    const chance = layers.flatMap((_, layer) => {
      const y = measure.chance(layer);
      return Number.isFinite(y) ? [{ x: layer - 0.5, y }, { x: layer + 0.5, y }] : [];
    });
    const means = layers.flatMap((_, layer) => {
      const values = marks.filter(({ cell }) => cell.layer === layer).map(({ y }) => y);
      return values.length > 0 ? [{ x: layer, y: values.reduce((a, b) => a + b, 0) / values.length }] : [];
    });
    const every = Math.ceil(layers.length / Math.max(2, Math.floor((width - 40) / 22)));
    const { low, high } = measure.scale;
    const plot = Plot.plot({
      width,
      height: HEIGHT,
      marginLeft: 28,
      marginRight: 8,
      marginTop: 10,
      marginBottom: 24,
      style: { background: "none", color: "var(--ink3)", fontFamily: "inherit", fontSize: "11px", overflow: "visible" },
      x: {
        domain: [-0.5, layers.length - 0.5],
        ticks: layers.map((_, place) => place).filter((place) => place % every === 0),
        tickFormat: (place: number) => String(layers[place]),
        tickSize: 0,
        tickPadding: 6,
        label: null,
      },
      y: {
        domain: [low, measure.isShare ? high : 1.04 * high],
        ticks: measure.isShare ? [0, 0.25, 0.5, 0.75, 1] : 5,
        tickFormat: (y: number) => (measure.isShare ? ({ 0: "0", 0.5: ".5", 1: "1" })[y] ?? "" : String(y)),
        tickSize: 0,
        tickPadding: 4,
        label: null,
      },
      marks: [
        Plot.gridY({ stroke: "var(--line)", strokeOpacity: 1, ticks: measure.isShare ? [0, 0.5, 1] : 5 }),
        Plot.lineY(means, { x: "x", y: "y", stroke: "var(--tick)", strokeWidth: 1.25 }),
        Plot.lineY(chance, { x: "x", y: "y", stroke: "var(--ink2)", strokeWidth: 1, strokeDasharray: "3 3" }),
        Plot.dot(marks, {
          x: "x",
          y: "y",
          r: marks.length > 500 ? 1.8 : marks.length > 200 ? 2.4 : 3,
          fill: "var(--accent)",
          fillOpacity: 0.62,
          stroke: "var(--bg)",
          strokeWidth: 0.4,
          clip: false,
        }),
      ],
    }) as SVGSVGElement & Plot.Plot;
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", this.describe(marks.length));
    const [x, y] = [plot.scale("x"), plot.scale("y")];
    const points = marks.map((mark): Point => ({ cell: mark.cell, x: x?.apply(mark.x) as number, y: y?.apply(mark.y) as number, series: 0 }));
    this.points.show(plot, points, this.props.cell);
    plot.append(...this.names(points, width));
  }

  private describe(count: number): string {
    const { figures, measure } = this.props;
    const best = figures.ranked(measure)[0];
    const most = best ? `; the highest is ${figures.name(best)} with ${measure.value(best).toFixed(2)}` : "";
    return `${measure.info.title} of ${count} heads by layer${most}`;
  }

  private names(points: readonly Point[], width: number): SVGTextElement[] {
    const { figures, measure } = this.props;
    this.note.textContent = "";
    if (!measure.isShare) return [];
    const above = points
      .filter(({ cell }) => measure.value(cell) > NAMED)
      .sort((a, b) => measure.value(b.cell) - measure.value(a.cell));
    this.note.textContent = above.length > 0 ? `${above.length} above .5` : "none above .5";
    const named = above.map(({ cell, x, y }) => ({ x, y, text: figures.name(cell) }));
    return placeNames(named, width, 8, points).map(({ x, y, text, anchor }) =>
      s("text", { class: "name", x, y, dy: "0.32em", "text-anchor": anchor }, text),
    );
  }
}

interface ChartsProps {
  figures: Figures;
  measures: readonly Measure[];
  cell: Cell;
  width: number;
}

/** Facets: as many a row as have room. */
class Charts implements Drawn {
  private readonly root = h("div.charts");
  readonly picture = this.root;
  readonly tables = { measures: () => tidy(this.props.figures, this.props.measures) };
  private readonly charts: LayerChart[];

  constructor(
    element: HTMLElement,
    private props: ChartsProps,
    host: Host,
  ) {
    element.append(this.root);
    const { figures, measures, cell } = props;
    this.charts = measures.map((measure) => new LayerChart(this.root, { figures, measure, cell, width: this.chartWidth() }, host));
  }

  update(props: Partial<ChartsProps>): void {
    this.props = { ...this.props, ...props };
    const { figures, cell } = this.props;
    const width = this.chartWidth();
    for (const chart of this.charts) chart.update({ figures, cell, width });
  }

  destroy(): void {
    for (const chart of this.charts) chart.destroy();
    this.root.remove();
  }

  private chartWidth(): number {
    const small = this.props.width < 500;
    const gap = small ? 12 : 28;
    const most = Math.max(1, Math.floor((this.props.width + gap) / ((small ? 150 : 236) + gap)));
    const columns = Math.min(most, Math.max(2, this.props.measures.length));
    const width = Math.floor((this.props.width - gap * (columns - 1)) / columns);
    this.root.style.gap = `28px ${gap}px`;
    this.root.style.gridTemplateColumns = `repeat(${columns}, ${width}px)`;
    return width;
  }
}

export const section: Section<LayersSection> = (element, info, host) =>
  new Charts(element, { ...host.now, figures: host.figures, measures: info.measures.map((name) => host.figures.measure(name)) }, host);
