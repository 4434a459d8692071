// Findings, one below another, each with what stands behind it; a sentence with arcs stands above it.

import "./items.css";
import type { ItemsBlock } from "../../protocol";
import { h } from "../../ui/dom";
import type { Block } from "./block";

/** How wide a picture beside a finding is, and what is between them. */
const [SIDE, GAP] = [104, 16];

export const items: Block<ItemsBlock> = (info, { within }) => {
  const made = info.items.map(({ picture, blocks }) => {
    const wide = picture[0]?.kind === "case";
    return { aside: within(picture), told: within(blocks), beside: picture.length > 0 && !wide, wide };
  });
  const entries = made.map(({ aside, told, beside, wide }) =>
    h(beside ? "li.pictured" : wide ? "li.pictured.wide" : "li", ...aside.roots, h("div", ...told.roots)),
  );
  return {
    root: h("ul.findings", ...entries),
    settled: () => made.every(({ aside }) => aside.settled!()),
    update: (now) => {
      for (const { aside, told, beside } of made) {
        aside.update!({ ...now, width: SIDE });
        told.update!({ ...now, width: now.width - (beside ? SIDE + GAP : 0) });
      }
    },
  };
};
