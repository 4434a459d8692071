// The one tip of a page.

import { clamp, h } from "../dom";
import { errorFigure, figure, whole } from "../format";
import type { Cell, Figures, Measure } from "./figures";

export class Tip {
  private readonly element = h("div.tip", { "aria-hidden": "true" });

  constructor(parent: HTMLElement) {
    parent.append(this.element);
  }

  show(content: Node | null, x = 0, y = 0): void {
    this.element.classList.toggle("on", content !== null);
    if (!content) return;
    this.element.replaceChildren(content);
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const left = x + 16 + width > window.innerWidth - 8 ? x - 14 - width : x + 16;
    const top = y + 16 + height > window.innerHeight - 8 ? y - 12 - height : y + 16;
    const place = [clamp(left, 8, window.innerWidth - width - 8), clamp(top, 8, window.innerHeight - height - 8)];
    this.element.style.transform = `translate(${place[0]}px, ${place[1]}px)`;
  }

  destroy(): void {
    this.element.remove();
  }
}

/** What a mark says when it is pointed at: head, value ± standard error, n, chance. */
export function figureTip(figures: Figures, measure: Measure, cell: Cell): HTMLElement {
  const [value, error, count] = [measure.value(cell), measure.error(cell), measure.count(cell)];
  const chance = measure.chance(cell.layer);
  const units = measure.isShare ? "" : ` ${measure.info.units}`;
  const row = (name: string, text: string): HTMLElement => h("tr", {}, h("td", {}, name), h("td.n", {}, text));
  return h(
    "div",
    {},
    h("div", {}, h("b", {}, figures.name(cell)), h("span.dim", {}, `  ${figures.paper(cell)} in papers`)),
    h(
      "table",
      {},
      row(measure.info.title, `${figure(value)}${units}`),
      Number.isFinite(error) && row("standard error", `± ${errorFigure(error)}`),
      Number.isFinite(count) && row("n", whole(count)),
      Number.isFinite(chance) && row("uniform attention", figure(chance)),
    ),
  );
}

/** The same in one line, for readers who hear the page. */
export function figureText(figures: Figures, measure: Measure, cell: Cell): string {
  const error = measure.error(cell);
  const spread = Number.isFinite(error) ? ` ± ${errorFigure(error)}` : "";
  return `${figures.name(cell)}, ${measure.info.title} ${figure(measure.value(cell))}${spread}`;
}
