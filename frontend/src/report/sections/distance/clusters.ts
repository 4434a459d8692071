// Heads on a plane by their distances, coloured by layer and by role: figure 6 of Clark et al. 2019.

import { css, inkOn, PALETTES, ramp, type Theme } from "../../../color";
import { h, s } from "../../../dom";
import { HEADS } from "../../../explorer/scene";
import { paper } from "../../../format";
import type { ClustersSection } from "../../../protocol";
import { type Cell, HEAD } from "../../figures";
import type { Drawn, Host, Now, Section } from "../../host";
import { placeNames } from "../../names";
import { type Point, Points } from "../../points";
import type { Table } from "../../table";

const EDGE = 22;
const NAMED = 24;

/** From blue for the first layer to orange for the last, as in the printed figure. */
function layerHues(count: number, theme: Theme): string[] {
  const stops = [0, 4, 3, 1].map((place) => HEADS[theme][place]!);
  const all = ramp(stops);
  return Array.from({ length: count }, (_, layer) => css(all[count > 1 ? Math.round((255 * layer) / (count - 1)) : 0]!));
}

class Clusters implements Drawn {
  readonly picture = h("div.clusters");
  readonly tables = { heads: () => this.heads(), layers: () => this.layers() };
  private readonly maps = h("div.maps");
  private readonly table = h("div.between");
  private readonly boxes: readonly { box: HTMLElement; key: HTMLElement; points: Points }[];
  private readonly cells: readonly (Cell | null)[];
  private readonly kinds: readonly string[];
  private last = "";

  constructor(
    element: HTMLElement,
    private readonly info: ClustersSection,
    host: Host,
  ) {
    this.cells = info.layer.map((layer, i) => host.figures.find(layer, info.head[i]!));
    const roles = [...new Set(info.role.filter((role) => role !== null))];
    this.kinds = roles.length > 0 && roles.length <= HEADS.light.length ? roles : [];
    const second = this.kinds.length > 0 ? "By role" : "By cluster";
    this.boxes = ["By layer", second].map((title) => {
      const [box, key] = [h("div.plot.map"), h("div.key")];
      this.maps.append(h("figure.chart", {}, h("figcaption", {}, h("h3", {}, title)), box, key));
      return { box, key, points: new Points(box, host, (point) => this.tip(point), true) };
    });
    this.picture.append(this.maps, h("div.layerpart", {}, this.table, h("ul.findings", {}, ...info.lines.map((line) => h("li", {}, line)))));
    element.append(this.picture);
    this.update(host.now);
  }

  update(now: Now): void {
    const key = `${now.width} ${now.theme}`;
    if (key !== this.last) this.draw(now);
    else for (const { points } of this.boxes) points.select(now.cell);
    this.last = key;
  }

  private heads(): Table {
    const { layer, head, places, role, cluster } = this.info;
    const rows = layer.map((own, i) => [own, head[i]!, paper(own, head[i]!), places[i]![0]!, places[i]![1]!, role[i] ?? null, cluster[i]!]);
    return { columns: { ...HEAD, x: "float", y: "float", role: "text", cluster: "int" }, rows };
  }

  private layers(): Table {
    const { layers, between } = this.info;
    const rows = layers.flatMap((one, i) => layers.map((other, j) => [one, other, between[i]?.[j] ?? null]));
    return { columns: { layer_a: "int", layer_b: "int", distance: "float" }, rows };
  }

  private name(i: number): string {
    return `L${this.info.layer[i]}H${this.info.head[i]}`;
  }

  private draw(now: Now): void {
    const beside = now.width >= 560;
    const width = beside ? Math.floor((now.width - 28) / 2) : Math.min(now.width, 460);
    this.maps.classList.toggle("beside", beside);
    const { layers, layer, role, cluster } = this.info;
    const hues = layerHues(layers.length, now.theme);
    const byLayer = layer.map((own) => hues[layers.indexOf(own)]!);
    const groups = this.kinds.length > 0 ? this.kinds : [...new Set(cluster)].sort((a, b) => a - b).map((own) => `cluster ${own}`);
    const group = (i: number): number => groups.indexOf(this.kinds.length > 0 ? (role[i] ?? "") : `cluster ${cluster[i]}`);
    const byGroup = layer.map((_, i) => (group(i) < 0 ? null : HEADS[now.theme][group(i)]!));
    [byLayer, byGroup].forEach((fills, panel) => this.map(this.boxes[panel]!, fills, width, now));
    this.boxes[0]!.key.replaceChildren(h("span", {}, "layer", h("span.hues", { style: `--layers:${layers.length}` }, ...layers.map((own, i) => h("span", { style: `--hue:${hues[i]}` }, String(own))))));
    const counts = groups.map((_, place) => byGroup.filter((_, i) => group(i) === place).length);
    const grey = byGroup.filter((fill) => fill === null).length;
    this.boxes[1]!.key.replaceChildren(
      ...groups.map((name, place) => h("span", {}, h("i", { style: `background:${HEADS[now.theme][place]}` }), `${name} `, h("b.dim", {}, String(counts[place])))),
      ...(grey > 0 ? [h("span", {}, h("i.ringed"), "none of these ", h("b.dim", {}, String(grey)))] : []),
    );
    this.drawTable(now.theme);
  }

