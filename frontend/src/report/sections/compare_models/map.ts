// A map of heads and, beside it, the layers: how far they moved between two models.

import type { Chart, CompareSection } from "../../../protocol";
import { code, errorFigure, figure, paper } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { Charted, captioned, colourOf, layerNames, mapOf, rowsByLayer } from "../../chart";
import type { Cell } from "../../figures";
import type { Host, Now } from "../../host";
import { headTip, tipTable } from "../../tip";
import { means, type Quantity } from "./data";

const NAMED = 6;

export class CompareMap {
  readonly root: HTMLElement;
  private readonly charts: readonly [map: Charted, layers: Charted];

  constructor(
    private readonly info: CompareSection,
    private readonly cells: readonly (Cell | null)[],
    private quantity: Quantity,
    private readonly host: Host,
    open: (row: number) => void,
  ) {
    const charted = (walked: boolean): Charted =>
      new Charted(
        host,
        (row) => cells[row] ?? null,
        (row) => this.tip(row),
        open,
        walked,
      );
    this.charts = [charted(true), charted(false)];
    const note = (text: string): HTMLElement => h("span.dim", {}, text);
    this.root = h(
      "div.compared",
      {},
      captioned("Heads", note("layers down, heads across"), this.charts[0].root),
      captioned("Layers", note("points are heads, the line their mean"), this.charts[1].root),
    );
  }

  /** Draw a quantity for the page's size and theme. */
  draw(quantity: Quantity, { width, theme, cell }: Now): void {
    this.quantity = quantity;
    const { figures } = this.host;
    const { values, title, units, scale } = quantity;
    const wide = width >= 560;
    this.root.classList.toggle("beside", wide);
    const left = wide ? Math.floor(width * 0.54) : width;
    const [map, layers] = this.charts;
    const said = `${title} of ${values.length} heads, layers down, heads across. Arrow keys move between heads, Enter opens one.`;
    const value = (_: Cell, row: number): number => values[row]!;
    map.show(mapOf(figures, this.cells, value, colourOf(scale, units)), { width: left, theme }, said, cell);
    const lines = means(this.info, quantity);
    const of = (name: "mean" | "low" | "high") =>
      figures.payload.layers.map((layer) => lines.find((line) => line.layer === layer)?.[name] ?? null);
    const size = (row: number): number => Math.abs(values[row]!);
    const largest = values
      .flatMap((each, row) => (Number.isFinite(each) ? [row] : []))
      .sort((a, b) => size(b) - size(a));
    const info: Chart = {
      kind: "layers",
      title: "",
      x: { title: "", names: layerNames(figures) },
      y: { title: "" },
      rows: { ...rowsByLayer(figures, this.cells, value), marked: largest.slice(0, NAMED) },
      lines: [{ y: of("mean"), low: of("low"), high: of("high"), dots: true }],
    };
    const right = wide ? width - left - 28 : width;
    layers.show(info, { width: right, height: 250, theme }, `${title} by layer, ${units}`, cell);
  }

  select(open: Cell): void {
    for (const each of this.charts) each.select(open);
  }

  private name(index: number): string {
    return code(this.info.layer[index]!, this.info.head[index]!);
  }

  /** `0.261 nats` */
  private value(index: number): string {
    const { values, units } = this.quantity;
    return `${figure(values[index]!)}${units === "share" ? "" : ` ${units}`}`;
  }

  private tip(index: number): HTMLElement {
    const { info, quantity } = this;
    const measure = info.measures.find(({ name }) => name === quantity.name);
    const a = measure?.a[index] ?? NaN;
    const error = quantity.errors[index] ?? NaN;
    const rows = tipTable(
      measure && ["A", figure(a)],
      measure && ["B", figure(a - quantity.values[index]!)],
      [measure ? "A − B" : "drift", this.value(index)],
      Number.isFinite(error) && ["standard error", `± ${errorFigure(error)}`],
      measure ? ["drift", `${figure(info.js[index]!)} nats`] : ["cosine of the rows", figure(info.cosine[index]!)],
    );
    return headTip(this.name(index), paper(info.layer[index]!, info.head[index]!), rows);
  }
}
