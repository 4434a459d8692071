// Charts beside one another; a row that stands for a head opens it.

import type { ChartBlock } from "../../protocol";
import { clamp } from "../../scene/format";
import { h } from "../../ui/dom";
import { beside, Charted, captioned, redrawn } from "../chart";
import { type Measure, tidy } from "../figures";
import { ofMeasure } from "../reasons";
import { figureTip, headTip } from "../tip";
import type { Block } from "./block";

export const chart: Block<ChartBlock> = ({ charts, height, reasons, tips, measures = [] }, { host }) => {
  const { figures } = host;
  const heads = new Map(figures.cells.map((cell) => [figures.name(cell), cell]));
  const shown = measures.map((names) => names.map(figures.measure));
  const made = charts.map((info, at) => {
    const { rows } = info;
    const own = shown[at];
    const cellOf = (row: number) => heads.get(rows.link?.[row] ?? "") ?? null;
    const measureOf = (row: number): Measure | undefined => own?.[rows.colour?.[row] ?? 0];
    const tip = (row: number): Node => {
      const [cell, measure] = [cellOf(row)!, measureOf(row)];
      if (measure) return figureTip(figures, measure, cell);
      const lines = tips[row]?.split("\n") ?? [];
      return headTip(figures.name(cell), figures.paper(cell), ...lines.map((line) => h("div.dim", line)));
    };
    const open = (row: number): void =>
      host.open(cellOf(row)!, reasons[row] ?? ofMeasure(measureOf(row) ?? host.now.measure, cellOf(row)!));
    const walked = info.kind === "head_map" && rows.link !== undefined;
    const charted = new Charted(host, cellOf, tip, open, walked);
    const alone = own?.length === 1 ? own[0] : null;
    const show = (): void => host.set({ measure: alone!.name });
    const title = alone ? h("button.link", { onclick: show }, alone.info.title) : info.title;
    const above = alone?.isShare && h("span.dim", `${rows.marked!.length || "none"} above .5`);
    return { info, charted, root: title ? captioned(title, above, charted.root) : charted.root };
  });
  const root = h("div.charts.block", ...made.map(({ root }) => root));
  const update = redrawn(
    ({ theme, cell }, room) => {
      const [least, gap] = charts.length < 3 ? [260, 24] : room < 500 ? [150, 12] : [164, 18];
      const columns = clamp(Math.floor((room + gap) / (least + gap)), 1, charts.length);
      const width = beside(root, room, columns, gap, 460);
      for (const { info, charted } of made)
        charted.show(info, { width, theme, ...(height && { height }) }, info.label ?? info.title, cell);
    },
    ...made.map(({ charted }) => charted),
  );
  return {
    root,
    update: (now) => update(now, now.width),
    picture: root,
    ...(shown.length > 0 && { tables: { measures: () => tidy(figures, [...new Set(shown.flat())]) } }),
  };
};
