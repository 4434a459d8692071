// Columns beside one another where they have room, each with a width of its own.

import type { ColumnsBlock } from "../../protocol";
import { h } from "../../ui/dom";
import type { Block } from "./block";

/** From this width on columns stand beside one another; the first has so much of it, between them is so much. */
const [WIDE, FIRST, GAP] = [560, 0.42, 30];

export const beside: Block<ColumnsBlock> = ({ columns }, { within }) => {
  const made = columns.map(within);
  const root = h("div.besides", ...made.map(({ roots }) => h("div", ...roots)));
  return {
    root,
    settled: () => made.every(({ settled }) => settled!()),
    update: (now) => {
      const room = now.width - GAP;
      root.classList.toggle("wide", now.width >= WIDE);
      made.forEach(({ update }, at) => {
        const width = now.width < WIDE ? now.width : Math.floor(at === 0 ? FIRST * room : (1 - FIRST) * room);
        update!({ ...now, width });
      });
    },
  };
};
