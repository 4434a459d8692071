// The legend of gold links: how many of them what is open gets right, and how the others are drawn.

import { surface } from "../draw/canvas";
import { drawSwatch, type Swatch } from "../draw/golddraw";
import { plural } from "../scene/format";
import type { Scene } from "../scene/scene";
import { h } from "./dom";

/** Fill the legend; it is hidden where no links are drawn. */
export function goldKey(root: HTMLElement, scene: Scene): void {
  const links = scene.judged();
  root.hidden = links.length === 0;
  const right = links.filter((link) => link.right).length;
  const wrong = links.length - right;
  const entry = (swatch: Swatch, text: string): HTMLElement => {
    const canvas = h("canvas", { "aria-hidden": "true" });
    drawSwatch(surface(canvas, 22, 14), scene.owner.ink, swatch);
    return h("span", {}, canvas, text);
  };
  const entries = [h("span.cap", {}, plural(links.length, "gold link"))];
  if (right > 0) entries.push(entry("right", scene.many ? `${right} right in a head` : `${right} right`));
  if (wrong > 0) entries.push(entry("wrong", `${wrong} wrong`), entry("instead", "chosen instead"));
  root.replaceChildren(...entries);
}