  private map({ points, box }: { points: Points; box: HTMLElement }, fills: readonly (string | null)[], width: number, now: Now): void {
    const { places } = this.info;
    const [xs, ys] = [places.map(([x]) => x!), places.map(([, y]) => -y!)];
    const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const unit = Math.min((width - 2 * EDGE) / Math.max(x1 - x0, 1e-9), (1.1 * width - 2 * EDGE) / Math.max(y1 - y0, 1e-9));
    const height = Math.max(0.5 * width, (y1 - y0) * unit + 2 * EDGE);
    const at = places.map((_, i) => ({ x: width / 2 + (xs[i]! - (x0 + x1) / 2) * unit, y: height / 2 + (ys[i]! - (y0 + y1) / 2) * unit }));
    const radius = places.length > 400 ? 2.6 : places.length > 160 ? 3.4 : 4.4;
    const drawing = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Map of ${places.length} heads by their distances` });
    drawing.append(s("rect", { class: "frame", x: 0.5, y: 0.5, width: width - 1, height: height - 1, rx: 3 }));
    const order = places.map((_, i) => i).sort((a, b) => Number(fills[a] !== null) - Number(fills[b] !== null));
    for (const i of order) {
      const { x, y } = at[i]!;
      const fill = fills[i] ?? null;
      drawing.append(fill ? s("circle", { class: "head", cx: x, cy: y, r: radius, fill }) : s("circle", { class: "head none", cx: x, cy: y, r: radius - 0.5 }));
    }
    const named = order.filter((i) => this.info.role[i] !== null).reverse().map((i) => ({ ...at[i]!, text: this.name(i) }));
    const shown = this.cells.flatMap((cell, i): Point[] => (cell ? [{ cell, ...at[i]!, series: i }] : []));
    points.show(drawing, shown, now.cell);
    drawing.append(...placeNames(named, width, NAMED, at).map(({ x, y, text, anchor }) => s("text", { class: "name", x, y, dy: "0.32em", "text-anchor": anchor }, text)));
    box.style.width = `${width}px`;
  }

  private tip({ series: i }: Point): Node {
    const { layer, head, role, near } = this.info;
    return h(
      "div",
      {},
      h("div", {}, h("b", {}, this.name(i)), h("span.dim", {}, `  ${paper(layer[i]!, head[i]!)} in papers`)),
      role[i] ? h("div", {}, role[i]!) : null,
      h("div.dim", {}, `nearest: ${near[i]!.map((other) => this.name(other)).join(", ")}`),
    );
  }

  private drawTable(theme: Theme): void {
    const { layers, between, units } = this.info;
    const finite = between.flat().filter((mean) => mean !== null);
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const cell = (mean: number | null): HTMLElement => {
      if (mean === null) return h("td");
      const pixel = PALETTES[theme].sequential[Math.round(20 + 215 * ((mean - low) / Math.max(high - low, 1e-12)))]!;
      return h("td", { style: `background:${css(pixel)};color:${inkOn(pixel)}` }, layers.length <= 12 ? mean.toFixed(2).replace(/^0/, "") : "");
    };
    const rows = between.map((row, i) => h("tr", {}, h("th", { scope: "row" }, String(layers[i])), ...row.map(cell)));
    const head = h("tr", {}, h("td"), ...layers.map((layer) => h("th", { scope: "col" }, String(layer))));
    this.table.replaceChildren(h("h3", {}, "Layer by layer"), h("p.dim", {}, `mean distance of their heads, ${units}`), h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)));
  }
}

export const section: Section<ClustersSection> = (element, info, host) => new Clusters(element, info, host);
