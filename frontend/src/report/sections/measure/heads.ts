// Every head a row, every measure a column.

import type { ColumnInfo, HeadsSection, TableBlock } from "../../../protocol";
import { h } from "../../../ui/dom";
import { Rows } from "../../blocks/table";
import { type Figures, type Measure, orNull, tidy } from "../../figures";
import type { Section } from "../../host";
import { ofMeasure } from "../../reasons";
import { toggle } from "../../rows";

/** How many measures have room beside one another on paper. */
const ACROSS = 12;

function tableOf(figures: Figures, measures: readonly Measure[], help = true): TableBlock {
  const { cells } = figures;
  const errors = measures.map(({ name, error }) => [`${name}_se`, cells.map((cell) => orNull(error(cell)))] as const);
  // So many digits that the largest has three that count.
  const digits = ({ scale }: Measure): number => Math.max(2, 2 - Math.floor(Math.log10(scale.high)));
  const columns = measures.map(
    (measure): ColumnInfo => ({
      name: measure.name,
      label: measure.info.title,
      ...(measure.isShare ? { format: "share" } : { digits: digits(measure) }),
      ...(help && measure.info.description && { help: measure.info.description }),
    }),
  );
  return {
    ...{ kind: "table", name: "heads", title: "Heads", columns: [] },
    more: [{ name: "head", format: "head" }, { name: "paper", format: "text" }, ...columns],
    values: {
      layer: cells.map(figures.layerOf),
      head: cells.map(figures.headOf),
      ...Object.fromEntries(measures.map(({ name, value }) => [name, cells.map((cell) => orNull(value(cell)))])),
      ...Object.fromEntries(errors),
    },
    cells: [
      { of: "head" },
      { of: "paper" },
      ...measures.map(({ name }) => ({ of: name, error: `${name}_se`, draw: "tint" as const })),
    ],
    reasons: cells.map((cell) => ofMeasure(measures[0]!, cell)),
  };
}

export const section: Section<HeadsSection> = (element, _, host) => {
  const { figures } = host;
  const { told } = figures;
  const { root, update, find } = new Rows(tableOf(figures, told), "heads.heads", host);
  const paper = h("div.paper");
  const errors = toggle("Standard errors", (on) => root.classList.toggle("quiet", !on));
  root.classList.add("quiet");
  element.append(h("div.screen", {}, h("div.ctl", {}, errors), root), paper);
  return {
    update: (now) => {
      update(now);
      if (now.printing === paper.hasChildNodes()) return;
      // As many columns at a time as have room.
      const parts = told.flatMap((_, at) => (at % ACROSS === 0 ? [told.slice(at, at + ACROSS)] : []));
      const tables = parts.map((some) => new Rows(tableOf(figures, some, false), "heads.heads", host));
      for (const each of tables) each.update(now);
      paper.replaceChildren(...(now.printing ? tables.map(({ root }) => h("div.allheads.quiet", {}, root)) : []));
    },
    row: find,
    tables: { heads: () => tidy(figures) },
  };
};
