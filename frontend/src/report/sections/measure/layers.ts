// One measure against the layer, a point a head: figures 2 and 4 of Clark et al. 2019.

import * as Plot from "@observablehq/plot";
import { h } from "../../../dom";
import type { LayersSection } from "../../../protocol";
import { beside, captioned, type Chart, chart, dotsOf, marksOf, means, redrawn } from "../../chart";
import { type Measure, tidy } from "../../figures";
import type { Host, Now, Section } from "../../host";
import { names } from "../../names";
import { Points } from "../../points";
import { figureTip } from "../../tip";

/** Heads above this share are named. */
const NAMED = 0.5;

function layerChart(measure: Measure, host: Host): Chart {
  const { figures } = host;
  const { low, high } = measure.scale;
  const shares = measure.isShare;
  const note = h("span.dim");
  const title = h("button.link", { type: "button", onclick: () => host.set({ measure: measure.name }) }, measure.info.title);
  const points = new Points(host, ({ cell }) => figureTip(figures, measure, cell), ({ cell }) => host.open(cell));

  const draw = (now: Now, width: number): void => {
    const marks = marksOf(figures, figures.cells, measure.value);
    const chance = figures.payload.layers.flatMap((_, layer) => [-0.5, 0.5].map((end) => ({ x: layer + end, y: measure.chance(layer) })));
    const highest = figures.ranked(measure)[0];
    const most = highest ? `; the highest is ${figures.name(highest)} with ${measure.value(highest).toFixed(2)}` : "";
    const label = `${measure.info.title} of ${marks.length} heads by layer${most}`;
    const [drawing, dots] = chart(figures, marks, { width, height: 176, label, low, high: shares ? high : 1.04 * high, shares }, [
      means(marks, { z: null, stroke: "var(--tick)", strokeWidth: 1.25 }),
      Plot.lineY(chance.filter(({ y }) => Number.isFinite(y)), { x: "x", y: "y", stroke: "var(--ink2)", strokeWidth: 1, strokeDasharray: "3 3" }),
      dotsOf(marks, { r: marks.length > 500 ? 1.8 : marks.length > 200 ? 2.4 : 3, fillOpacity: 0.62 }),
    ]);
    points.show(drawing, dots, now.cell);
    if (!shares) return;
    const above = dots.filter(({ cell }) => measure.value(cell) > NAMED).sort((a, b) => measure.value(b.cell) - measure.value(a.cell));
    note.textContent = above.length > 0 ? `${above.length} above .5` : "none above .5";
    drawing.append(...names(above.map(({ cell, x, y }) => ({ x, y, text: figures.name(cell) })), width, 8, dots));
  };
  return { root: captioned(title, note, points.box), update: redrawn(draw, points) };
}

/** Charts beside one another: as many a row as have room. */
export const section: Section<LayersSection> = (element, info, host) => {
  const measures = info.measures.map((name) => host.figures.measure(name));
  const charts = measures.map((measure) => layerChart(measure, host));
  const picture = h("div.charts", {}, ...charts.map(({ root }) => root));
  element.append(picture);
  const update = (now: Now): void => {
    const [least, gap] = now.width < 500 ? [150, 12] : [236, 28];
    const most = Math.max(1, Math.floor((now.width + gap) / (least + gap)));
    const width = beside(picture, now.width, Math.min(most, Math.max(2, measures.length)), gap);
    for (const each of charts) each.update(now, width);
  };
  return { update, picture, tables: { measures: () => tidy(host.figures, measures) } };
};
