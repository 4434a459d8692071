// Every measure small, one of them large, and its heads in order.

import "./measures.css";
import type { MeasuresSection, TableBlock } from "../../../protocol";
import { h } from "../../../ui/dom";
import { Rows } from "../../blocks/table";
import { paintCells } from "../../cells";
import { Charted, colourOf, mapOf, redrawn } from "../../chart";
import { type Cell, type Figures, type Measure, orNull, tidy } from "../../figures";
import type { Section } from "../../host";
import { ofMeasure } from "../../reasons";
import { folded } from "../../rows";
import { figureTip } from "../../tip";

/** Of more measures so many are small multiples at first. */
const MANY = 6;

/** The heads that stand out in a measure, the highest first. */
function ranking(figures: Figures, measure: Measure): TableBlock {
  const cells = figures.ranked(measure);
  const { scale, value, error, chance } = measure;
  const position = (at: number): number | null => orNull(scale.position(at));
  return {
    ...{ kind: "table", name: "ranking", title: measure.info.title, columns: [] },
    more: [
      { name: "head", format: "head" },
      { name: "value", label: "figure" },
      { name: "position", label: "" },
    ],
    values: {
      layer: cells.map(figures.layerOf),
      head: cells.map(figures.headOf),
      value: cells.map(value),
      error: cells.map((cell) => orNull(error(cell))),
      position: cells.map((cell) => position(value(cell))),
      chance: cells.map(({ layer }) => position(chance(layer))),
    },
    cells: [
      { of: "head" },
      { of: "position", draw: "bar", base: "chance" },
      { of: "value", error: "error", tone: "strong" },
    ],
    reasons: cells.map((cell) => ofMeasure(measure, cell)),
  };
}

export const section: Section<MeasuresSection> = (element, _, host) => {
  const { figures } = host;
  const cellOf = (row: number): Cell => figures.cells[row]!;
  const map = new Charted(
    host,
    cellOf,
    (row) => figureTip(figures, host.now.measure, cellOf(row)),
    (row) => host.open(cellOf(row), ofMeasure(host.now.measure, cellOf(row))),
    true,
  );
  const thumbs = figures.told.map((measure) => {
    const canvas = h("canvas", { "aria-hidden": "true" });
    const onclick = (): void => host.set({ measure: measure.name });
    const button = h("button.thumb", { type: "button", onclick }, canvas, h("span", {}, measure.info.title));
    return { measure, button, canvas };
  });
  const group = (some: typeof thumbs, name: string): HTMLElement =>
    h("div.thumbs", { role: "group", "aria-label": name }, ...some.map(({ button }) => button));
  const more = thumbs.slice(MANY);
  const [title, about, side] = [h("h3"), h("p.about"), h("div.side")];
  const picture = h(
    "div.measures",
    {},
    group(thumbs.slice(0, MANY), "Measures"),
    more.length > 0 && folded(`${more.length} more measures`, group(more, "More measures")),
    h("div.figurehead", {}, title, about),
    h("div.figure", {}, map.root, side),
  );
  element.append(picture);
  let rows: Rows | null = null;
  const draw = redrawn(({ measure, theme, cell }, room) => {
    for (const each of thumbs) {
      each.button.setAttribute("aria-pressed", String(each.measure === measure));
      paintCells(each.canvas, figures, each.measure, theme, 104);
    }
    const { info, value, scale } = measure;
    const chart = mapOf(figures, figures.cells, value, colourOf(scale, info.units));
    const label = `Heat map of ${info.title}, layers by heads. Arrow keys move between heads.`;
    map.show(chart, { width: room, theme, height: 580 }, label, cell);
    [title.textContent, about.textContent] = [info.title, info.description];
    rows = new Rows(ranking(figures, measure), "measures.ranking", host);
    side.replaceChildren(rows.root);
  }, map);
  return {
    update: (now) => {
      // The heads stand beside the map where both have room, and below it otherwise.
      const beside = now.width >= 620;
      picture.classList.toggle("stacked", !beside);
      draw(now, beside ? Math.min(now.width - 260, 580) : now.width, now.measure);
      rows?.update(now);
    },
    picture,
    tables: { measures: () => tidy(figures) },
  };
};
