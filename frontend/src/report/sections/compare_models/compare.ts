// Two models on the same inputs: how far each head moved, what changed most, and what became of roles.

import "./compare.css";
import type { CompareSection } from "../../../protocol";
import { figure } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { append } from "../../blocks/section";
import { byLayer, Charted, captioned, colourOf, mapOf, redrawn } from "../../chart";
import { type Cell, quantities, tableOf } from "../../figures";
import type { Section } from "../../host";
import { ofMeasure } from "../../reasons";
import { HEAD, records, type Table } from "../../table";
import { figureTip } from "../../tip";

/** So many heads are named beside the layers. */
const NAMED = 6;

/** The figures of every head: the columns of `headscope compare models`, as far as the page has them. */
export function heads(info: CompareSection): Table {
  const rows = info.measures.flatMap(({ name: measure, a, difference, se }) =>
    difference.flatMap((apart, i) => {
      const own = a[i];
      if (apart === null || own === null || own === undefined) return [];
      const [layer, head] = [info.layer[i], info.head[i]];
      const drift = { js: info.js[i], js_se: info.js_se[i], cosine: info.cosine[i] };
      return [{ layer, head, measure, a: own, b: own - apart, difference: apart, se: se[i], ...drift }];
    }),
  );
  const each = { a: "float", b: "float", difference: "float", se: "float" } as const;
  return records({ ...HEAD, measure: "text", ...each, js: "float", js_se: "float", cosine: "float" }, rows);
}

export const section: Section<CompareSection> = (element, info, host) => {
  if (info.layer.length === 0) return append(element, info.blocks, info.kind, host);
  const { figures } = host;
  const kinds = quantities(info, figures);
  const drift = kinds[0]!;
  let quantity = drift;
  const place = new Map(info.layer.map((layer, i) => [figures.find(layer, info.head[i]!), i]));
  const cellOf = (row: number): Cell => figures.cells[row]!;
  const tip = (row: number): Node => {
    const cell = cellOf(row);
    const i = place.get(cell)!;
    const a = info.measures.find(({ name }) => name === quantity.name)?.a[i];
    const rows = [
      ...(a == null
        ? []
        : ([
            ["A", figure(a)],
            ["B", figure(a - quantity.value(cell))],
          ] as const)),
      quantity === drift
        ? (["cosine of the rows", figure(info.cosine[i]!)] as const)
        : (["drift", `${figure(drift.value(cell))} nats`] as const),
    ];
    return figureTip(figures, quantity, cell, ...rows);
  };
  // A head opens on the example that has the maps of both models.
  const open = (row: number): void => {
    const i = place.get(cellOf(row))!;
    const { measure, ...why } = ofMeasure(quantity, cellOf(row));
    host.open(cellOf(row), { ...why, example: info.example[i] ?? null, pin: info.pin[i] ?? null });
  };
  const [map, layers] = [true, false].map((walked) => new Charted(host, cellOf, tip, open, walked)) as [
    Charted,
    Charted,
  ];
  const note = (text: string): HTMLElement => h("span.dim", {}, text);
  const root = h(
    "div.compared",
    {},
    captioned("Heads", note("layers down, heads across"), map.root),
    captioned("Layers", note("points are heads, the line their mean"), layers.root),
  );
  const draw = redrawn(
    ({ theme, cell }, width) => {
      const { value, scale, info: of } = quantity;
      const wide = width >= 560;
      root.classList.toggle("beside", wide);
      const left = wide ? Math.floor(width * 0.54) : width;
      const said = `${of.title} of ${info.layer.length} heads, layers down, heads across. Arrow keys move between heads, Enter opens one.`;
      map.show(mapOf(figures, figures.cells, value, colourOf(scale, of.units)), { width: left, theme }, said, cell);
      const largest = [...place.keys()].filter((one) => one !== null && Number.isFinite(value(one))) as Cell[];
      largest.sort((one, other) => Math.abs(value(other)) - Math.abs(value(one)));
      const chart = byLayer(figures, value, largest.slice(0, NAMED));
      const means = tableOf(info, "layers");
      const ends = (name: string) =>
        figures.payload.layers.map((layer) => means[name]![means.layer!.indexOf(layer)] as number | null);
      const known = quantity === drift && { low: ends("ci_low"), high: ends("ci_high") };
      const lines = [{ ...chart.lines![0]!, ...known, dots: true }];
      const how = { width: wide ? width - left - 28 : width, height: 250, theme };
      layers.show({ ...chart, lines }, how, `${of.title} by layer, ${of.units}`, cell);
    },
    map,
    layers,
  );
  const select: HTMLSelectElement = h(
    "select.kinds",
    { "aria-label": "What the map shows", onchange: () => show(select.value) },
    ...kinds.map(({ name, info: { title } }) => h("option", { value: name }, title)),
  );
  const show = (name: string): void => {
    quantity = kinds.find((kind) => kind.name === name) ?? drift;
    select.value = quantity.name;
    draw(host.now, host.now.width, quantity);
  };
  element.append(
    h("label.showing", {}, h("span.cap", {}, "Show"), select),
    root,
    h("h3.part", {}, "What changed most"),
  );
  element.addEventListener("measure", (event) => {
    show((event as CustomEvent<string>).detail);
    root.scrollIntoView({ behavior: "smooth", block: "nearest" });
  });
  const { update, tables } = append(element, info.blocks, info.kind, host);
  return {
    update: (now) => {
      draw(now, now.width, quantity);
      update!(now);
    },
    tables: { heads: () => heads(info), ...tables },
    picture: root,
  };
};
