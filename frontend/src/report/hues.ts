// The colours of layers.

import { COLOURS, css, oklab, ramp, type Theme } from "../scene/color";

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
