// Shares of attention by distance and by position: the layers, and folded below them the heads of the open head's
// layer.

import "./positions.css";
import type { Chart, PositionColumn, PositionsSection } from "../../../protocol";
import { clamp, figure, weight } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { Charted, redrawn } from "../../chart";
import { type Cell, type Figures, Measure, orNull, tidy } from "../../figures";
import type { Section } from "../../host";
import { because } from "../../reasons";
import { figureTip, tipTable } from "../../tip";

/** Before the first number of a range. */
const SIGNS: { readonly [group in PositionColumn["group"]]: string } = {
  tokens: "",
  before: "−",
  itself: "",
  after: "+",
};
/** So many twos: how often what even attention gives has the strongest colours. */
const MOST = 4;
/** Of a row in pixels, and of what stands above and below them. */
const [ROW, ABOVE] = [26, 34];

const mean = (values: readonly number[]): number =>
  values.length > 0 ? values.reduce((a, b) => a + b, 0) / values.length : NaN;

const numbers = (rows: readonly (readonly (number | null)[])[]): Float64Array =>
  Float64Array.from(rows.flat(), (value) => value ?? NaN);

/** One range of keys, with the figures of heads. */
class Range extends Measure {
  constructor(
    readonly column: PositionColumn,
    private readonly figures: Figures,
  ) {
    const { measure: name, title, value, se, n, chance } = column;
    const info = { name, title, units: "share", description: "", by: "", over: "", source: "" };
    super(info, figures.columns, numbers(value), numbers(se), numbers(n), numbers([chance]));
  }
  private within(layer: number): Cell[] {
    return this.figures.cells.filter((cell) => cell.layer === layer && Number.isFinite(this.value(cell)));
  }
  readonly layer = (layer: number): number => mean(this.within(layer).map(this.value));
  /** The head of a layer that gives most. */
  strongest(layer: number): Cell | null {
    const heads = this.within(layer);
    return heads.find((cell) => this.value(cell) === Math.max(...heads.map(this.value))) ?? null;
  }
}

type Of = (range: Range, place: number) => number;

/** A map of ranges: a row a layer or a head, and below them what even attention gives. */
function mapOf(ranges: readonly Range[], names: readonly number[], value: Of, chance: Of): Chart {
  const places = [...names.keys()];
  const shares = [
    ...places.flatMap((place) => ranges.map((range) => [value(range, place), chance(range, place)] as const)),
    ...ranges.map((range) => [mean(places.map((place) => chance(range, place)).filter(Number.isFinite)), NaN] as const),
  ];
  return {
    kind: "head_map",
    title: "",
    x: {
      title: "token of the input; tokens before (−) and after (+), the first of each range",
      names: ranges.map(({ column: { group, label } }) => SIGNS[group] + label.replace(/–.*/, "")),
    },
    y: { title: "", names: [...names.map(String), "even"] },
    rows: {
      x: shares.map((_, row) => row % ranges.length),
      y: shares.map((_, row) => Math.floor(row / ranges.length)),
      colour: shares.map(([share, even]) => orNull(clamp(Math.log2(share / even), -MOST, MOST))),
      text: shares.map(([share]) => (Number.isFinite(share) ? weight(share) : "")),
    },
    colour: { ...{ title: "× even", of: "numbers", low: -MOST, high: MOST }, names: ["0.06", "0.25", "1", "4", "16"] },
  };
}

export const section: Section<PositionsSection> = (element, info, host) => {
  const { figures } = host;
  const ranges = info.columns.map((column) => new Range(column, figures));
  const times = (share: number, chance: number): string => `${figure(share / chance, 2)} ×`;
  const open = (range: Range, cell: Cell): void => {
    const { measure, title, example, place } = range.column;
    const at = example[cell.layer]![cell.head]!;
    const seen = at < 0 ? {} : { example: at, pin: { side: "from", place: place[cell.layer]![cell.head]! } as const };
    const known = figures.has(measure) ? measure : null;
    host.open(cell, because(title, figure(range.value(cell)), { measure: known, ...seen }));
  };
  const layerTip = (range: Range, { layer }: Cell): Node => {
    const [share, chance, most] = [range.layer(layer), range.chance(layer), range.strongest(layer)!];
    return h(
      "div",
      h("b", `Layer ${info.layers[layer]}, mean of its heads`),
      tipTable(
        [range.info.title, figure(share)],
        ["uniform attention", figure(chance)],
        ["against even", times(share, chance)],
        [`most: ${figures.name(most)}`, figure(range.value(most))],
      ),
    );
  };
  const headTipOf = (range: Range, cell: Cell): Node =>
    figureTip(figures, range, cell, ["against even", times(range.value(cell), range.chance(cell.layer))]);
  const charted = (
    of: (range: Range, place: number) => Cell | null,
    tip: (range: Range, cell: Cell) => Node,
  ): Charted => {
    const rangeOf = (row: number): Range => ranges[row % ranges.length]!;
    const cellOf = (row: number): Cell | null => of(rangeOf(row), Math.floor(row / ranges.length));
    return new Charted(
      host,
      cellOf,
      (row) => tip(rangeOf(row), cellOf(row)!),
      (row) => {
        open(rangeOf(row), cellOf(row)!);
        folded.open = true;
      },
    );
  };
  const headOf = (head: number): Cell => ({ layer: host.now.cell.layer, head });
  const layers = charted((range, layer) => range.strongest(layer), layerTip);
  const heads = charted((range, head) => (Number.isFinite(range.value(headOf(head))) ? headOf(head) : null), headTipOf);
  const title = h("summary");
  const folded = h("details.note", title, heads.root);
  const picture = h("div.positions", h("h3", "Layers, means of their heads"), layers.root, folded);
  element.append(picture);
  const height = (rows: number): number => ROW * (rows + 1) + ABOVE;
  const draw = redrawn(
    ({ cell, theme }, width) => {
      layers.show(
        mapOf(
          ranges,
          info.layers,
          (range, layer) => range.layer(layer),
          (range, layer) => range.chance(layer),
        ),
        { width, theme, height: height(info.layers.length) },
        `Share of attention by position and distance, ${info.layers.length} layers`,
        cell,
      );
      heads.show(
        mapOf(
          ranges,
          info.heads,
          (range, head) => range.value(headOf(head)),
          (range) => range.chance(cell.layer),
        ),
        { width, theme, height: height(info.heads.length) },
        `The same of the heads of layer ${figures.layerOf(cell)}`,
        cell,
      );
      title.textContent = `Heads of layer ${figures.layerOf(cell)}`;
    },
    layers,
    heads,
  );
  return {
    update: (now) => draw(now, now.width, now.cell.layer),
    picture,
    tables: { positions: () => tidy(figures, ranges) },
  };
};
