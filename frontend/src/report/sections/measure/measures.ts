// Every measure small, one of them large, and its strongest heads.

import "./measures.css";
import type { MeasuresSection } from "../../../protocol";
import type { Theme } from "../../../scene/color";
import { decimal, errorFigure, figure } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { draw } from "../../cells";
import { type Cell, same, tidy } from "../../figures";
import type { Host, Now, Section } from "../../host";
import { ofMeasure, opens } from "../../reasons";
import { folded } from "../../rows";
import { figureTip, tipOn } from "../../tip";
import { grid, paintCells } from "./grid";

/** Of more measures so many are small multiples at first. */
const MANY = 6;

/** The small multiples: a button a measure. */
function thumbnails(host: Host): { root: HTMLElement; update: (now: Now) => void } {
  const { figures } = host;
  const thumbs = figures.told.map((measure) => {
    const canvas = h("canvas", { "aria-hidden": "true" });
    const button = h(
      "button.thumb",
      { type: "button", onclick: () => host.set({ measure: measure.name }) },
      canvas,
      h("span", {}, measure.info.title),
    );
    return { measure, button, canvas };
  });
  const step = Math.min(104 / figures.columns, 84 / figures.rows, 14);
  const gap = step >= 5 ? 1 : step >= 3 ? 0.5 : 0;
  let painted: Theme | null = null;
  const update = ({ theme, measure: open }: Now): void => {
    for (const { measure, button, canvas } of thumbs) {
      button.setAttribute("aria-pressed", String(measure === open));
      if (theme === painted) continue;
      draw(canvas, figures.columns * step, figures.rows * step, (pen) =>
        paintCells(pen, figures, measure, theme, step - gap, step),
      );
    }
    painted = theme;
  };
  const buttons = thumbs.map(({ button }) => button);
  const group = (some: readonly HTMLElement[], name: string): HTMLElement =>
    h("div.thumbs", { role: "group", "aria-label": name }, ...some);
  if (buttons.length <= MANY) return { root: group(buttons, "Measures"), update };
  const more = folded(`${buttons.length - MANY} more measures`, group(buttons.slice(MANY), "More measures"));
  return { root: h("div", {}, group(buttons.slice(0, MANY), "Measures"), more), update };
}

/** The heads that stand out in the open measure: the highest, and for entropies the lowest too. */
function ranking(host: Host, now: Now): HTMLElement[] {
  const { figures } = host;
  const { measure } = now;
  const entry = (cell: Cell): HTMLElement => {
    const chance = measure.chance(cell.layer);
    const at = (x: number): string => `${decimal(100 * measure.scale.position(x), 2)}%`;
    const bar = h("i", { style: `width:${at(measure.value(cell))}` });
    return h(
      "button.entry",
      {
        type: "button",
        "aria-current": same(cell, now.cell) ? "true" : null,
        ...opens(host, cell, ofMeasure(measure, cell)),
        ...tipOn(host, () => figureTip(figures, measure, cell)),
      },
      h("span.name", {}, figures.name(cell)),
      h(
        "span.gauge",
        { "aria-hidden": "true" },
        bar,
        Number.isFinite(chance) && h("b", { style: `left:${at(chance)}` }),
      ),
      h("span.val", {}, figure(measure.value(cell))),
      h("span.se", {}, Number.isFinite(measure.error(cell)) ? `±${errorFigure(measure.error(cell))}` : ""),
    );
  };
  const ranked = figures.ranked(measure);
  const highest = (count: number): HTMLElement[] => [h("h4.cap", {}, "highest"), ...ranked.slice(0, count).map(entry)];
  if (measure.isShare || ranked.length < 10) return highest(7);
  return [...highest(4), h("h4.cap", {}, "lowest"), ...ranked.slice(-3).map(entry)];
}

export const section: Section<MeasuresSection> = (element, _, host) => {
  const { figures } = host;
  const [title, about, list] = [h("h3"), h("p.about"), h("div.ranking")];
  const [thumbs, map] = [thumbnails(host), grid(host)];
  const head = h("div.figurehead", {}, h("div", {}, title, about));
  const figure = h("div.figure", {}, h("div.gridbox", {}, map.root), h("div.side", {}, list));
  const picture = h("div.measures", {}, thumbs.root, head, figure);
  element.append(picture);
  const update = (now: Now): void => {
    const { measure, width } = now;
    // The list stands beside the grid where both have room, and below it otherwise.
    const beside = width >= 620;
    const room = beside ? width - 240 : width;
    picture.classList.toggle("stacked", !beside);
    thumbs.update(now);
    map.update(now, room);
    list.replaceChildren(...ranking(host, now));
    title.textContent = measure.info.title;
    about.textContent = measure.info.description;
  };
  return { update, picture, tables: { measures: () => tidy(figures) } };
};
