// One measure against the layer, a point a head: figures 2 and 4 of Clark et al. 2019.

import * as Plot from "@observablehq/plot";
import { h } from "../../../dom";
import type { LayersSection } from "../../../protocol";
import { beside, chart, marksOf, means } from "../../chart";
import { type Measure, tidy } from "../../figures";
import type { Host, Now, Section } from "../../host";
import { names } from "../../names";
import { Points } from "../../points";
import { figureTip } from "../../tip";

/** Heads above this share are named. */
const NAMED = 0.5;

class LayerChart {
  private readonly note = h("span.dim");
  private readonly box = h("div.plot");
  private readonly points: Points;
  private width = 0;
  readonly root: HTMLElement;

  constructor(
    private readonly measure: Measure,
    private readonly host: Host,
  ) {
    const title = h("button.link", { type: "button", onclick: () => host.set({ measure: measure.name }) }, measure.info.title);
    this.root = h("figure.chart", {}, h("figcaption", {}, h("h3", {}, title), this.note), this.box);
    this.points = new Points(this.box, host, ({ cell }) => figureTip(host.figures, measure, cell), ({ cell }) => host.open(cell));
  }

  update(now: Now, width: number): void {
    if (width !== this.width) this.draw(now, width);
    else this.points.select(now.cell);
    this.width = width;
  }

  private draw(now: Now, width: number): void {
    const { measure } = this;
    const { figures } = this.host;
    const { low, high } = measure.scale;
    const marks = marksOf(figures, figures.cells, (cell) => measure.value(cell));
    const chance = figures.payload.layers.flatMap((_, layer) => {
      const y = measure.chance(layer);
      return Number.isFinite(y) ? [{ x: layer - 0.5, y }, { x: layer + 0.5, y }] : [];
    });
    const highest = figures.ranked(measure)[0];
    const most = highest ? `; the highest is ${figures.name(highest)} with ${measure.value(highest).toFixed(2)}` : "";
    const label = `${measure.info.title} of ${marks.length} heads by layer${most}`;
    const shares = measure.isShare;
    const [drawing, points] = chart(figures, marks, { width, height: 176, label, low, high: shares ? high : 1.04 * high, shares }, [
      means(marks.map((mark) => ({ ...mark, index: 0 })), { stroke: "var(--tick)", strokeWidth: 1.25 }),
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
    ]);
    this.points.show(drawing, points, now.cell);
    if (!shares) return;
    const above = points.filter(({ cell }) => measure.value(cell) > NAMED).sort((a, b) => measure.value(b.cell) - measure.value(a.cell));
    this.note.textContent = above.length > 0 ? `${above.length} above .5` : "none above .5";
    drawing.append(...names(above.map(({ cell, x, y }) => ({ x, y, text: figures.name(cell) })), width, 8, points));
  }
}

/** Charts beside one another: as many a row as have room. */
export const section: Section<LayersSection> = (element, info, host) => {
  const measures = info.measures.map((name) => host.figures.measure(name));
  const charts = measures.map((measure) => new LayerChart(measure, host));
  const picture = h("div.charts", {}, ...charts.map(({ root }) => root));
  element.append(picture);
  const update = (now: Now): void => {
    const [least, gap] = now.width < 500 ? [150, 12] : [236, 28];
    const most = Math.max(1, Math.floor((now.width + gap) / (least + gap)));
    const width = beside(picture, now.width, Math.min(most, Math.max(2, measures.length)), gap);
    for (const one of charts) one.update(now, width);
  };
  return { update, picture, tables: { measures: () => tidy(host.figures, measures) } };
};
