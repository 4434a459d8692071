// The head that is open: its map on an example, and where it stands among all heads.

import type { Theme } from "./color";
import { type HeadMap, headMap, type Store } from "./data";
import { h } from "./dom";
import type { Figures, Measure } from "./figures";
import { figure, label, percent, shown } from "./format";
import { HeatMap, type HeatProps, type Pair } from "./heat";
import type { Cell, Component, Host } from "./host";
import { Legend } from "./legend";
import type { ExampleInfo } from "./protocol";
import { Strips } from "./strips";

export interface PanelProps {
  figures: Figures;
  store: Store;
  measure: Measure;
  cell: Cell;
  example: number;
  theme: Theme;
  width: number;
  height: number;
}

const SQRT_SCALE = { low: 0, high: 1, diverging: false, tint: Math.sqrt, place: (x: number) => x, ticks: [0, 0.05, 0.25, 0.5, 1] };

/** `56% on the first token`: the largest share of a map, or how spread out it is. */
export function phrase(map: HeadMap, query: readonly string[], key: readonly string[], causal: boolean): string {
  const share = (column: (row: number) => number, from = 0): number => {
    let sum = 0;
    for (let row = from; row < map.rows; row++) {
      const at = column(row);
      if (at >= 0 && at < map.columns) sum += map.weight(row, at);
    }
    return sum / Math.max(1, map.rows - from);
  };
  const square = map.rows === map.columns;
  const shares: [string, number][] = [["the first token", share(() => 0, causal ? 1 : 0)]];
  if (square) {
    shares.push(["the previous token", share((row) => row - 1, 1)], ["itself", share((row) => row)]);
    if (!causal) shares.push(["the next token", share((row) => row + 1)]);
  }
  const separators = key.flatMap((raw, column) => (raw === "[SEP]" || raw === "</s>" ? [column] : []));
  if (separators.length > 0) {
    let sum = 0;
    for (let row = 0; row < map.rows; row++) for (const column of separators) sum += map.weight(row, column);
    shares.push([`${key[separators[0]!]}`, sum / map.rows]);
  }
  const [name, most] = shares.reduce((a, b) => (b[1] > a[1] ? b : a));
  if (most >= 0.2) return `${percent(most)} on ${name}`;
  let entropy = 0;
  for (let row = 0; row < map.rows; row++) {
    for (let column = 0; column < map.columns; column++) {
      const w = map.weight(row, column);
      if (w > 0) entropy -= w * Math.log(w);
    }
  }
  return query.length > 0 ? `spread out, entropy ${(entropy / map.rows).toFixed(1)} nats` : "";
}

export class Panel implements Component<PanelProps> {
  private readonly title = h("h2");
  private readonly papers = h("span.dim");
  private readonly say = h("p.say");
  private readonly select: HTMLSelectElement = h("select", {
    "aria-label": "Example",
    onchange: () => this.host.set({ example: this.select.selectedIndex }),
  });
  private readonly body = h("div.mapbox");
  private readonly readout = h("p.readout", { "aria-live": "polite" });
  private readonly legendBox = h("div");
  private readonly caption = h("div.mapcap", {}, this.legendBox);
  private readonly among = h("h3");
  private readonly stripBox = h("div");
  private readonly dialog = h("dialog.large", { "aria-label": "The head's map, enlarged" });
  private readonly root = h("section.panel", { "aria-label": "The open head" });
  private readonly strips: Strips;
  private readonly legend: Legend;
  private heat: HeatMap | null = null;
  private map: HeadMap | null = null;
  private asked = 0;

  constructor(
    element: HTMLElement,
    private props: PanelProps,
    private readonly host: Host,
  ) {
    const { figures, measure, cell, theme, width } = props;
    const step = (text: string, says: string, to: () => Cell): HTMLElement =>
      h("button", { type: "button", "aria-label": says, title: says, onclick: () => host.set({ cell: to() }) }, text);
    const stepper = h(
      "div.stepper",
      { role: "group", "aria-label": "Go to another head" },
      step("⇤", "First head", () => figures.cells[0] ?? this.props.cell),
      step("‹", "Previous head", () => figures.along(this.props.cell, -1)),
      step("›", "Next head", () => figures.along(this.props.cell, 1)),
    );
    const examples = figures.payload.examples;
    this.select.append(...examples.map((example, i) => h("option", {}, `${i + 1} · ${label(example.query)}`)));
    this.select.hidden = examples.length < 2;
    const enlarge = h("button.link", { type: "button", onclick: () => this.enlarge() }, "Enlarge");
    enlarge.hidden = examples.length === 0;
    this.caption.append(enlarge);
    this.root.append(
      h(
        "div",
        {},
        h("div.panehead", {}, this.title, this.papers, h("span.grow"), stepper),
        this.say,
        this.select,
        this.body,
        this.readout,
        this.caption,
      ),
      h("div.among", {}, this.among, this.stripBox),
      this.dialog,
    );
    this.caption.hidden = examples.length === 0;
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
    element.append(this.root);
    this.strips = new Strips(this.stripBox, { figures, measure, cell, theme, width }, host);
    this.legend = new Legend(this.legendBox, { scale: SQRT_SCALE, theme, units: "share" });
    void this.show();
  }

