// Heads on a plane by their distances, coloured by layer and by role: figure 6 of Clark et al. 2019.

import "./clusters.css";
import type { ClustersSection } from "../../../protocol";
import { COLOURS, css, inkOn, PALETTES, type Theme } from "../../../scene/color";
import { bare, code, fixed, paper } from "../../../scene/format";
import { h, s } from "../../../ui/dom";
import { captioned, redrawn } from "../../chart";
import type { Now, Section } from "../../host";
import { groupKey, layerHues, layerKey } from "../../hues";
import { names } from "../../names";
import { type Point, Points } from "../../points";
import { folded } from "../../rows";
import { HEAD, records, type Table } from "../../table";
import { headTip } from "../../tip";

const EDGE = 22;
const NAMED = 24;

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
  const tip = ({ index }: Point): Node =>
    headTip(
      nameOf(index),
      paper(layer[index]!, head[index]!),
      role[index] && h("div", {}, role[index]),
      h("div.dim", {}, `nearest: ${near[index]!.map(nameOf).join(", ")}`),
    );
  const panel = (title: string) => {
    const key = h("div.key");
    const points = new Points(host, tip, ({ cell, index }) => host.open(cell, info.reason[index]!), true);
    points.box.classList.add("map");
    return { key, points, root: captioned(title, null, points.box, key) };
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

  const drawMap = ({ points }: typeof left, fills: readonly (string | null)[], width: number, now: Now): void => {
    const [xs, ys] = [places.map(([x]) => x!), places.map(([, y]) => -y!)];
    const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const unit = Math.min(
      (width - 2 * EDGE) / Math.max(x1 - x0, 1e-9),
      (0.8 * width - 2 * EDGE) / Math.max(y1 - y0, 1e-9),
    );
    const height = Math.max(0.5 * width, (y1 - y0) * unit + 2 * EDGE);
    const at = places.map((_, i) => ({
      x: width / 2 + (xs[i]! - (x0 + x1) / 2) * unit,
      y: height / 2 + (ys[i]! - (y0 + y1) / 2) * unit,
    }));
    const radius = places.length > 400 ? 2.6 : places.length > 160 ? 3.4 : 4.4;
    const order = places.map((_, i) => i).sort((a, b) => Number(fills[a] !== null) - Number(fills[b] !== null));
    const circles = order.map((i) => {
      const { x, y } = at[i]!;
      const fill = fills[i];
      return fill
        ? s("circle", { class: "head", cx: x, cy: y, r: radius, fill })
        : s("circle", { class: "head none", cx: x, cy: y, r: radius - 0.5 });
    });
    const frame = s("rect", { class: "frame", x: 0.5, y: 0.5, width: width - 1, height: height - 1, rx: 3 });
    const attributes = {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `Map of ${places.length} heads by their distances`,
    };
    const drawing = s("svg", attributes, frame, ...circles);
    points.show(
      drawing,
      cells.flatMap((cell, index): Point[] => (cell ? [{ cell, ...at[index]!, index }] : [])),
      now.cell,
    );
    const named = order
      .filter((i) => role[i] !== null)
      .reverse()
      .map((i) => ({ ...at[i]!, text: nameOf(i) }));
    drawing.append(...names(named, width, NAMED, at));
    points.box.style.width = `${width}px`;
  };
  const draw = (now: Now): void => {
    const beside = now.width >= 560;
    const width = beside ? Math.floor((now.width - 28) / 2) : Math.min(now.width, 460);
    maps.classList.toggle("beside", beside);
    const hues = layerHues(layers.length, now.theme);
    const colors = COLOURS[now.theme].heads;
    drawMap(
      left,
      layer.map((index) => hues[layers.indexOf(index)]!),
      width,
      now,
    );
    drawMap(
      right,
      groupOf.map((group) => (group < 0 ? null : colors[group]!)),
      width,
      now,
    );
    left.key.replaceChildren(layerKey(layers, hues));
    right.key.replaceChildren(...groupKey(groups, groupOf, colors));
    between.replaceChildren(...betweenLayers(info, now.theme));
  };
  const update = redrawn(draw, left.points, right.points);
  return {
    update: (now) => update(now, now.width),
    picture,
    tables: { heads: () => headTable(info), layers: () => layerTable(info) },
  };
};
