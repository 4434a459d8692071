// Two models on the same heads: how far each moved, and A − B of measures, from the tables of their section.

import type { Chart, TableBlock } from "../protocol";
import { code, figure } from "../scene/format";
import { byLayer } from "./chart";
import { type Cell, type Figures, Measure, signed } from "./figures";

/** So many heads are named beside the layers. */
const NAMED = 6;

type Values = TableBlock["values"];

export class Two {
  /** Drift, and A − B of each measure that has a row; by what they are called in the rest of the report. */
  readonly measures: readonly Measure[];
  private readonly heads: Values;
  private readonly layers: Values;

  constructor(
    private readonly figures: Figures,
    tables: readonly TableBlock[],
  ) {
    const table = (name: string): Values => tables.find((each) => each.name === name)!.values;
    [this.heads, this.layers] = [table("heads"), table("layers")];
    const { rows, columns, cells } = figures;
    const { layer, head, measure } = this.heads;
    const empty = (): Float64Array => new Float64Array(rows * columns).fill(NaN);
    const places = new Map(cells.map((cell) => [figures.name(cell), cell.layer * columns + cell.head]));
    const placed = (column: string, of: unknown = null): Float64Array => {
      const all = empty();
      this.heads[column]!.forEach((value, row) => {
        const place = places.get(code(Number(layer![row]), Number(head![row])));
        if (place !== undefined && value !== null && (of ?? measure![row]) === measure![row])
          all[place] = Number(value);
      });
      return all;
    };
    const said = { description: "", by: "", over: "", source: "" };
    const drift = { ...said, name: "js", title: "drift", units: "nats" };
    const changed = table("changed");
    this.measures = [
      new Measure(drift, columns, placed("js"), placed("js_se"), empty(), empty()),
      ...changed.measure!.map((of, row) => {
        const [name, values] = [String(of), placed("difference", of)];
        const known = figures.has(name) ? figures.measure(name).info.title : changed.title![row];
        const own = { ...said, name, title: `${known}, A − B`, units: String(changed.units![row]) };
        return new Measure(own, columns, values, placed("se", of), empty(), empty(), signed(values));
      }),
    ];
  }

  /** What is told of a head beside a figure: those of A and of B, or how alike its rows are. */
  told({ name }: Measure, cell: Cell): [string, string][] {
    const [layer, head] = [this.figures.layerOf(cell), this.figures.headOf(cell)];
    const row = this.heads.layer!.findIndex(
      (own, at) =>
        own === layer && this.heads.head![at] === head && (name === "js" || this.heads.measure![at] === name),
    );
    const value = (column: string): string => figure(this.heads[column]![row] as number);
    if (name === "js") return [["cosine of the rows", value("cosine")]];
    return [
      ["A", value("a")],
      ["B", value("b")],
      ["drift", `${value("js")} nats`],
    ];
  }

  /** A measure by layer; of drift the means have their intervals. */
  byLayer({ name, value }: Measure): Chart {
    const { figures, layers } = this;
    const largest = figures.ranked({ value: (cell) => Math.abs(value(cell)) });
    const ends = (of: string) =>
      figures.payload.layers.map((layer) => layers[of]![layers.layer!.indexOf(layer)] as number | null);
    const known = name === "js" ? { low: ends("ci_low"), high: ends("ci_high") } : {};
    return byLayer(figures, value, largest.slice(0, NAMED), known);
  }
}
