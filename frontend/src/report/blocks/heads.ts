// Every head a row, every measure a column.

import type { ColumnInfo, HeadsBlock, TableBlock } from "../../protocol";
import { h } from "../../ui/dom";
import { type Cell, type Figures, type Measure, orNull, tidy } from "../figures";
import { ofMeasure } from "../reasons";
import { toggle } from "../rows";
import type { Block } from "./block";
import { Rows } from "./table";

/** How many measures have room beside one another on paper. */
const ACROSS = 12;

/** A table of heads, which open for their figures in a measure; `values` are its columns. */
export const tableOf = (
  figures: Figures,
  cells: readonly Cell[],
  measure: Measure,
  values: { readonly [column: string]: (cell: Cell) => number },
  info: Pick<TableBlock, "name" | "title" | "more" | "cells">,
): TableBlock => ({
  ...{ kind: "table", columns: [], ...info },
  more: [{ name: "head", format: "head" }, { name: "paper", format: "text" }, ...info.more],
  values: {
    layer: cells.map(figures.layerOf),
    head: cells.map(figures.headOf),
    ...Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, cells.map((cell) => orNull(value(cell)))]),
    ),
  },
  reasons: cells.map((cell) => ofMeasure(measure, cell)),
});

export const heads: Block<HeadsBlock> = (_, { host, section }) => {
  const { figures } = host;
  const { told, cells } = figures;
  // So many digits that the largest has three that count.
  const digits = ({ scale }: Measure): number => Math.max(2, 2 - Math.floor(Math.log10(scale.high)));
  const table = (measures: readonly Measure[], help = true): Rows => {
    const more = measures.map(
      (measure): ColumnInfo => ({
        name: measure.name,
        label: measure.info.title,
        ...(measure.isShare ? { format: "share" } : { digits: digits(measure) }),
        ...(help && measure.info.description && { help: measure.info.description }),
      }),
    );
    const values = measures.flatMap(({ name, value, error }) => [
      [name, value] as const,
      [`${name}_se`, error] as const,
    ]);
    const shown = measures.map(({ name }) => ({ of: name, error: `${name}_se`, draw: "tint" as const }));
    const info = { name: "heads", title: "Heads", more, cells: [{ of: "head" }, { of: "paper" }, ...shown] };
    return new Rows(tableOf(figures, cells, measures[0]!, Object.fromEntries(values), info), `${section}.heads`, host);
  };
  const { root, update, find } = table(told);
  const paper = h("div.paper");
  root.classList.add("quiet");
  const errors = toggle("Standard errors", (on) => root.classList.toggle("quiet", !on));
  return {
    root: h("div", h("div.screen", h("div.ctl", errors), root), paper),
    update: (now) => {
      update(now);
      if (now.printing === paper.hasChildNodes()) return;
      // As many columns at a time as have room.
      const parts = told.flatMap((_, at) => (at % ACROSS === 0 ? [table(told.slice(at, at + ACROSS), false)] : []));
      for (const part of parts) part.update(now);
      paper.replaceChildren(...(now.printing ? parts.map(({ root }) => h("div.allheads.quiet", root)) : []));
    },
    row: find,
    tables: { heads: () => tidy(figures) },
  };
};
