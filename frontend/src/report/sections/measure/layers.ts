// One measure against the layer, a point a head: figures 2 and 4 of Clark et al. 2019.

import * as Plot from "@observablehq/plot";
import type { LayersSection } from "../../../protocol";
import { fixed, plural } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { beside, type Chart, captioned, chart, dotsOf, marksOf, means, redrawn } from "../../chart";
import { type Measure, tidy } from "../../figures";
import type { Host, Now, Section } from "../../host";
import { names } from "../../names";
import { Points } from "../../points";
import { ofMeasure } from "../../reasons";
import { folded } from "../../rows";
import { figureTip } from "../../tip";

/** Heads above this share are named. */
const NAMED = 0.5;
/** Of a chart, and of a large one. */
const [HEIGHT, LARGE] = [136, 230];

function layerChart(measure: Measure, host: Host, height = HEIGHT): Chart {
  const { figures } = host;
  const { low, high } = measure.scale;
  const shares = measure.isShare;
  const note = h("span.dim");
  const title = h(
    "button.link",
    { type: "button", onclick: () => host.set({ measure: measure.name }) },
    measure.info.title,
  );
  const points = new Points(
    host,
    ({ cell }) => figureTip(figures, measure, cell),
    ({ cell }) => host.open(cell, ofMeasure(measure, cell)),
  );

  const draw = (now: Now, width: number): void => {
    const marks = marksOf(figures, figures.cells, measure.value);
    const chance = figures.payload.layers.flatMap((_, layer) =>
      [-0.5, 0.5].map((end) => ({ x: layer + end, y: measure.chance(layer) })),
    );
    const highest = figures.ranked(measure)[0];
    const most = highest ? `; the highest is ${figures.name(highest)} with ${fixed(measure.value(highest), 2)}` : "";
    const label = `${measure.info.title} of ${marks.length} heads by layer${most}`;
    const [drawing, dots] = chart(
      figures,
      marks,
      { width, height, label, low, high: shares ? high : 1.04 * high, shares },
      [
        means(marks, { z: null, stroke: "var(--tick)", strokeWidth: 1.25 }),
        Plot.lineY(
          chance.filter(({ y }) => Number.isFinite(y)),
          { x: "x", y: "y", stroke: "var(--ink2)", strokeWidth: 1, strokeDasharray: "3 3" },
        ),
        dotsOf(marks, { r: marks.length > 500 ? 1.8 : marks.length > 200 ? 2.4 : 3, fillOpacity: 0.62 }),
      ],
    );
    points.show(drawing, dots, now.cell);
    if (!shares || height === LARGE) return;
    const above = dots
      .filter(({ cell }) => measure.value(cell) > NAMED)
      .sort((a, b) => measure.value(b.cell) - measure.value(a.cell));
    note.textContent = above.length > 0 ? `${above.length} above .5` : "none above .5";
    drawing.append(
      ...names(
        above.map(({ cell, x, y }) => ({ x, y, text: figures.name(cell) })),
        width,
        8,
        dots,
      ),
    );
  };
  return { root: captioned(title, note, points.box), update: redrawn(draw, points) };
}

/** Charts beside one another: as many a row as have room. Those in which no head stands out are folded. */
export const section: Section<LayersSection> = (element, info, host) => {
  const { figures } = host;
  const measures = info.measures.map((name) => figures.measure(name));
  const told = measures.filter((measure) => figures.told.includes(measure));
  const stands = (measure: Measure): boolean =>
    info.large || !measure.isShare || figures.cells.some((cell) => measure.value(cell) > NAMED);
  const grids = [told.filter(stands), told.filter((measure) => !stands(measure))].map((some) => {
    const charts = some.map((measure) => layerChart(measure, host, info.large ? LARGE : HEIGHT));
    return {
      charts,
      names: some.map(({ info: { title } }) => title),
      grid: h("div.charts", {}, ...charts.map(({ root }) => root)),
    };
  });
  const [full, empty] = [grids[0]!, grids[1]!];
  const picture = h("div", {}, full.grid);
  if (empty.names.length > 0) {
    const none = folded(
      `${plural(empty.names.length, "measure")} in which no head is above .5: ${empty.names.join(", ")}`,
      empty.grid,
    );
    picture.append(none);
  }
  element.append(picture);
  const update = (now: Now): void => {
    const [least, gap] = info.large ? [260, 24] : now.width < 500 ? [150, 12] : [164, 18];
    const most = Math.max(1, Math.floor((now.width + gap) / (least + gap)));
    for (const { grid, charts } of grids) {
      const width = beside(grid, now.width, Math.min(most, Math.max(2, charts.length)), gap);
      for (const each of charts) each.update(now, width);
    }
  };
  return { update, picture, tables: { measures: () => tidy(figures, measures) } };
};
