// Every measure small, one of them large, and its strongest heads.

import type { Theme } from "../../../color";
import { fit, h } from "../../../dom";
import type { Pen } from "../../../explorer/canvas";
import { painters } from "../../../explorer/export";
import { errorFigure, figure } from "../../../format";
import type { MeasuresSection } from "../../../protocol";
import { type Cell, type Figures, type Measure, same, tidy } from "../../figures";
import { Grid, layout, paintCells } from "../../grid";
import type { Component, Drawn, Host, Section } from "../../host";
import { Legend } from "../../legend";
import { figureTip } from "../../tip";

export interface MeasuresProps {
  figures: Figures;
  measure: Measure;
  cell: Cell;
  theme: Theme;
  width: number;
}

const THUMB = 104;

/** The small multiples: a button a measure. */
export class Thumbs implements Component<MeasuresProps> {
  private readonly root = h("div.thumbs", { role: "group", "aria-label": "Measures" });
  private buttons: { measure: Measure; button: HTMLButtonElement; canvas: HTMLCanvasElement }[] = [];

  constructor(
    element: HTMLElement,
    private props: MeasuresProps,
    private readonly host: Host,
  ) {
    element.append(this.root);
    this.build();
  }

  update(props: Partial<MeasuresProps>): void {
    const before = this.props;
    this.props = { ...before, ...props };
    if (this.props.figures !== before.figures) this.build();
    else if (this.props.theme !== before.theme) this.paint();
    this.mark();
  }

  destroy(): void {
    this.root.remove();
  }

  private build(): void {
    this.buttons = this.props.figures.measures.map((measure) => {
      const canvas = h("canvas", { "aria-hidden": "true" });
      const pick = (): void => this.host.set({ measure: measure.name });
      const button = h("button.thumb", { type: "button", onclick: pick }, canvas, h("span", {}, measure.info.title));
      return { measure, button, canvas };
    });
    this.root.replaceChildren(...this.buttons.map(({ button }) => button));
    this.paint();
    this.mark();
  }

  private paint(): void {
    const { figures, theme } = this.props;
    const pitch = Math.min(THUMB / figures.columns, 84 / figures.rows, 14);
    const gap = pitch >= 5 ? 1 : pitch >= 3 ? 0.5 : 0;
    const [width, height] = [figures.columns * pitch, figures.rows * pitch];
    for (const { measure, canvas } of this.buttons) {
      const paint = (pen: Pen): void => paintCells(pen, { figures, measure, theme }, { size: pitch - gap, gap }, [0, 0]);
      paint(fit(canvas, width, height));
      painters.set(canvas, paint);
    }
  }

  private mark(): void {
    for (const { measure, button } of this.buttons) {
      button.setAttribute("aria-pressed", String(measure === this.props.measure));
    }
  }
}

/** The heads that stand out in the chosen measure: the highest, and for entropies the lowest too. */
export class Ranking implements Component<MeasuresProps> {
  private readonly root = h("div.ranking");

  constructor(
    element: HTMLElement,
    private props: MeasuresProps,
    private readonly host: Host,
  ) {
    element.append(this.root);
    this.draw();
  }

  update(props: Partial<MeasuresProps>): void {
    this.props = { ...this.props, ...props };
    this.draw();
  }

  destroy(): void {
    this.root.remove();
  }

  private draw(): void {
    const { figures, measure } = this.props;
    const ranked = figures.ranked(measure);
    const both = !measure.isShare && ranked.length >= 10;
    const top = ranked.slice(0, both ? 4 : 7);
    const bottom = both ? ranked.slice(-3) : [];
    const entries = [
      h("h4.cap", {}, "highest"),
      ...top.map((cell) => this.entry(cell)),
      bottom.length > 0 && h("h4.cap", {}, "lowest"),
      ...bottom.map((cell) => this.entry(cell)),
    ];
    this.root.replaceChildren(...entries.filter((entry): entry is HTMLElement => entry !== false));
  }

  private entry(cell: Cell): HTMLElement {
    const { figures, measure, cell: open } = this.props;
    const chance = measure.chance(cell.layer);
    const at = (x: number): string => `${(100 * measure.scale.place(x)).toFixed(2)}%`;
    const bar = h("span.gauge", { "aria-hidden": "true" }, h("i", { style: `width:${at(measure.value(cell))}` }));
    if (Number.isFinite(chance)) bar.append(h("b", { style: `left:${at(chance)}` }));
    return h(
      "button.entry",
      {
        type: "button",
        "aria-current": same(cell, open) ? "true" : null,
        onclick: () => this.host.open(cell),
        onpointermove: (event: PointerEvent) => this.host.tip(figureTip(figures, measure, cell), event.clientX, event.clientY),
        onpointerleave: () => this.host.tip(null),
      },
      h("span.name", {}, figures.name(cell)),
      bar,
      h("span.val", {}, figure(measure.value(cell))),
      h("span.se", {}, Number.isFinite(measure.error(cell)) ? `±${errorFigure(measure.error(cell))}` : ""),
    );
  }
}

/** The whole section: thumbs above; the chosen measure large, with its name, scale and strongest heads. */
export class Measures implements Component<MeasuresProps>, Drawn {
  private readonly title = h("h3");
  private readonly about = h("p.about");
  private readonly legendBox = h("div");
  private readonly gridBox = h("div.gridbox");
  private readonly side = h("div.side");
  private readonly root = h("div.measures");
  readonly picture = this.root;
  readonly tables = { measures: () => tidy(this.props.figures) };
  private readonly thumbs: Thumbs;
  private readonly grid: Grid;
  private readonly ranking: Ranking;
  private readonly legend: Legend;

  constructor(
    element: HTMLElement,
    private props: MeasuresProps,
    host: Host,
  ) {
    element.append(this.root);
    this.thumbs = new Thumbs(this.root, props, host);
    const head = h("div.figurehead", {}, h("div", {}, this.title, this.about), this.legendBox);
    this.root.append(head, h("div.figure", {}, this.gridBox, this.side));
    this.grid = new Grid(this.gridBox, { ...props, width: this.gridWidth() }, host);
    this.ranking = new Ranking(this.side, props, host);
    const { measure, theme } = props;
    this.legend = new Legend(this.legendBox, { scale: measure.scale, theme, units: measure.info.units });
    this.describe();
  }

  update(props: Partial<MeasuresProps>): void {
    this.props = { ...this.props, ...props };
    const { measure, theme } = this.props;
    this.thumbs.update(props);
    this.grid.update({ ...props, width: this.gridWidth() });
    this.ranking.update(props);
    this.legend.update({ scale: measure.scale, theme, units: measure.info.units });
    this.describe();
  }

  destroy(): void {
    for (const part of [this.thumbs, this.grid, this.ranking, this.legend]) part.destroy();
    this.root.remove();
  }

  // The list stands beside the grid where both have room, and below it otherwise.
  private gridWidth(): number {
    const { figures, width } = this.props;
    const beside = width >= 620;
    const room = beside ? width - 240 : width;
    const { size, gap } = layout(figures.rows, figures.columns, room - 30, 560, 48);
    this.root.classList.toggle("stacked", !beside);
    return Math.min(room, 30 + figures.columns * (size + gap) + 2);
  }

  private describe(): void {
    const { info } = this.props.measure;
    this.title.textContent = info.title;
    this.about.textContent = info.description;
  }
}

export const section: Section<MeasuresSection> = (element, _, host) => new Measures(element, { ...host.now, figures: host.figures }, host);
