// What heads look at where they were named: small pictures that open them there.

import type { GlancesBlock } from "../../protocol";
import { h } from "../../ui/dom";
import { glance } from "../glance";
import { opens, placed } from "../reasons";
import type { Block } from "./block";

/** The side of a picture: of one alone, and of several. */
const [ALONE, SEVERAL] = [96, 48];

export const glances: Block<GlancesBlock> = ({ heads }, { host }) => {
  const size = heads.length > 1 ? SEVERAL : ALONE;
  const made = heads.flatMap(({ text, layer, head, reason, title }) => {
    const cell = host.figures.find(layer, head);
    const seen = cell && placed(reason!, cell, host.figures);
    if (!cell || seen?.example == null) return [];
    const canvas = h("canvas", { "aria-hidden": "true", style: `width:${size}px;height:${size}px` }); // its room is there before it is drawn
    const root = h(
      "button.glance",
      {
        "data-example": seen.example,
        title: title ?? null,
        "aria-label": title ? `${text}: ${title}` : text,
        ...opens(host, cell, seen),
      },
      canvas,
      h("span", text),
    );
    return [{ root, draw: () => glance(canvas, host, cell, seen.example!, seen.pin, size) }];
  });
  let [painted, left] = ["", made.length];
  return {
    root: h(made.length > 1 ? "div.glances" : "div", ...made.map(({ root }) => root)),
    settled: () => left <= 0,
    update: ({ theme }) => {
      if (theme === painted) return;
      painted = theme;
      for (const { root, draw } of made)
        void draw().then((drawn) => {
          root.hidden = !drawn;
          left--;
        });
    },
  };
};
