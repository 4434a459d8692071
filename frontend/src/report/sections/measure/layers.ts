// One measure against the layer, a point a head: figures 2 and 4 of Clark et al. 2019.

import type { LayersSection } from "../../../protocol";
import { fixed, plural } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { beside, Charted, captioned, ofMeasureByLayer, type Pictured, redrawn } from "../../chart";
import { type Cell, type Measure, tidy } from "../../figures";
import type { Host, Now, Section } from "../../host";
import { ofMeasure } from "../../reasons";
import { folded } from "../../rows";
import { figureTip } from "../../tip";

/** Heads above this share are named. */
const NAMED = 0.5;
/** Of a chart, and of a large one. */
const [HEIGHT, LARGE] = [136, 230];

function layerChart(measure: Measure, host: Host, height = HEIGHT): Pictured {
  const { figures } = host;
  const shares = measure.isShare;
  const note = h("span.dim");
  const title = h(
    "button.link",
    { type: "button", onclick: () => host.set({ measure: measure.name }) },
    measure.info.title,
  );
  const { cells } = figures;
  const cellOf = (row: number): Cell => cells[row]!;
  const charted = new Charted(
    host,
    cellOf,
    (row) => figureTip(figures, measure, cellOf(row)),
    (row) => host.open(cellOf(row), ofMeasure(measure, cellOf(row))),
  );
  const ranked = figures.ranked(measure);
  const above = shares && height !== LARGE ? ranked.filter((cell) => measure.value(cell) > NAMED) : [];
  if (shares && height !== LARGE) note.textContent = above.length > 0 ? `${above.length} above .5` : "none above .5";
  const info = ofMeasureByLayer(figures, measure, above);
  const [highest] = ranked;
  const most = highest ? `; the highest is ${figures.name(highest)} with ${fixed(measure.value(highest), 2)}` : "";
  const label = `${measure.info.title} of ${ranked.length} heads by layer${most}`;
  const draw = ({ theme, cell }: Now, width: number): void => charted.show(info, { width, height, theme }, label, cell);
  return { root: captioned(title, note, charted.root), update: redrawn(draw, charted) };
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
