// The legend of gold links: how many of them what is open gets right, and how the others are drawn.

import { surface } from "../draw/canvas";
import { drawSwatch } from "../draw/golddraw";
import { goldSays } from "../scene/says";
import type { Scene } from "../scene/scene";
import { h } from "./dom";

/** Fill the legend; it is hidden where no links are drawn. */
export function goldKey(root: HTMLElement, scene: Scene): void {
  const entries = goldSays(scene);
  root.hidden = entries.length === 0;
  root.replaceChildren(
    ...entries.map(({ swatch, text }) => {
      if (!swatch) return h("span.cap", text);
      const canvas = h("canvas", { "aria-hidden": "true" });
      drawSwatch(surface(canvas, 22, 14), scene.owner.ink, swatch);
      return h("span", canvas, text);
    }),
  );
}
