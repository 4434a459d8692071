// Measures by layer, a point a head: figures 2 to 4 of Clark et al. 2019.

import type { PanelInfo, PanelsBlock } from "../../protocol";
import { fixed, plural } from "../../scene/format";
import { h } from "../../ui/dom";
import { beside, Charted, captioned, ofMeasuresByLayer, type Pictured, redrawn } from "../chart";
import { type Measure, tidy } from "../figures";
import type { Host } from "../host";
import { ofMeasure } from "../reasons";
import { folded } from "../rows";
import { figureTip } from "../tip";
import type { Block } from "./block";

/** Heads above this share are named. */
const NAMED = 0.5;
/** So many panels have all the width. */
const FEW = 2;

function panelOf({ title, names }: PanelInfo, measures: readonly Measure[], height: number, host: Host): Pictured {
  const { figures } = host;
  const [{ name, info, isShare, value }, ...others] = measures as [Measure, ...Measure[]];
  const { length } = figures.cells;
  const of = (row: number) => [measures[Math.floor(row / length)]!, figures.cells[row % length]!] as const;
  const charted = new Charted(
    host,
    (row) => of(row)[1],
    (row) => figureTip(figures, ...of(row)),
    (row) => host.open(of(row)[1], ofMeasure(...of(row))),
  );
  const ranked = figures.ranked(measures[0]!);
  const alone = others.length === 0;
  const above = alone && isShare ? ranked.filter((cell) => value(cell) > NAMED) : [];
  const note = alone && isShare && h("span.dim", {}, `${above.length || "none"} above .5`);
  const show = (): void => host.set({ measure: name });
  const heading = alone ? h("button.link", { type: "button", onclick: show }, info.title) : title;
  const [highest] = ranked;
  const most = highest ? `; the highest is ${figures.name(highest)} with ${fixed(value(highest), 2)}` : "";
  const label = alone
    ? `${info.title} of ${ranked.length} heads by layer${most}`
    : `${title} ${names.join(", ")}, by layer`;
  const chart = ofMeasuresByLayer(figures, measures, names, above);
  const update = redrawn(
    ({ theme, cell }, width) => charted.show(chart, { width, height, theme }, label, cell),
    charted,
  );
  return { root: captioned(heading, note, charted.root), update };
}

/** Panels beside one another, as many as have room. Of many those in which no head stands out are folded. */
export const panels: Block<PanelsBlock> = (info, { host }) => {
  const { figures } = host;
  const given = info.panels.map((panel) => ({ panel, measures: panel.measures.map(figures.measure) }));
  const told = given.filter(({ measures }) => measures.some((measure) => figures.told.includes(measure)));
  const few = given.length <= FEW;
  const stands = ({ measures }: (typeof given)[number]): boolean =>
    few || measures.some(({ isShare, value }) => !isShare || figures.cells.some((cell) => value(cell) > NAMED));
  const grids = [true, false].map((full) => {
    const some = told.filter((one) => stands(one) === full);
    const charts = some.map(({ panel, measures }) => panelOf(panel, measures, few ? 176 : 136, host));
    const names = some.map(({ measures }) => measures[0]!.info.title);
    return { charts, names, grid: h("div.charts", {}, ...charts.map(({ root }) => root)) };
  });
  const [full, { names, grid }] = grids as [(typeof grids)[0], (typeof grids)[0]];
  const none = `${plural(names.length, "measure")} in which no head is above .5: ${names.join(", ")}`;
  const root = h("div.block", {}, full.grid, names.length > 0 && folded(none, grid));
  const measures = [...new Set(given.flatMap((each) => each.measures))];
  return {
    root,
    picture: root,
    update: (now) => {
      const [least, gap] = few ? [260, 24] : now.width < 500 ? [150, 12] : [164, 18];
      const most = Math.max(1, Math.floor((now.width + gap) / (least + gap)));
      for (const { grid, charts } of grids) {
        const width = beside(grid, now.width, Math.min(most, Math.max(few ? 1 : 2, charts.length)), gap, 620);
        for (const each of charts) each.update(now, width);
      }
    },
    tables: { measures: () => tidy(figures, measures) },
  };
};
