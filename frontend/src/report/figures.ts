// The figures of a report: measures over (layer, head), their errors, counts and chance.

import type { MeasureInfo, Reason, ReportPayload, TableBlock } from "../protocol";
import { PALETTES, type Theme } from "../scene/color";
import type { Store } from "../scene/data";
import { clamp, code, fixed, paper, percent } from "../scene/format";
import { HEAD, records, type Table } from "./table";

/** A head by its place along the arrays' axes (not the model's index). */
export interface Cell {
  readonly layer: number;
  readonly head: number;
}

export const same = (a: Cell, b: Cell): boolean => a.layer === b.layer && a.head === b.head;

export const orNull = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** How a measure's values become positions from 0 to 1 on a palette or a strip. */
export interface Scale {
  readonly low: number;
  readonly high: number;
  readonly diverging: boolean;
  /** Position on the palette: the square root for shares, linear for others. */
  tint(value: number): number;
  /** Position on a line, always linear. */
  position(value: number): number;
}

const clip = (x: number): number => clamp(x, 0, 1);
const largest = (values: Iterable<number>): number =>
  Math.max(1e-9, ...[...values].filter(Number.isFinite).map(Math.abs));

/** From −most to most, 0 in the middle. */
export function signed(values: Iterable<number>): Scale {
  const most = largest(values);
  const linear = (v: number): number => clip(0.5 + v / most / 2);
  return { low: -most, high: most, diverging: true, tint: linear, position: linear };
}

export function scaleOf(units: string, values: Float64Array, chances: Float64Array): Scale {
  const finite = [...values, ...chances].filter(Number.isFinite);
  const least = Math.min(0, ...finite);
  if (units === "share" && least >= 0) {
    return { low: 0, high: 1, diverging: false, tint: (v) => Math.sqrt(clip(v)), position: clip };
  }
  if (least < -1e-6) return signed(finite);
  const most = largest(finite);
  const linear = (v: number): number => clip(v / most);
  return { low: 0, high: most, diverging: false, tint: linear, position: linear };
}

/** The palette's pixel for a value. */
export const pixel = (scale: Scale, value: number, theme: Theme): number =>
  PALETTES[theme][scale.diverging ? "diverging" : "sequential"][Math.round(255 * scale.tint(value))] ?? 0;

export class Measure {
  readonly name: string;
  readonly isShare: boolean;

  /** Values, errors and counts are of the heads, layer by layer; chances are of the layers. NaN: there is none. */
  constructor(
    public info: MeasureInfo,
    private readonly heads: number,
    private readonly values: Float64Array,
    private readonly errors: Float64Array,
    private readonly counts: Float64Array,
    private readonly chances: Float64Array,
    readonly scale: Scale = scaleOf(info.units, values, chances),
  ) {
    this.name = info.name;
    this.isShare = info.units === "share";
  }

  readonly value = (cell: Cell): number => this.values[this.index(cell)] ?? NaN;
  readonly error = (cell: Cell): number => this.errors[this.index(cell)] ?? NaN;
  readonly count = (cell: Cell): number => this.counts[this.index(cell)] ?? NaN;
  readonly chance = (layer: number): number => this.chances[layer] ?? NaN;
  readonly pixel = (value: number, theme: Theme): number => pixel(this.scale, value, theme);
  /** Take over the name of a measure that has the same figures: `first token ([CLS])`. */
  alike({ info }: Measure): void {
    this.info = { ...this.info, title: `${this.info.title} (${info.title})` };
  }
  private readonly index = ({ layer, head }: Cell): number => layer * this.heads + head;
}

export class Figures {
  readonly cells: readonly Cell[];
  readonly rows: number;
  readonly columns: number;
  /**
   * The measures, each once: what is the same figure in every head, as [CLS] is of a first token, is told with the
   * first.
   */
  readonly told: readonly Measure[];
  private readonly byName: Map<string, Measure>;

  constructor(
    readonly payload: ReportPayload,
    readonly measures: readonly Measure[],
    /** Of each measure and head, the example and the query's place that show the figure; -1 for none. */
    private readonly where: ArrayLike<number> = [],
    /** The figure on that example alone. */
    private readonly here: ArrayLike<number> = [],
  ) {
    this.rows = payload.layers.length;
    this.columns = payload.heads.length;
    this.byName = new Map(measures.map((measure) => [measure.name, measure]));
    const all = payload.layers.flatMap((_, layer) => payload.heads.map((_, head) => ({ layer, head })));
    this.cells = all.filter((cell) => measures.some((measure) => Number.isFinite(measure.value(cell))));
    this.told = measures.filter((measure) => this.twin(measure) === measure);
    for (const measure of measures) {
      const first = this.twin(measure);
      if (first !== measure) first.alike(measure);
    }
  }

  static async load(payload: ReportPayload, store: Store): Promise<Figures> {
    const heads = payload.heads.length;
    const refs = [payload.value, payload.error, payload.count, payload.chance];
    const arrays = await Promise.all(refs.map((ref) => store.get(ref)));
    const measures = payload.measures.map((info, i) => {
      const [value, error, count, chance] = arrays.map((array) => {
        const size = array.length / payload.measures.length;
        return Float64Array.from(array.subarray(i * size, (i + 1) * size));
      });
      return new Measure(info, heads, value!, error!, count!, chance!);
    });
    return new Figures(payload, measures, await store.get(payload.seen), await store.get(payload.here));
  }

