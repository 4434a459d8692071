// What two models differ in, head by head: drift, or A − B of a measure.

import type { ComparedMeasure, CompareSection, RoleChange } from "../../../protocol";
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

export const number = (x: number | null | undefined): number => x ?? NaN;

/** The measures, each once: of those that are the same in every head, as [CLS] and the first token are, the first. */
export function told({ measures }: CompareSection): ComparedMeasure[] {
  const figures = measures.map(({ a, difference, units }) => JSON.stringify([units, a, difference]));
  return measures.filter((_, i) => figures.indexOf(figures[i]!) === i);
}

/** Drift, and each measure. */
export function quantities(info: CompareSection): Quantity[] {
  const drift: Quantity = {
    name: "js",
    title: "drift",
    units: "nats",
    values: info.js,
    errors: info.js_se.map(number),
    scale: scaleOf("nats", Float64Array.from(info.js), new Float64Array()),
  };
  const measures = info.measures.map(({ name, title, units, difference, se }) => {
    const values = difference.map(number);
    return { name, title: `${title}, A − B`, units, values, errors: se.map(number), scale: signed(values) };
  });
  return [drift, ...measures];
}

/** The indices of the heads whose figure changed most, most first; those without one are left out. */
export function ranked({ difference }: ComparedMeasure): number[] {
  const indices = difference.flatMap((value, i) => (value === null ? [] : [i]));
  return indices.sort((i, j) => Math.abs(number(difference[j])) - Math.abs(number(difference[i])) || i - j);
}

/** The means of the layers' heads, with 95 % intervals where they are known. */
export function means(
  info: CompareSection,
  { name, values }: Quantity,
): { layer: number; mean: number; low: number; high: number }[] {
  if (name === "js")
    return info.layers.map(({ layer, js, low, high }) => ({ layer, mean: js, low: number(low), high: number(high) }));
  return [...new Set(info.layer)].flatMap((layer) => {
    const finite = values.filter((value, i) => info.layer[i] === layer && Number.isFinite(value));
    return finite.length > 0
      ? [{ layer, mean: finite.reduce((a, b) => a + b, 0) / finite.length, low: NaN, high: NaN }]
      : [];
  });
}

/** The changes of a role, by what became of it. */
export function became(info: CompareSection, role: string): Record<RoleChange["change"], RoleChange[]> {
  const of = (change: RoleChange["change"]): RoleChange[] =>
    info.roles.filter((row) => row.role === role && row.change === change);
  return { kept: of("kept"), lost: of("lost"), gained: of("gained"), unclear: of("unclear") };
}

function heads(info: CompareSection): Table {
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

/** The columns of `headscope compare models`, as far as the page has them, and what became of layers and roles. */
export function tables(info: CompareSection): { [name: string]: () => Table } {
  const layers = (): Table =>
    records(
      {
        layer: "int",
        js: "float",
        js_se: "float",
        ci_low: "float",
        ci_high: "float",
        cosine: "float",
        cosine_se: "float",
      },
      info.layers.map((row) => ({ ...row, ci_low: row.low, ci_high: row.high })),
    );
  const roles = (): Table =>
    records(
      {
        ...HEAD,
        role: "text",
        a: "float",
        b: "float",
        change: "text",
        q_a: "float",
        q_b: "float",
        difference: "float",
        ci_low: "float",
        ci_high: "float",
        q: "float",
      },
      info.roles.map((row) => ({ ...row, ci_low: row.low, ci_high: row.high })),
    );
  const counts = (): Table =>
    records(
      { role: "text", heads_a: "int", heads_b: "int", best_a: "float", best_b: "float" },
      info.counts.map((row) => ({ ...row, heads_a: row.a, heads_b: row.b })),
    );
  if (info.layer.length === 0) return { roles: counts };
  return { heads: () => heads(info), layers, ...(info.counts.length > 0 ? { roles } : {}) };
}
