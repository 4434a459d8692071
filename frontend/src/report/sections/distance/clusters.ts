// Heads on a plane by their distances, coloured by layer and by role: figure 6 of Clark et al. 2019.

import "./clusters.css";
import type { ChartColour, ClustersSection } from "../../../protocol";
import { COLOURS, css, inkOn, PALETTES, type Theme } from "../../../scene/color";
import { bare, code, fixed, paper } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { Charted, captioned, redrawn } from "../../chart";
import type { Now, Section } from "../../host";
import { folded } from "../../rows";
import { HEAD, records, type Table } from "../../table";
import { headTip } from "../../tip";

function headTable({ layer, head, places, role, cluster }: ClustersSection): Table {
  const rows = layer.map((_, i) => ({
    layer: layer[i],
    head: head[i],
    x: places[i]![0],
    y: places[i]![1],
    role: role[i],
    cluster: cluster[i],
  }));
  return records({ ...HEAD, x: "float", y: "float", role: "text", cluster: "int" }, rows);
}

function layerTable({ layers, between }: ClustersSection): Table {
  const rows = layers.flatMap((layer_a, i) =>
    layers.map((layer_b, j) => ({ layer_a, layer_b, distance: between[i]?.[j] })),
  );
  return records({ layer_a: "int", layer_b: "int", distance: "float" }, rows);
}

/** The mean distances of the layers, as a table of colours. */
function betweenLayers({ layers, between, units }: ClustersSection, theme: Theme): HTMLElement[] {
  const finite = between.flat().filter((mean) => mean !== null);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const cell = (mean: number | null): HTMLElement => {
    if (mean === null) return h("td");
    const pixel = PALETTES[theme].sequential[Math.round(20 + 215 * ((mean - low) / Math.max(high - low, 1e-12)))]!;
    return h(
      "td",
      { style: `background:${css(pixel)};color:${inkOn(pixel)}` },
      layers.length <= 12 ? bare(fixed(mean, 2)) : "",
    );
  };
  const rows = between.map((row, i) => h("tr", {}, h("th", { scope: "row" }, String(layers[i])), ...row.map(cell)));
  const head = h("tr", {}, h("td"), ...layers.map((layer) => h("th", { scope: "col" }, String(layer))));
  return [
    h("p.dim", {}, `mean distance of their heads, ${units}`),
    h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)),
  ];
}

export const section: Section<ClustersSection> = (element, info, host) => {
  const { layer, head, role, cluster, near, places, layers } = info;
  const cells = layer.map((_, i) => host.figures.find(layer[i]!, head[i]!));
  const nameOf = (i: number): string => code(layer[i]!, head[i]!);
  const tip = (row: number): Node =>
    headTip(
      nameOf(row),
      paper(layer[row]!, head[row]!),
      role[row] && h("div", {}, role[row]),
      h("div.dim", {}, `nearest: ${near[row]!.map(nameOf).join(", ")}`),
    );
  const panel = (title: string) => {
    const open = (row: number): void => host.open(cells[row]!, info.reason[row]!);
    const charted = new Charted(host, (row) => cells[row] ?? null, tip, open);
    return { charted, root: captioned(title, null, charted.root) };
  };

  // By role, or by cluster where there are no roles or more than there are colours.
  const roles = [...new Set(role.filter((name) => name !== null))];
  const byRole = roles.length > 0 && roles.length <= COLOURS.light.heads.length;
  const groups = byRole ? roles : [...new Set(cluster)].sort((a, b) => a - b).map((number) => `cluster ${number}`);
  const groupOf = layer.map((_, i) => groups.indexOf(byRole ? (role[i] ?? "") : `cluster ${cluster[i]}`));
  const [left, right] = [panel("By layer"), panel(byRole ? "By role" : "By cluster")];
  const [maps, between] = [h("div.maps", {}, left.root, right.root), h("div.between")];
  const lines = h("ul.findings", {}, ...info.lines.map((line) => h("li", {}, line)));
  // The atlas has the same map, to be looked into.
  const atlas = host.figures.payload.sections.some(({ kind }) => kind === "atlas");
  const picture = h(
    "div.clusters",
    {},
    ...(atlas ? [lines, folded("On a map, by layer and by role", maps)] : [maps, lines]),
    folded("Layer by layer", between),
  );
  element.append(picture);

  const count = (group: number): number => groupOf.filter((own) => own === group).length;
  const names = groups.map((name, group) => `${name} ${count(group)}`);
  const rest = count(-1);
  const byLayer = layer.map((own) => layers.indexOf(own));
  const byGroup = groupOf.map((group) => (group < 0 ? null : group));
  const marked = role.flatMap((name, row) => (name === null ? [] : [row]));
  const drawMap = (
    { charted }: typeof left,
    values: (number | null)[],
    width: number,
    { theme, cell }: Now,
    colour: ChartColour,
  ): void => {
    const [x, y] = [places.map((place) => place[0]!), places.map((place) => place[1]!)];
    const rows = { x, y, colour: values, link: layer.map((_, row) => nameOf(row)), marked };
    const axis = { title: "", ticks: false };
    const label = `Map of ${places.length} heads by their distances`;
    charted.show(
      { kind: "scatter", title: "", x: axis, y: axis, rows, colour, equal: true },
      { width, theme },
      label,
      cell,
    );
  };
  const draw = (now: Now): void => {
    const beside = now.width >= 560;
    const width = beside ? Math.floor((now.width - 28) / 2) : Math.min(now.width, 460);
    maps.classList.toggle("beside", beside);
    drawMap(left, byLayer, width, now, { title: "layer", of: "layers", names: layers.map(String) });
    drawMap(right, byGroup, width, now, {
      title: "",
      of: "heads",
      names,
      ...(rest > 0 && { none: `none of these ${rest}` }),
    });
    between.replaceChildren(...betweenLayers(info, now.theme));
  };
  const update = redrawn(draw, left.charted, right.charted);
  return {
    update: (now) => update(now, now.width),
    picture,
    tables: { heads: () => headTable(info), layers: () => layerTable(info) },
  };
};