  readonly measure = (name: string): Measure => this.byName.get(name) ?? this.measures[0]!;
  readonly has = (name: string): boolean => this.byName.has(name);
  readonly layerOf = (cell: Cell): number => this.payload.layers[cell.layer] ?? cell.layer;
  readonly headOf = (cell: Cell): number => this.payload.heads[cell.head] ?? cell.head;
  /** `L7H9`, with the model's own indices. */
  readonly name = (cell: Cell): string => code(this.layerOf(cell), this.headOf(cell));
  /** `8-10`, as papers print it. */
  readonly paper = (cell: Cell): string => paper(this.layerOf(cell), this.headOf(cell));
  readonly exists = (cell: Cell): boolean => this.cells.some((other) => same(other, cell));

  /** The first measure that has the same figures. */
  twin(measure: Measure): Measure {
    const equal = (a: number, b: number): boolean => Math.abs(a - b) < 1e-9 || (Number.isNaN(a) && Number.isNaN(b));
    return (
      this.measures.find(
        (other) =>
          other.info.units === measure.info.units &&
          this.cells.every((cell) => equal(other.value(cell), measure.value(cell))),
      ) ?? measure
    );
  }
  /** The place of a head given by the model's own indices; null when there is no such head. */
  find(layer: number | null, head: number | null): Cell | null {
    return this.cells.find((cell) => this.layerOf(cell) === layer && this.headOf(cell) === head) ?? null;
  }
  /**
   * Where a figure of a head is seen: an example, the query whose row shows it, and the figure there, written as `like`;
   * nothing where none does.
   */
  seen(name: string, cell: Cell, like = ""): Pick<Reason, "example" | "pin" | "here"> | null {
    const at = this.measures.findIndex((measure) => measure.name === name);
    const place = (at * this.rows + cell.layer) * this.columns + cell.head;
    const [example = -1, query = -1, here = NaN] =
      at < 0 ? [] : [this.where[2 * place], this.where[2 * place + 1], this.here[place]];
    if (example < 0) return null;
    const pin = { side: "from" as const, place: query };
    return { example, pin, ...(Number.isFinite(here) && { here: alike(here, like, this.measures[at]!) }) };
  }
  /** The heads with a value, largest first. */
  ranked({ value }: Pick<Measure, "value">): Cell[] {
    return this.cells
      .filter((cell) => Number.isFinite(value(cell)))
      .sort((a, b) => value(b) - value(a) || a.layer - b.layer || a.head - b.head);
  }
  /** The place of a head among all that have a value, from 1, the largest; 0 where it has none. */
  rank({ value }: Pick<Measure, "value">, cell: Cell): { place: number; of: number } {
    const values = this.cells.map(value).filter(Number.isFinite);
    const own = value(cell);
    const larger = values.filter((other) => other > own).length;
    return { place: Number.isFinite(own) ? larger + 1 : 0, of: values.length };
  }
  /** The nearest head in a direction, or the same one at the edge. */
  step(cell: Cell, layers: number, heads: number): Cell {
    const next = { layer: cell.layer + layers, head: cell.head + heads };
    return this.exists(next) ? next : cell;
  }
  /** The head a reader should meet first: the one that stands out most from chance in its first measures. */
  get opening(): Cell {
    const first = this.measures.find((measure) => measure.isShare) ?? this.measures[0];
    return (first && this.ranked(first)[0]) ?? { layer: 0, head: 0 };
  }
}

/** A figure of a measure, with as many digits as another text of it has: `.78`, `78%` or `0.780`. */
function alike(value: number, like: string, { isShare, info }: Measure): string {
  if (like.endsWith("%")) return percent(value);
  const digits = /\.(\d+)/.exec(like)?.[1]?.length ?? (isShare ? 3 : 2);
  return `${fixed(value, digits)}${isShare ? "" : ` ${info.units}`}`;
}

/** Rows of the tidy table: the columns of `headscope measure`, of all measures or of some. */
export function tidy(figures: Figures, measures: readonly Measure[] = figures.measures): Table {
  const rows = measures.flatMap((measure) =>
    figures.cells.flatMap((cell) => {
      const value = measure.value(cell);
      if (!Number.isFinite(value)) return [];
      const [layer, head, chance] = [figures.layerOf(cell), figures.headOf(cell), measure.chance(cell.layer)];
      return [{ layer, head, measure: measure.name, value, se: measure.error(cell), n: measure.count(cell), chance }];
    }),
  );
  return records({ ...HEAD, measure: "text", value: "float", se: "float", n: "int", chance: "float" }, rows);
}

/** The tables of the sections of these names, in the order of the page. */
export const tablesOf = ({ sections }: ReportPayload, ...names: string[]): TableBlock[] =>
  sections
    .flatMap((info) => (info.kind === "blocks" && names.includes(info.name) ? info.blocks : []))
    .filter((block) => block.kind === "table");
