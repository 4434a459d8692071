// Measures as maps of heads: each small, one of them large, and beside it its heads in order, or by layer.

import "./measures.css";
import type { MeasuresBlock, TableBlock } from "../../protocol";
import { plural } from "../../scene/format";
import { h } from "../../ui/dom";
import { paintCells } from "../cells";
import { Charted, captioned, colourOf, mapOf, redrawn } from "../chart";
import { type Cell, type Figures, type Measure, tablesOf, tidy } from "../figures";
import type { Now } from "../host";
import { ofMeasure } from "../reasons";
import { folded } from "../rows";
import { figureTip } from "../tip";
import { Two } from "../two";
import type { Block } from "./block";
import { tableOf } from "./heads";
import { Rows } from "./table";

/** Of more measures so many are small multiples at first. */
const MANY = 6;

/** The heads that stand out in a measure, the highest first. */
function ranking(figures: Figures, measure: Measure): TableBlock {
  const { scale, value, error, chance } = measure;
  const position = (cell: Cell): number => scale.position(value(cell));
  const even = ({ layer }: Cell): number => scale.position(chance(layer));
  return tableOf(
    figures,
    figures.ranked(measure),
    measure,
    { value, error, position, even },
    {
      name: "ranking",
      title: measure.info.title,
      more: [
        { name: "value", label: "figure" },
        { name: "position", label: "" },
      ],
      cells: [
        { of: "head" },
        { of: "position", draw: "bar", base: "even" },
        { of: "value", error: "error", tone: "strong" },
      ],
    },
  );
}

export const measures: Block<MeasuresBlock> = ({ seen }, { host, section, element }) => {
  const { figures } = host;
  const two = seen ? new Two(figures, tablesOf(figures.payload, section)) : null;
  const all = two?.measures ?? figures.told;
  let chosen = all[0]!;
  const shown = (): Measure => (two ? chosen : host.now.measure);
  const cellOf = (row: number): Cell => figures.cells[row]!;
  const tip = (row: number): Node =>
    figureTip(figures, shown(), cellOf(row), ...(two?.told(shown(), cellOf(row)) ?? []));
  const open = (row: number): void => {
    const [reason, there] = [ofMeasure(shown(), cellOf(row)), seen?.[figures.name(cellOf(row))]];
    host.open(cellOf(row), two ? { ...reason, measure: null, ...there } : reason);
  };
  const [map, layers] = [new Charted(host, cellOf, tip, open, true), new Charted(host, cellOf, tip, open)];
  const show = (name: string): void => {
    if (!two) return host.set({ measure: name });
    chosen = all.find((measure) => measure.name === name) ?? chosen;
    update(host.now);
  };
  const thumbs = all.map((measure) => {
    const canvas = h("canvas", { "aria-hidden": "true" });
    const onclick = (): void => show(measure.name);
    const button = h("button.thumb", { onclick }, canvas, h("span", measure.info.title));
    return { measure, button, canvas };
  });
  const group = (some: typeof thumbs, name: string): HTMLElement =>
    h("div.thumbs", { role: "group", "aria-label": name }, ...some.map(({ button }) => button));
  const first = two ? [] : thumbs.slice(0, MANY);
  const more = thumbs.slice(first.length);
  const others = two ? `A − B of ${plural(more.length - 1, "measure")}` : `${more.length} more measures`;
  const [title, about, side] = [h("h3"), h("p.about"), h("div.side")];
  if (two) side.append(captioned("Layers", h("span.dim", "points are heads, the line their mean"), layers.root));
  const root = h(
    "div.measures",
    !two && group(first, "Measures"),
    more.length > 0 && folded(others, group(more, "More measures")),
    h("div.figurehead", title, about),
    h("div.figure", map.root, side),
  );
  element.addEventListener("measure", (event) => {
    show((event as CustomEvent<string>).detail);
    root.scrollIntoView({ behavior: "smooth", block: "nearest" });
  });
  let rows: Rows | null = null;
  const draw = redrawn(
    ({ theme, cell }, width) => {
      const { info, value, scale } = shown();
      for (const { button, canvas, measure } of thumbs) {
        button.setAttribute("aria-pressed", String(measure === shown()));
        paintCells(canvas, figures, measure, theme, 104);
      }
      [title.textContent, about.textContent] = [info.title, info.description];
      // What stands beside the map does so where both have room, and below it otherwise.
      const wide = width >= 620;
      root.classList.toggle("stacked", !wide);
      const room = wide ? Math.min(two ? Math.floor(0.54 * width) : width - 260, 580) : width;
      const label = `${info.title} of ${figures.cells.length} heads, layers down, heads across. Arrow keys move between heads, Enter opens one.`;
      const chart = mapOf(figures, figures.cells, value, colourOf(scale, info.units));
      map.show(chart, { width: room, theme, height: 580 }, label, cell);
      if (two) {
        const how = { width: wide ? width - room - 40 : width, height: 250, theme };
        return layers.show(two.byLayer(shown()), how, `${info.title} by layer, ${info.units}`, cell);
      }
      rows = new Rows(ranking(figures, shown()), `${section}.ranking`, host);
      side.replaceChildren(rows.root);
    },
    map,
    layers,
  );
  const update = (now: Now): void => {
    draw(now, now.width, shown());
    rows?.update(now);
  };
  return { root, update, picture: root, ...(!two && { tables: { measures: () => tidy(figures) } }) };
};
