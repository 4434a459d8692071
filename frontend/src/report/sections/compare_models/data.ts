// What two models differ in, head by head: drift, or A − B of a measure.

import type { ComparedMeasure, CompareSection, RoleChange } from "../../../protocol";
import { HEAD, type Scale, scaleOf } from "../../figures";
import { paper } from "../../../format";
import type { Table } from "../../table";

/** What a map of heads shows; values are in the order of the section's heads, NaN where there is none. */
export interface Shown {
  readonly name: string;
  readonly title: string;
  readonly units: string;
  readonly values: readonly number[];
  readonly errors: readonly number[];
  readonly scale: Scale;
}

export const number = (x: number | null | undefined): number => x ?? NaN;

/** From −most to most, 0 in the middle. */
export function signed(values: readonly number[]): Scale {
  const most = Math.max(1e-9, ...values.filter(Number.isFinite).map(Math.abs));
  const linear = (v: number): number => Math.min(1, Math.max(0, 0.5 + v / most / 2));
  return { low: -most, high: most, diverging: true, tint: linear, place: linear, ticks: [-most, 0, most] };
}

/** Drift, and each measure. */
export function shown(info: CompareSection): Shown[] {
  const drift: Shown = {
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

/** The places of the heads whose figure changed most, most first; those without one are left out. */
export function ranked({ difference }: ComparedMeasure): number[] {
  const places = difference.flatMap((value, i) => (value === null ? [] : [i]));
  return places.sort((i, j) => Math.abs(number(difference[j])) - Math.abs(number(difference[i])) || i - j);
}

/** The means of the layers' heads, with errors where they are known. */
export function means(info: CompareSection, { name, values }: Shown): { layer: number; mean: number; error: number }[] {
  if (name === "js") return info.layers.map(({ layer, js, js_se }) => ({ layer, mean: js, error: number(js_se) }));
  return [...new Set(info.layer)].flatMap((layer) => {
    const own = values.filter((value, i) => info.layer[i] === layer && Number.isFinite(value));
    return own.length > 0 ? [{ layer, mean: own.reduce((a, b) => a + b, 0) / own.length, error: NaN }] : [];
  });
}

/** The changes of a role, by what became of it. */
export function became(info: CompareSection, role: string): Record<RoleChange["change"], RoleChange[]> {
  const own = info.roles.filter((row) => row.role === role);
  const of = (change: RoleChange["change"]): RoleChange[] => own.filter((row) => row.change === change);
  return { kept: of("kept"), lost: of("lost"), gained: of("gained") };
}

/** The columns of `headscope compare models`, as far as the page has them, and what became of layers and roles. */
export function tables(info: CompareSection): { [name: string]: () => Table } {
  const { layer, head } = info;
  const of = (i: number): (string | number)[] => [layer[i]!, head[i]!, paper(layer[i]!, head[i]!)];
  const heads = (): Table => ({
    columns: { ...HEAD, measure: "text", a: "float", b: "float", difference: "float", se: "float", js: "float", js_se: "float", cosine: "float" },
    rows: info.measures.flatMap((one) =>
      one.difference.flatMap((difference, i) => {
        const a = one.a[i];
        if (difference === null || a === null || a === undefined) return [];
        return [[...of(i), one.name, a, a - difference, difference, one.se[i] ?? null, info.js[i]!, info.js_se[i] ?? null, info.cosine[i]!]];
      }),
    ),
  });
  const layers = (): Table => ({
    columns: { layer: "int", js: "float", js_se: "float", cosine: "float", cosine_se: "float" },
    rows: info.layers.map((row) => [row.layer, row.js, row.js_se, row.cosine, row.cosine_se]),
  });
  const roles = (): Table => ({
    columns: { ...HEAD, role: "text", a: "float", b: "float", change: "text", q_a: "float", q_b: "float" },
    rows: info.roles.map((row) => [row.layer, row.head, paper(row.layer, row.head), row.role, row.a, row.b, row.change, row.q_a, row.q_b]),
  });
  const counts = (): Table => ({
    columns: { role: "text", heads_a: "int", heads_b: "int", best_a: "float", best_b: "float" },
    rows: info.counts.map((row) => [row.role, row.a, row.b, row.best_a, row.best_b]),
  });
  if (layer.length === 0) return { roles: counts };
  return { heads, layers, ...(info.counts.length > 0 ? { roles } : {}) };
}
