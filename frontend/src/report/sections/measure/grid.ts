// A measure of every head: layers down, heads across.

import type { Pen } from "../../../draw/canvas";
import { layout } from "../../../draw/chart";
import { css, type Theme } from "../../../scene/color";
import { Of } from "../../../scene/made";
import { Charted, colourOf, mapOf } from "../../chart";
import type { Cell, Figures, Measure } from "../../figures";
import type { Host, Now } from "../../host";
import { ofMeasure } from "../../reasons";
import { figureTip } from "../../tip";

/** Paint every cell of a measure; what has no value stays empty. */
export function paintCells(
  pen: Pen,
  figures: Figures,
  measure: Measure,
  theme: Theme,
  size: number,
  step: number,
): void {
  for (const cell of figures.cells) {
    const value = measure.value(cell);
    if (!Number.isFinite(value)) continue;
    pen.fillStyle = css(measure.pixel(value, theme));
    pen.fillRect(cell.head * step, cell.layer * step, size, size);
  }
}

/** The large heat map; `update` draws it in so much room. */
export function grid(host: Host): { root: HTMLElement; update: (now: Now, room: number) => void } {
  const { figures } = host;
  const cellOf = (row: number): Cell => figures.cells[row]!;
  const charted = new Charted(
    host,
    cellOf,
    (row) => figureTip(figures, host.now.measure, cellOf(row)),
    (row) => host.open(cellOf(row), ofMeasure(host.now.measure, cellOf(row))),
    true,
  );
  const drawn = new Of();
  const update = ({ measure, theme, cell }: Now, room: number): void => {
    if (!drawn.renewed(measure, theme, room)) return charted.select(cell);
    const { size, gap } = layout(figures.rows, figures.columns, room - 30, 560, 48);
    const info = mapOf(figures, figures.cells, measure.value, colourOf(measure.scale, measure.info.units));
    const label = `Heat map of ${measure.info.title}, layers by heads. Arrow keys move between heads.`;
    const width = Math.min(room, Math.max(220, 32 + figures.columns * (size + gap)));
    charted.show(info, { width, theme, height: 580 }, label, cell);
  };
  return { root: charted.root, update };
}
