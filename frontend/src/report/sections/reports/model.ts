// The picture of the whole model: layers down, heads across, what each head is known to do as a colour and a letter.

import type { SummarySection } from "../../../protocol";
import { plural } from "../../../scene/format";
import { colourOf, type Look, looks } from "../../../scene/letters";
import { Of } from "../../../scene/made";
import { h, s } from "../../../ui/dom";
import { headGrid } from "../../cells";
import { type Cell, same } from "../../figures";
import type { Host, Now } from "../../host";
import { headTip, pointing } from "../../tip";

type Marks = SummarySection["marks"];

export class Model {
  readonly root: HTMLElement;
  private readonly picture: HTMLElement;
  private readonly key = h("ul.legendlist");
  private readonly marked: ReadonlyMap<Cell, readonly number[]>;
  private readonly looks: readonly Look[];
  private rects: { readonly cell: Cell; readonly rect: SVGElement }[] = [];
  private readonly drawn = new Of();

  constructor(
    private readonly marks: Marks,
    private readonly host: Host,
    open: (cell: Cell) => void,
  ) {
    const { figures } = host;
    this.looks = looks(marks.map(({ name }) => name));
    this.marked = new Map(
      figures.cells.map((cell) => [
        cell,
        marks.flatMap(({ heads }, i) =>
          heads.some(([layer, head]) => figures.layerOf(cell) === layer && figures.headOf(cell) === head) ? [i] : [],
        ),
      ]),
    );
    const listeners = pointing(
      host,
      (event) => this.under(event),
      (cell) => this.tip(cell),
      open,
    );
    const said = marks
      .map(({ name, heads }) => `${name}: ${heads.map(([layer, head]) => `L${layer}H${head}`).join(", ")}`)
      .join("; ");
    const label = `${plural(figures.cells.length, "head")}, layers down, heads across. ${said}. Arrow keys move between heads.`;
    this.picture = h("div.wholemap", { tabindex: 0, role: "application", "aria-label": label, ...listeners });
    const { length } = [...this.marked.values()].filter((own) => own.some((mark) => this.looks[mark]!.letter !== ""));
    const count = `${length} of ${plural(figures.cells.length, "head")} stand${length === 1 ? "s" : ""} out`;
    this.root = h("div.whole", {}, this.picture, h("p.standout", {}, count), this.key);
  }

  update(now: Now, width: number): void {
    if (this.drawn.renewed(width, now.theme)) this.draw(now, width);
    for (const { rect, cell } of this.rects) rect.classList.toggle("on", !now.printing && same(cell, now.cell));
  }

  private draw({ theme }: Now, room: number): void {
    const { figures } = this.host;
    const grid = headGrid(figures, room, 30);
    const hue = (mark: number): string => colourOf(this.looks[mark]!, theme);
    const texts: SVGElement[] = [];
    this.rects = figures.cells.map((cell) => {
      const [mark] = this.marked.get(cell) ?? [];
      if (mark !== undefined && grid.size >= 9)
        texts.push(grid.letter(cell, { class: "letter" }, this.looks[mark]!.letter));
      return {
        cell,
        rect: grid.cell(cell, {
          rx: 2,
          class: mark === undefined ? "at" : this.looks[mark]!.letter ? "at has" : "at has quiet",
          fill: mark === undefined ? null : hue(mark),
        }),
      };
    });
    this.picture.replaceChildren(
      grid.drawing({ "aria-hidden": "true" }, ...this.rects.map(({ rect }) => rect), ...texts),
    );

    const swatch = (mark: number | null): SVGElement =>
      s(
        "svg",
        { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" },
        s("rect", {
          width: 14,
          height: 14,
          rx: 2,
          class: mark === null ? "at" : "at has",
          fill: mark === null ? null : hue(mark),
        }),
        mark !== null && s("text", { class: "letter", x: 7, y: 7, dy: "0.35em" }, this.looks[mark]!.letter),
      );
    const none = [...this.marked.values()].filter((marks) => marks.length === 0).length;
    const entry = (mark: number | null, name: string, count: number): HTMLElement =>
      h("li", {}, swatch(mark), h("span", {}, name), h("b", {}, String(count)));
    this.key.replaceChildren(
      ...this.marks.map(({ name, heads }, mark) => entry(mark, name, heads.length)),
      ...(none > 0 ? [entry(null, "none of these", none)] : []),
    );
  }

  private under(event: Event): Cell | undefined {
    const rect = event.target instanceof Element ? event.target.closest("rect") : null;
    return this.rects.find((one) => one.rect === rect)?.cell;
  }

  private tip(cell: Cell): HTMLElement {
    const { figures } = this.host;
    const names = (this.marked.get(cell) ?? []).map((mark) => this.marks[mark]!.name);
    return headTip(
      figures.name(cell),
      figures.paper(cell),
      h("div", {}, names.length > 0 ? names.join(", ") : "none of these"),
    );
  }
}
