// Charts as a still: panels beside one another, each with its title and the key of its colours, and the caption below.

import { type Block, row, stack, text } from "../draw/block";
import { chart } from "../draw/chart";
import { key } from "../draw/key";
import type { ChartsPayload } from "../protocol";
import { COLOURS, type Theme } from "../scene/color";

const GAP = 20;
/** A panel is at least so wide where others stand beside it. */
const LEAST = 180;
const TALLEST = 260;

export function charts({ charts, across, caption }: ChartsPayload, theme: Theme, width: number): Block[] {
  const { ink, ink3 } = COLOURS[theme];
  const columns = Math.max(1, Math.min(across, charts.length, Math.floor((width + GAP) / (LEAST + GAP))));
  const wide = Math.floor((width - GAP * (columns - 1)) / columns);
  // A key that several share stands once.
  const colours = new Set(charts.map(({ colour }) => String(Object.values(colour ?? {}))));
  const [shared] = charts.length > 1 && colours.size === 1 ? [charts[0]!.colour] : [];
  const lines = Array.from({ length: Math.ceil(charts.length / columns) }, (_, i) => {
    const beside = charts.slice(columns * i, columns * (i + 1));
    const drawn = beside.map((one) => chart(one, { width: wide, theme }));
    // What stands beside a map is as tall, within reason.
    const tall = Math.min(TALLEST, Math.max(...drawn.map(({ height }) => height)));
    const panels = beside.map((one, at) => {
      const title = text(one.title, wide, { color: ink, size: 12, weight: 600 });
      const own = one.colour && !shared ? [key(one.colour, wide, theme)] : [];
      const plot = one.kind === "layers" ? chart(one, { width: wide, theme, height: tall }) : drawn[at]!;
      return { ...stack([...(one.title ? [title] : []), plot, ...own], 6), width: wide };
    });
    return row(panels, GAP);
  });
  return [
    stack(lines, 16),
    ...(shared ? [key(shared, width, theme)] : []),
    text(caption, 0.94 * width, { color: ink3, size: 10 }),
  ];
}
