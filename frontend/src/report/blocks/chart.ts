// Charts beside one another.

import type { ChartBlock } from "../../protocol";
import { h } from "../../ui/dom";
import { beside, Charted, captioned, redrawn } from "../chart";
import type { Block } from "./block";

export const chart: Block<ChartBlock> = ({ charts, height }, { host }) => {
  const made = charts.map((info) => ({ info, charted: new Charted(host) }));
  const root = h("div.charts.block", {}, ...made.map(({ info, charted }) => captioned(info.title, null, charted.root)));
  const update = redrawn(
    ({ theme, cell }, room) => {
      const width = beside(root, room, room < 500 ? 1 : made.length, 24, 460);
      for (const { info, charted } of made)
        charted.show(info, { width, height, theme }, info.label ?? info.title, cell);
    },
    ...made.map(({ charted }) => charted),
  );
  return { root, update: (now) => update(now, now.width), picture: root };
};
