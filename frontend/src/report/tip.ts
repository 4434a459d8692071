// What a mark says when it is pointed at.

import { errorFigure, figure, whole } from "../scene/format";
import { type Child, h } from "../ui/dom";
import type { Cell, Figures, Measure } from "./figures";
import type { Host } from "./host";

/** A head's name, and more of it. */
export const headTip = (name: string, paper: string, ...content: Child[]): HTMLElement =>
  h("div", h("div", h("b", name), h("span.dim", `  ${paper} in papers`)), ...content);

/** Names and figures, a row each. */
export const tipTable = (...rows: (readonly [name: string, text: string] | false | undefined)[]): HTMLElement =>
  h("table", ...rows.map((row) => row && h("tr", h("td", row[0]), h("td.n", row[1]))));

/** Head, value ± standard error, n, chance, and more. */
export function figureTip(
  figures: Figures,
  measure: Measure,
  cell: Cell,
  ...more: Parameters<typeof tipTable>
): HTMLElement {
  const [value, error, count] = [measure.value(cell), measure.error(cell), measure.count(cell)];
  const chance = measure.chance(cell.layer);
  const rows = tipTable(
    [measure.info.title, `${figure(value)}${measure.isShare ? "" : ` ${measure.info.units}`}`],
    Number.isFinite(error) && ["standard error", `± ${errorFigure(error)}`],
    Number.isFinite(count) && ["n", whole(count)],
    Number.isFinite(chance) && ["uniform attention", figure(chance)],
    ...more,
  );
  return headTip(figures.name(cell), figures.paper(cell), rows);
}

/** The same in one line, for readers who hear the page. */
export function figureText(figures: Figures, measure: Measure, cell: Cell): string {
  const error = measure.error(cell);
  const spread = Number.isFinite(error) ? ` ± ${errorFigure(error)}` : "";
  return `${figures.name(cell)}, ${measure.info.title} ${figure(measure.value(cell))}${spread}`;
}

/** Listeners of a picture of heads: what is under the pointer shows its tip, and a click opens it. */
export function pointing<Mark>(
  host: Pick<Host, "tip">,
  under: (event: MouseEvent) => Mark | null | undefined,
  tip: (mark: Mark, event: MouseEvent) => Node | null,
  open: (mark: Mark, event: MouseEvent) => void,
  over: (mark: Mark | null) => void = () => undefined,
) {
  return {
    onpointermove: (event: PointerEvent) => {
      const mark = under(event) ?? null;
      (event.currentTarget as HTMLElement).style.cursor = mark ? "pointer" : "default";
      over(mark);
      host.tip(mark && tip(mark, event), event.clientX, event.clientY);
    },
    onpointerleave: () => {
      over(null);
      host.tip(null);
    },
    onclick: (event: MouseEvent) => {
      const mark = under(event);
      if (mark) open(mark, event);
    },
  };
}

/** Listeners that show a tip while an element is pointed at. */
export const tipOn = (host: Host, content: () => Node) => ({
  onpointermove: (event: PointerEvent) => host.tip(content(), event.clientX, event.clientY),
  onpointerleave: () => host.tip(null),
});
