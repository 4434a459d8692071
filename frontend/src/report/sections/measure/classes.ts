// Kinds of tokens over one another, by layer: figures 2 and 3 of Clark et al. 2019.

import * as Plot from "@observablehq/plot";
import type { Theme } from "../../../color";
import { h } from "../../../dom";
import { HEADS } from "../../../explorer/scene";
import type { ClassesSection, PanelInfo } from "../../../protocol";
import { type Cell, type Figures, type Measure, tidy } from "../../figures";
import type { Component, Drawn, Host, Now, Section } from "../../host";
import { type Point, Points } from "../../points";
import type { Table } from "../../table";
import { figureTip } from "../../tip";

interface PanelProps {
  readonly figures: Figures;
  readonly cell: Cell;
  readonly theme: Theme;
  readonly width: number;
}

const HEIGHT = 260;

/** One panel: a colour a kind of token, a line its mean by layer, points its heads. */
class Panel implements Component<PanelProps> {
  private readonly legend = h("div.key");
  private readonly scale = h("span.dim");
  private readonly box = h("div.plot");
  private readonly root: HTMLElement;
  private readonly measures: readonly Measure[];
  private readonly points: Points;

  constructor(
    element: HTMLElement,
    private readonly info: PanelInfo,
    private props: PanelProps,
    host: Host,
  ) {
    this.measures = info.measures.map((name) => host.figures.measure(name));
    this.root = h("figure.chart", {}, h("figcaption", {}, h("h3", {}, info.title), this.scale), this.legend, this.box);
    element.append(this.root);
    this.points = new Points(this.box, host, ({ cell, series }) => figureTip(this.props.figures, this.measures[series]!, cell), true);
    this.draw();
  }

  update(props: Partial<PanelProps>): void {
    const before = this.props;
    this.props = { ...before, ...props };
    if (this.props.width !== before.width || this.props.theme !== before.theme) this.draw();
    else this.points.select(this.props.cell);
  }

  destroy(): void {
    this.root.remove();
  }

  private draw(): void {
    const { figures, theme, width, cell } = this.props;
    const { layers } = figures.payload;
    const hues = this.measures.map((_, series) => HEADS[theme][series]!);
    this.legend.replaceChildren(...this.info.names.map((name, series) => h("span", {}, h("i", { style: `background:${hues[series]}` }), name)));
    const step = 0.7 / this.measures.length;
    const spread = figures.columns > 1 ? (0.8 * step) / (figures.columns - 1) : 0;
    const marks = this.measures.flatMap((measure, series) =>
      figures.cells
        .filter((one) => Number.isFinite(measure.value(one)))
        .map((one) => ({
          cell: one,
          series,
          x: one.layer + (series - (this.measures.length - 1) / 2) * step + (one.head - (figures.columns - 1) / 2) * spread,
          y: measure.value(one),
        })),
    );
    const means = this.measures.flatMap((_, series) =>
      layers.flatMap((_, layer) => {
        const own = marks.filter((mark) => mark.series === series && mark.cell.layer === layer).map(({ y }) => y);
        return own.length > 0 ? [{ series, x: layer, y: own.reduce((a, b) => a + b, 0) / own.length }] : [];
      }),
    );
    const shares = this.measures.every((measure) => measure.isShare);
    const most = Math.max(1e-12, ...marks.map(({ y }) => y));
    const every = Math.ceil(layers.length / Math.max(2, Math.floor((width - 60) / 22)));
    const power = most < 0.01 ? Math.floor(Math.log10(most)) : 0;
    this.scale.textContent = power < 0 ? `in 10${superscript(power)}` : "";
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
        domain: [0, shares ? 1 : 1.04 * most],
        ticks: shares ? [0, 0.25, 0.5, 0.75, 1] : 5,
        tickFormat: (y: number) => (shares ? ({ 0: "0", 0.5: ".5", 1: "1" })[y] ?? "" : String(Number((y / 10 ** power).toPrecision(3)))),
        tickSize: 0,
        tickPadding: 4,
        label: null,
      },
      marks: [
        Plot.gridY({ stroke: "var(--line)", strokeOpacity: 1, ticks: shares ? [0, 0.5, 1] : 5 }),
        Plot.dot(marks, {
          x: "x",
          y: "y",
          r: marks.length > 500 ? 1.6 : 2.4,
          fill: (mark: { series: number }) => hues[mark.series],
          fillOpacity: 0.55,
        }),
        Plot.line(means, { x: "x", y: "y", z: "series", stroke: (mark: { series: number }) => hues[mark.series], strokeWidth: 2 }),
      ],
      color: { type: "identity" },
    }) as SVGSVGElement & Plot.Plot;
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", `${this.info.title} ${this.info.names.join(", ")}, by layer`);
    const [x, y] = [plot.scale("x"), plot.scale("y")];
    const points = marks.map((mark): Point => ({ ...mark, x: x?.apply(mark.x) as number, y: y?.apply(mark.y) as number }));
    this.points.show(plot, points, cell);
  }
}

/** `−3` as it stands above a line. */
const superscript = (n: number): string => [...String(n)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)])).join("");

class Panels implements Drawn {
  readonly picture = h("div.charts.panels");
  readonly tables = { measures: () => this.table() };
  private readonly panels: Panel[];

  constructor(
    element: HTMLElement,
    private readonly info: ClassesSection,
    private readonly host: Host,
  ) {
    element.append(this.picture);
    this.panels = info.panels.map((panel) => new Panel(this.picture, panel, { ...host.now, figures: host.figures, width: this.width(host.now) }, host));
  }

  update(now: Now): void {
    for (const panel of this.panels) panel.update({ ...now, width: this.width(now) });
  }

  private table(): Table {
    const names = new Set(this.info.panels.flatMap((panel) => panel.measures));
    return tidy(this.host.figures, [...names].map((name) => this.host.figures.measure(name)));
  }

  private width(now: Now): number {
    const beside = now.width >= 560 ? this.info.panels.length : 1;
    const gap = 28;
    const width = Math.min(620, Math.floor((now.width - gap * (beside - 1)) / beside));
    this.picture.style.gap = `28px ${gap}px`;
    this.picture.style.gridTemplateColumns = `repeat(${beside}, ${width}px)`;
    return width;
  }
}

export const section: Section<ClassesSection> = (element, info, host) => new Panels(element, info, host);
