// Kinds of tokens over one another, by layer: figures 2 and 3 of Clark et al. 2019.

import * as Plot from "@observablehq/plot";
import type { ClassesSection, PanelInfo } from "../../../protocol";
import { COLOURS } from "../../../scene/color";
import { brief } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { beside, type Chart, captioned, chart, type Mark, marksOf, means, redrawn } from "../../chart";
import { tidy } from "../../figures";
import type { Host, Now, Section } from "../../host";
import { Points } from "../../points";
import { ofMeasure } from "../../reasons";
import { figureTip } from "../../tip";

/** One panel: a colour a kind of token, a line its mean by layer, points its heads. */
function panelOf({ title, names, ...info }: PanelInfo, host: Host): Chart {
  const { figures } = host;
  const measures = info.measures.map((name) => figures.measure(name));
  const shares = measures.every((measure) => measure.isShare);
  const step = 0.7 / measures.length;
  const [key, scale] = [h("div.key"), h("span.dim")];
  const points = new Points(
    host,
    ({ cell, index }) => figureTip(figures, measures[index]!, cell),
    ({ cell, index }) => host.open(cell, ofMeasure(measures[index]!, cell)),
    true,
  );

  const draw = (now: Now, width: number): void => {
    const hues = measures.map((_, series) => COLOURS[now.theme].heads[series]!);
    const hue = ({ index }: Mark): string => hues[index]!;
    key.replaceChildren(
      ...names.map((name, series) => h("span", {}, h("i", { style: `background:${hues[series]}` }), name)),
    );
    const marks = measures.flatMap((measure, series) => {
      const shift = (series - (measures.length - 1) / 2) * step;
      return marksOf(figures, figures.cells, measure.value, { shift, spread: 0.8 * step }).map((mark) => ({
        ...mark,
        index: series,
      }));
    });
    const most = Math.max(1e-12, ...marks.map(({ y }) => y));
    const power = most < 0.01 ? Math.floor(Math.log10(most)) : 0;
    scale.textContent = power < 0 ? `in 10${superscript(power)}` : "";
    const tick = (y: number): string => brief(y / 10 ** power);
    const label = `${title} ${names.join(", ")}, by layer`;
    const [drawing, dots] = chart(
      figures,
      marks,
      { width, height: 176, label, low: 0, high: shares ? 1 : 1.04 * most, shares, tick },
      [
        Plot.dot(marks, { x: "x", y: "y", r: marks.length > 500 ? 1.6 : 2.4, fill: hue, fillOpacity: 0.55 }),
        means(marks, { z: "index", stroke: hue, strokeWidth: 2 }),
      ],
    );
    points.show(drawing, dots, now.cell);
  };
  return { root: captioned(title, scale, key, points.box), update: redrawn(draw, points) };
}

/** `⁻³`. */
const superscript = (n: number): string =>
  [...String(n)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)])).join("");

export const section: Section<ClassesSection> = (element, info, host) => {
  const panels = info.panels.map((panel) => panelOf(panel, host));
  const picture = h("div.charts.panels", {}, ...panels.map(({ root }) => root));
  element.append(picture);
  const update = (now: Now): void => {
    const width = beside(picture, now.width, now.width >= 560 ? panels.length : 1, 28, 620);
    for (const panel of panels) panel.update(now, width);
  };
  const named = [...new Set(info.panels.flatMap((panel) => panel.measures))].map((name) => host.figures.measure(name));
  return { update, picture, tables: { measures: () => tidy(host.figures, named) } };
};