  update(props: Partial<PanelProps>): void {
    this.props = { ...this.props, ...props };
    const { figures, measure, cell, theme, width } = this.props;
    this.strips.update({ figures, measure, cell, theme, width });
    this.legend.update({ theme });
    void this.show();
  }

  destroy(): void {
    this.asked++;
    this.heat?.destroy();
    this.strips.destroy();
    this.legend.destroy();
    this.root.remove();
  }

  private get current(): ExampleInfo | undefined {
    return this.props.figures.payload.examples[this.props.example];
  }

  private async show(): Promise<void> {
    const { figures, cell, store, example } = this.props;
    const asked = ++this.asked;
    this.title.textContent = `Layer ${figures.layerOf(cell)}, head ${figures.headOf(cell)}`;
    this.papers.textContent = `${figures.paper(cell)} in papers`;
    const all = figures.cells.length;
    this.among.textContent = all > 1 ? `${figures.name(cell)} among all ${all} heads` : `${figures.name(cell)}, the only head`;
    this.select.selectedIndex = example;
    const current = this.current;
    if (!current) return this.say.replaceChildren("This report was made without examples.");
    try {
      const map = await this.load(current, store, cell);
      if (asked !== this.asked) return;
      this.map = map;
      if (!map) return this.none("The maps of this example hold no such head.");
      this.say.textContent = `In this example: ${phrase(map, current.query, current.key, current.causal)}`;
      this.draw(map, current);
    } catch (error) {
      if (asked === this.asked) this.none(`The map cannot be shown: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private none(text: string): void {
    this.heat?.destroy();
    this.heat = null;
    this.say.textContent = text;
    this.readout.textContent = "";
  }

  private async load(example: ExampleInfo, store: Store, cell: Cell): Promise<HeadMap | null> {
    const ref = example.layers[example.index.indexOf(this.props.figures.layerOf(cell))];
    return ref ? headMap(ref, await store.get(ref), this.props.figures.headOf(cell)) : null;
  }

  private heatProps(map: HeadMap, example: ExampleInfo, width: number, height: number): HeatProps {
    const { figures, cell, theme } = this.props;
    return {
      map,
      query: example.query,
      key: example.key,
      querySequences: example.query_sequences,
      keySequences: example.key_sequences,
      theme,
      width,
      height,
      label: `Attention map of ${figures.name(cell)}, ${map.rows} by ${map.columns} tokens`,
    };
  }

  private draw(map: HeadMap, example: ExampleInfo): void {
    const { width, height } = this.props;
    const props = this.heatProps(map, example, width, Math.min(width, Math.max(220, height * 0.41)));
    if (this.heat) this.heat.update(props);
    else this.heat = new HeatMap(this.body, props, (pair) => this.read(pair, this.readout));
    this.read(null, this.readout);
  }

  private read(pair: Pair | null, into: HTMLElement): void {
    const [map, example] = [this.map, this.current];
    if (!map || !example) return;
    if (!pair) {
      into.replaceChildren(h("span.dim", {}, "from ↓ to →, point at a cell to read it"));
      return;
    }
    into.replaceChildren(
      h("bdi.from", {}, shown(example.query[pair.row] ?? "")),
      h("span.dim", {}, " → "),
      h("bdi.to", {}, shown(example.key[pair.column] ?? "")),
      h("b", {}, figure(map.weight(pair.row, pair.column))),
    );
  }

  private enlarge(): void {
    const [map, example] = [this.map, this.current];
    if (!map || !example) return;
    const close = h("button.cta", { type: "button", onclick: () => this.dialog.close() }, "Close");
    const readout = h("p.readout", { "aria-live": "polite" });
    const box = h("div.mapbox");
    const title = h("h2", {}, this.title.textContent ?? "");
    this.dialog.replaceChildren(h("div.panehead", {}, title, h("span.grow"), close), readout, box);
    this.dialog.showModal();
    const [width, height] = [Math.min(1200, window.innerWidth - 80), window.innerHeight - 170];
    const large = new HeatMap(box, this.heatProps(map, example, width, height), (pair) => this.read(pair, readout));
    this.read(null, readout);
    this.dialog.addEventListener("close", () => large.destroy(), { once: true });
  }
}
