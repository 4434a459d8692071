// Charts beside one another; a row that stands for a head opens it.

import type { ChartBlock } from "../../protocol";
import { h } from "../../ui/dom";
import { beside, Charted, captioned, redrawn } from "../chart";
import { ofMeasure } from "../reasons";
import { headTip } from "../tip";
import type { Block } from "./block";

export const chart: Block<ChartBlock> = ({ charts, height, reasons, tips }, { host }) => {
  const { figures } = host;
  const heads = new Map(figures.cells.map((cell) => [figures.name(cell), cell]));
  const made = charts.map((info) => {
    const cellOf = (row: number) => heads.get(info.rows.link?.[row] ?? "") ?? null;
    const tip = (row: number): Node => {
      const cell = cellOf(row)!;
      const lines = tips[row]?.split("\n") ?? [];
      return headTip(figures.name(cell), figures.paper(cell), ...lines.map((line) => h("div.dim", line)));
    };
    const open = (row: number): void =>
      host.open(cellOf(row)!, reasons[row] ?? ofMeasure(host.now.measure, cellOf(row)!));
    const walked = info.kind === "head_map" && info.rows.link !== undefined;
    return { info, charted: new Charted(host, cellOf, tip, open, walked) };
  });
  const root = h(
    "div.charts.block",
    ...made.map(({ info: { title }, charted: { root } }) => (title ? captioned(title, null, root) : root)),
  );
  const update = redrawn(
    ({ theme, cell }, room) => {
      const width = beside(root, room, room < 500 ? 1 : made.length, 24, 460);
      for (const { info, charted } of made)
        charted.show(info, { width, theme, ...(height && { height }) }, info.label ?? info.title, cell);
    },
    ...made.map(({ charted }) => charted),
  );
  return { root, update: (now) => update(now, now.width), picture: root };
};
