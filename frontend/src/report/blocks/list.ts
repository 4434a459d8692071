// Names, and what is said of each; heads that stay above a bar where it can be moved.

import type { ListBlock } from "../../protocol";
import { fixed } from "../../scene/format";
import { h } from "../../ui/dom";
import { listed } from "../parts";
import type { Block } from "./block";

export const list: Block<ListBlock> = ({ entries, bar }, { host }) => {
  const root = h("dl.notes");
  const show = (above: number | null): void => {
    const rows = entries.flatMap(({ name, parts }) => {
      const there = parts.filter(({ low }) => above === null || (low ?? 0) > above);
      if (there.length === 0) return [];
      const heads = there.some(({ reason }) => reason);
      return [
        h("dt", above === null ? name : `${name} (${there.length})`),
        h(heads ? "dd.headlist" : "dd", ...listed(there, host)),
      ];
    });
    root.replaceChildren(...(rows.length > 0 ? rows : [h("dd", bar?.none)]));
  };
  show(bar?.value ?? null);
  if (!bar) return { root };
  const output = h("output", fixed(bar.value, 2));
  const slider: HTMLInputElement = h("input", {
    type: "range",
    min: bar.least,
    max: bar.most,
    step: bar.step,
    value: bar.value,
    "aria-label": bar.label,
    oninput: () => {
      output.textContent = fixed(slider.valueAsNumber, 2);
      show(slider.valueAsNumber);
    },
  });
  return { root: h("div", h("label.showing", h("span.cap", bar.label), slider, output), root) };
};
