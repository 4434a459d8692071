// What two models differ in, head by head: drift, or A − B of a measure.

import type { CompareSection, TableBlock } from "../../../protocol";
import { type Scale, scaleOf, signed } from "../../figures";
import { HEAD, records, type Table } from "../../table";

/** What a map of heads shows; values are in the order of the section's heads, NaN where there is none. */
export interface Quantity {
  readonly name: string;
  readonly title: string;
  readonly units: string;
  readonly values: readonly number[];
  readonly errors: readonly number[];
  readonly scale: Scale;
}

const number = (x: number | null | undefined): number => x ?? NaN;

/** A table of the section. */
const tableOf = ({ blocks }: CompareSection, name: string): TableBlock["values"] =>
  blocks.find((block): block is TableBlock => block.kind === "table" && block.name === name)!.values;

/** Drift, and each measure that has a row. */
export function quantities(info: CompareSection): Quantity[] {
  const drift: Quantity = {
    name: "js",
    title: "drift",
    units: "nats",
    values: info.js,
    errors: info.js_se.map(number),
    scale: scaleOf("nats", Float64Array.from(info.js), new Float64Array()),
  };
  const told = new Set(info.layer.length > 0 ? tableOf(info, "changed").name : []);
  const measures = info.measures
    .filter(({ name }) => told.has(name))
    .map(({ name, title, units, difference, se }) => {
      const values = difference.map(number);
      return { name, title: `${title}, A − B`, units, values, errors: se.map(number), scale: signed(values) };
    });
  return [drift, ...measures];
}

/** The means of the layers' heads, with 95 % intervals where they are known. */
export function means(
  info: CompareSection,
  { name, values }: Quantity,
): { layer: number; mean: number; low: number; high: number }[] {
  if (name === "js") {
    const { layer, js, ci_low, ci_high } = tableOf(info, "layers") as Record<string, number[]>;
    return layer!.map((own, i) => ({ layer: own, mean: js![i]!, low: number(ci_low![i]), high: number(ci_high![i]) }));
  }
  return [...new Set(info.layer)].flatMap((layer) => {
    const finite = values.filter((value, i) => info.layer[i] === layer && Number.isFinite(value));
    return finite.length > 0
      ? [{ layer, mean: finite.reduce((a, b) => a + b, 0) / finite.length, low: NaN, high: NaN }]
      : [];
  });
}

/** The figures of every head: the columns of `headscope compare models`, as far as the page has them. */
export function heads(info: CompareSection): Table {
  const rows = info.measures.flatMap((measure) =>
    measure.difference.flatMap((difference, i) => {
      const a = measure.a[i];
      if (difference === null || a === null || a === undefined) return [];
      const head = {
        layer: info.layer[i],
        head: info.head[i],
        js: info.js[i],
        js_se: info.js_se[i],
        cosine: info.cosine[i],
      };
      return [{ ...head, measure: measure.name, a, b: a - difference, difference, se: measure.se[i] }];
    }),
  );
  return records(
    {
      ...HEAD,
      measure: "text",
      a: "float",
      b: "float",
      difference: "float",
      se: "float",
      js: "float",
      js_se: "float",
      cosine: "float",
    },
    rows,
  );
}
