// Kinds of tokens over one another, by layer: figures 2 and 3 of Clark et al. 2019.

import type { Chart, ClassesSection, PanelInfo } from "../../../protocol";
import { h } from "../../../ui/dom";
import { beside, Charted, captioned, layerNames, meansOf, type Pictured, redrawn, rowsByLayer } from "../../chart";
import { tidy } from "../../figures";
import type { Host, Now, Section } from "../../host";
import { ofMeasure } from "../../reasons";
import { figureTip } from "../../tip";

/** One panel: a colour a kind of token, a line its mean by layer, points its heads. */
function panelOf({ title, names, ...info }: PanelInfo, host: Host): Pictured {
  const { figures } = host;
  const measures = info.measures.map((name) => figures.measure(name));
  const shares = measures.every((measure) => measure.isShare);
  const of = measures.flatMap((measure, colour) => figures.cells.map((cell) => ({ measure, cell, colour })));
  const rows = rowsByLayer(
    figures,
    of.map(({ cell }) => cell),
    (cell, row) => of[row]!.measure.value(cell),
  );
  const charted = new Charted(
    host,
    (row) => of[row]!.cell,
    (row) => figureTip(figures, of[row]!.measure, of[row]!.cell),
    (row) => host.open(of[row]!.cell, ofMeasure(of[row]!.measure, of[row]!.cell)),
  );
  const lines = measures.map((measure, colour) => ({
    ...meansOf(figures, rowsByLayer(figures, figures.cells, measure.value)),
    colour,
  }));
  const chart: Chart = {
    kind: "layers",
    title: "",
    x: { title: "", names: layerNames(figures) },
    y: { title: "", low: 0, ...(shares && { high: 1 }) },
    rows: { ...rows, colour: of.map(({ colour }) => colour) },
    lines,
    colour: { title: "", of: "heads", names },
  };
  const label = `${title} ${names.join(", ")}, by layer`;
  const draw = ({ theme, cell }: Now, width: number): void =>
    charted.show(chart, { width, height: 176, theme }, label, cell);
  return { root: captioned(title, null, charted.root), update: redrawn(draw, charted) };
}

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
