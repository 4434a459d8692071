// The model itself: unpacked when a reader asks for it, with the head that is open.

import "../../../live/live.css";
import "./standalone.css";
import { Mounted } from "../../../live/standalone/mount";
import type { StandaloneSection } from "../../../protocol";
import { fixed } from "../../../scene/format";
import { h } from "../../../ui/dom";
import type { Section } from "../../host";

export const section: Section<StandaloneSection> = (element, { page }, host) => {
  const millions = fixed(page.model.parameters / 1e6, 1);
  const inner = h("div");
  let mounted: Mounted | null = null;
  const start = h("button.begin", { onclick: () => begin() }, `Start the model (${millions} million weights)`);
  const begin = (): void => {
    start.remove();
    const { layer, head } = host.now.cell;
    const dark = (): boolean => host.now.theme === "dark";
    mounted = new Mounted(inner, page, {
      host: { changed: () => undefined },
      dark,
      asked: null,
      state: { layer, heads: [head] },
    });
  };
  element.append(h("p", start), inner);
  return { update: () => mounted?.surroundings() };
};
