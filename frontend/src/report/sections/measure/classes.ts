// Kinds of tokens over one another, by layer: figures 2 and 3 of Clark et al. 2019.

import * as Plot from "@observablehq/plot";
import { h } from "../../../dom";
import { HEADS } from "../../../explorer/scene";
import type { ClassesSection, PanelInfo } from "../../../protocol";
import { beside, chart, type Mark, marksOf, means } from "../../chart";
import { type Measure, tidy } from "../../figures";
import type { Host, Now, Section } from "../../host";
import { Points } from "../../points";
import { figureTip } from "../../tip";

/** One panel: a colour a kind of token, a line its mean by layer, points its heads. */
class Panel {
  private readonly legend = h("div.key");
  private readonly scale = h("span.dim");
  private readonly box = h("div.plot");
  readonly root: HTMLElement;
  private readonly measures: readonly Measure[];
  private readonly points: Points;
  private last = "";

  constructor(
    private readonly info: PanelInfo,
    private readonly host: Host,
  ) {
    const { figures } = host;
    this.measures = info.measures.map((name) => figures.measure(name));
    this.root = h("figure.chart", {}, h("figcaption", {}, h("h3", {}, info.title), this.scale), this.legend, this.box);
    this.points = new Points(this.box, host, ({ cell, index }) => figureTip(figures, this.measures[index]!, cell), ({ cell }) => host.open(cell), true);
  }

  update(now: Now, width: number): void {
    const key = `${width} ${now.theme}`;
    if (key !== this.last) this.draw(now, width);
    else this.points.select(now.cell);
    this.last = key;
  }

  private draw(now: Now, width: number): void {
    const { figures } = this.host;
    const { info, measures } = this;
    const hues = measures.map((_, series) => HEADS[now.theme][series]!);
    const hue = ({ index }: Mark): string => hues[index]!;
    this.legend.replaceChildren(...info.names.map((name, series) => h("span", {}, h("i", { style: `background:${hues[series]}` }), name)));
    const step = 0.7 / measures.length;
    const marks = measures.flatMap((measure, series) => {
      const shift = (series - (measures.length - 1) / 2) * step;
      return marksOf(figures, figures.cells, (cell) => measure.value(cell), { shift, spread: 0.8 * step }).map((mark) => ({ ...mark, index: series }));
    });
    const shares = measures.every((measure) => measure.isShare);
    const most = Math.max(1e-12, ...marks.map(({ y }) => y));
    const power = most < 0.01 ? Math.floor(Math.log10(most)) : 0;
    this.scale.textContent = power < 0 ? `in 10${superscript(power)}` : "";
    const tick = (y: number): string => String(Number((y / 10 ** power).toPrecision(3)));
    const label = `${info.title} ${info.names.join(", ")}, by layer`;
    const [drawing, points] = chart(figures, marks, { width, height: 260, label, low: 0, high: shares ? 1 : 1.04 * most, shares, tick }, [
      Plot.dot(marks, { x: "x", y: "y", r: marks.length > 500 ? 1.6 : 2.4, fill: hue, fillOpacity: 0.55 }),
      means(marks, { stroke: hue, strokeWidth: 2 }),
    ]);
    this.points.show(drawing, points, now.cell);
  }
}

/** `⁻³`. */
const superscript = (n: number): string => [...String(n)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)])).join("");

export const section: Section<ClassesSection> = (element, info, host) => {
  const panels = info.panels.map((panel) => new Panel(panel, host));
  const picture = h("div.charts.panels", {}, ...panels.map(({ root }) => root));
  element.append(picture);
  const update = (now: Now): void => {
    const width = beside(picture, now.width, now.width >= 560 ? panels.length : 1, 28, 620);
    for (const panel of panels) panel.update(now, width);
  };
  const named = [...new Set(info.panels.flatMap((panel) => panel.measures))].map((name) => host.figures.measure(name));
  return { update, picture, tables: { measures: () => tidy(host.figures, named) } };
};
