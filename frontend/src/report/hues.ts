// The colours of layers and of groups of heads, and what they mean.

import { COLOURS, css, oklab, ramp, type Theme } from "../scene/color";
import { h } from "../ui/dom";
import { spaced } from "./cells";

/** From blue for the first layer to orange for the last, as in the printed figure, and as far from each other as there is
 * room: equal steps of the way through the stops, not of their number. */
export function layerHues(count: number, theme: Theme): string[] {
  const stops = COLOURS[theme].layers;
  const labs = stops.map(oklab);
  const ends = [0];
  for (let i = 1; i < labs.length; i++)
    ends.push(ends[i - 1]! + Math.hypot(...labs[i]!.map((x, c) => x - labs[i - 1]![c]!)));
  const all = ramp(stops);
  return Array.from({ length: count }, (_, layer) => {
    const way = count > 1 ? (ends.at(-1)! * layer) / (count - 1) : 0;
    const after = Math.max(
      1,
      ends.findIndex((end) => end >= way - 1e-9),
    );
    const place = after - 1 + (way - ends[after - 1]!) / (ends[after]! - ends[after - 1]!);
    return css(all[Math.round((255 * place) / (stops.length - 1))]!);
  });
}

/** The layers in their colours, those that have room with their numbers. */
export function layerKey(layers: readonly number[], hues: readonly string[]): HTMLElement {
  const numbered = new Map(spaced(layers, Math.min(22, 280 / layers.length), 16));
  const swatches = hues.map((hue, i) => h("span", { style: `--hue:${hue}` }, String(numbered.get(i) ?? "")));
  return h("span", {}, "layer", h("span.hues", { style: `--layers:${layers.length}` }, ...swatches));
}

/** The groups in their colours, with how many heads each has; `of` is the group of each head, -1 for none. */
export function groupKey(groups: readonly string[], of: readonly number[], colors: readonly string[]): HTMLElement[] {
  const count = (group: number): HTMLElement => h("b.dim", {}, String(of.filter((each) => each === group).length));
  const keys = groups.map((name, group) =>
    h("span", {}, h("i", { style: `background:${colors[group]}` }), `${name} `, count(group)),
  );
  return of.includes(-1) ? [...keys, h("span", {}, h("i.ringed"), "none of these ", count(-1))] : keys;
}
