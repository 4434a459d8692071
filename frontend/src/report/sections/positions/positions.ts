// Shares of attention by distance and by position: the layers, and folded below them the heads of the open head's
// layer.

import { Of } from "../../../scene/made";
import "./positions.css";
import { FONT, type Pen } from "../../../draw/canvas";
import { ramp } from "../../../draw/key";
import type { PositionColumn, PositionsSection } from "../../../protocol";
import { css, inkOn, PALETTES, type Theme } from "../../../scene/color";
import { bare, errorFigure, figure, weight, whole } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { draw, spaced } from "../../cells";
import { pictured } from "../../chart";
import { type Cell, pixel, type Scale } from "../../figures";
import type { Host, Now, Section } from "../../host";
import { because } from "../../reasons";
import { reveal } from "../../rows";
import { HEAD, records, type Table } from "../../table";
import { headTip, pointing, tipTable } from "../../tip";

/** How many times what even attention gives, by the ratio's logarithm. */
const TIMES: Scale = {
  ...{ low: 1 / 16, high: 16, diverging: true },
  tint: (times) => Math.min(1, Math.max(0, 0.5 + Math.log2(times) / 8)),
  position: (times) => times / 16,
};
const GROUPS: { readonly [group in PositionColumn["group"]]: string } = {
  tokens: "token of the input",
  before: "tokens before",
  itself: "",
  after: "tokens after",
};
const LABEL = { left: 34, top: 34, gap: 14 };
/** A cell is so wide and high at most, and has a number from this width on. */
const [WIDE, HIGH, NUMBERED] = [44, 22, 24];
/** A letter of the names of ranges. */
const LETTER = 7;

const mean = (values: readonly number[]): number =>
  values.length > 0 ? values.reduce((a, b) => a + b, 0) / values.length : NaN;

/** One range of keys, with the figures by the place of a head. */
class Range {
  constructor(readonly info: PositionColumn) {}
  readonly value = ({ layer, head }: Cell): number => this.info.value[layer]?.[head] ?? NaN;
  readonly chance = (layer: number): number => this.info.chance[layer] ?? NaN;
  readonly layer = (layer: number): number => mean((this.info.value[layer] ?? []).filter((value) => value !== null));
  /** The head of a layer that gives most. */
  strongest(layer: number): Cell | null {
    const values = (this.info.value[layer] ?? []).map((value) => value ?? -1);
    const most = Math.max(...values);
    return most < 0 ? null : { layer, head: values.indexOf(most) };
  }
}

interface Spot {
  readonly row: number;
  readonly range: Range;
}

/** A heat map of ranges: a row a layer or a head, and below them what even attention gives. */
class RangeMap {
  private readonly canvas: HTMLCanvasElement;
  readonly root: HTMLElement;
  private xs: readonly number[] = [];
  private size = { width: 0, height: 0 };

  constructor(
    private readonly ranges: readonly Range[],
    host: Host,
    tip: (spot: Spot) => Node,
    open: (spot: Spot) => void,
    private rows = 0,
  ) {
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.root = h("div.ranges", { role: "img", ...pointing(host, (event) => this.at(event), tip, open) }, this.canvas);
  }

  show(
    rows: readonly number[],
    value: (range: Range, row: number) => number,
    chance: (range: Range, row: number) => number,
    open: number,
    { width, theme }: Now,
    label: string,
  ): void {
    this.rows = rows.length;
    const groups = this.ranges.map(({ info }) => info.group === "tokens");
    const breaks = groups.filter((each, i) => i > 0 && each !== groups[i - 1]).length;
    const step = Math.max(
      9,
      Math.min(WIDE, Math.floor((width - LABEL.left - breaks * LABEL.gap) / this.ranges.length)),
    );
    let x = LABEL.left;
    this.xs = groups.map((each, i) => {
      if (i > 0 && each !== groups[i - 1]) x += LABEL.gap;
      x += step;
      return x - step;
    });
    const high = Math.max(12, Math.min(HIGH, Math.floor(460 / rows.length)));
    this.size = { width: step, height: high };
    const [wide, tall] = [x, LABEL.top + rows.length * high + (step < NUMBERED ? 0 : high + 6)];
    this.root.style.width = `${wide}px`;
    this.root.setAttribute("aria-label", label);
    draw(this.canvas, wide, tall, (pen) => {
      this.head(pen, step);
      this.cells(pen, value, chance, theme);
      const style = getComputedStyle(this.root);
      pen.textAlign = "right";
      const numbered = new Map(spaced(rows, high, 12));
      rows.forEach((index, row) => {
        if (row !== open && !numbered.has(row)) return;
        pen.font = `${row === open ? 700 : 500} 11px ${FONT}`;
        pen.fillStyle = style.getPropertyValue(row === open ? "--accent" : "--ink3");
        pen.fillText(String(index), LABEL.left - 8, LABEL.top + row * high + high / 2);
      });
      pen.font = `500 11px ${FONT}`;
      pen.fillStyle = style.getPropertyValue("--ink3");
      const bottom = LABEL.top + rows.length * high + 6 + high / 2;
      if (step < NUMBERED) return;
      pen.fillText("even", LABEL.left - 8, bottom);
      pen.textAlign = "center";
      this.ranges.forEach((range, i) =>
        pen.fillText(
          weight(mean(rows.map((_, row) => chance(range, row)).filter(Number.isFinite))),
          this.xs[i]! + step / 2,
          bottom,
        ),
      );
    });
  }

  // The names of the ranges, and over them of their groups.
  private head(pen: Pen, step: number): void {
    pen.font = `500 11px ${FONT}`;
    pen.fillStyle = getComputedStyle(this.root).getPropertyValue("--ink3");
    pen.textBaseline = "middle";
    this.ranges.forEach(({ info }, i) => {
      pen.textAlign = "center";
      const label = LETTER * info.label.length < step - 4 ? info.label : info.label.replace(/–.*/, "");
      if (i % Math.ceil((LETTER * label.length) / step) === 0) pen.fillText(label, this.xs[i]! + step / 2, 24);
      if (info.group === this.ranges[i - 1]?.info.group || !GROUPS[info.group]) return;
      pen.textAlign = info.group === "after" ? "right" : "left";
      const last = this.xs[this.ranges.findLastIndex((other) => other.info.group === info.group)]! + step;
      const room = last - this.xs[i]!;
      const title = room < 104 && info.group === "tokens" ? "token" : GROUPS[info.group];
      pen.fillText(title, info.group === "after" ? last : this.xs[i]!, 8);
    });
  }

  private cells(
    pen: Pen,
    value: (range: Range, row: number) => number,
    chance: (range: Range, row: number) => number,
    theme: Theme,
  ): void {
    const { width, height } = this.size;
    pen.textAlign = "center";
    pen.font = `500 11px ${FONT}`;
    this.ranges.forEach((range, i) => {
      for (let row = 0; row < this.rows; row++) {
        const share = value(range, row);
        if (!Number.isFinite(share)) continue;
        const color = pixel(TIMES, share / chance(range, row), theme);
        const top = LABEL.top + row * height;
        pen.fillStyle = css(color);
        pen.fillRect(this.xs[i]!, top, width - 1, height - 1);
        if (width < NUMBERED) continue;
        pen.fillStyle = inkOn(color);
        pen.fillText(weight(share), this.xs[i]! + (width - 1) / 2, top + height / 2);
      }
    });
  }

  private at(event: MouseEvent): Spot | null {
    const bounds = this.root.getBoundingClientRect();
    const [x, row] = [
      event.clientX - bounds.left,
      Math.floor((event.clientY - bounds.top - LABEL.top) / this.size.height),
    ];
    const range = this.ranges[this.xs.findIndex((left) => x >= left && x < left + this.size.width)];
    return range && row >= 0 && row < this.rows ? { row, range } : null;
  }
}

/** Rows of the tidy table: the columns of `headscope measure`. */
function tidy({ columns, layers, heads }: PositionsSection): Table {
  const rows = columns.flatMap(({ measure, value, se, n, chance }) =>
    layers.flatMap((layer, i) =>
      heads.flatMap((head, j) =>
        value[i]![j] === null
          ? []
          : [{ layer, head, measure, value: value[i]![j], se: se[i]![j], n: n[i]![j], chance: chance[i] }],
      ),
    ),
  );
  return records({ ...HEAD, measure: "text", value: "float", se: "float", n: "int", chance: "float" }, rows);
}

export const section: Section<PositionsSection> = (element, info, host) => {
  const { figures } = host;
  const ranges = info.columns.map((column) => new Range(column));
  const times = (share: number, chance: number): string => `${figure(share / chance, 2)} ×`;
  const open = ({ range }: Spot, cell: Cell | null): void => {
    if (!cell) return;
    const { measure, title, example, place } = range.info;
    const at = example[cell.layer]![cell.head]!;
    const seen = at < 0 ? {} : { example: at, pin: { side: "from", place: place[cell.layer]![cell.head]! } as const };
    host.open(
      cell,
      because(title, figure(range.value(cell)), { measure: figures.has(measure) ? measure : null, ...seen }),
    );
  };
  const layerTip = ({ row, range }: Spot): Node => {
    const [share, chance, most] = [range.layer(row), range.chance(row), range.strongest(row)];
    return h(
      "div",
      {},
      h("b", {}, `Layer ${info.layers[row]}, mean of its heads`),
      tipTable(
        [range.info.title, figure(share)],
        ["even attention", figure(chance)],
        ["against even", times(share, chance)],
        most !== null && [`most: ${figures.name(most)}`, figure(range.value(most))],
      ),
    );
  };
  const headOf = (row: number): Cell => ({ layer: host.now.cell.layer, head: row });
  const headTipOf = ({ row, range }: Spot): Node => {
    const cell = headOf(row);
    const [share, chance, se, n] = [
      range.value(cell),
      range.chance(cell.layer),
      range.info.se[cell.layer]![row] ?? NaN,
      range.info.n[cell.layer]![row] ?? NaN,
    ];
    return headTip(
      figures.name(cell),
      figures.paper(cell),
      tipTable(
        [range.info.title, figure(share)],
        Number.isFinite(se) && ["standard error", `± ${errorFigure(se)}`],
        Number.isFinite(n) && ["n", whole(n)],
        ["even attention", figure(chance)],
        ["against even", times(share, chance)],
      ),
    );
  };
  const layers = new RangeMap(ranges, host, layerTip, (spot) => {
    open(spot, spot.range.strongest(spot.row));
    reveal(heads.root);
  });
  const heads = new RangeMap(ranges, host, headTipOf, (spot) =>
    open(spot, Number.isFinite(spot.range.value(headOf(spot.row))) ? headOf(spot.row) : null),
  );
  const [legend, title] = [h("div", { "aria-hidden": "true" }), h("summary")];
  const picture = h(
    "div.positions",
    {},
    h("div.figurehead", {}, h("h3", {}, "Layers, means of their heads"), legend),
    layers.root,
    h("details.note", {}, title, heads.root),
  );
  element.append(picture);
  const drawn = new Of();
  const update = (now: Now): void => {
    const { cell, theme, width } = now;
    if (!drawn.renewed(cell, theme, width)) return;
    layers.show(
      info.layers,
      (range, row) => range.layer(row),
      (range, row) => range.chance(row),
      cell.layer,
      now,
      `Share of attention by position and distance, ${info.layers.length} layers`,
    );
    heads.show(
      info.heads,
      (range, row) => range.value({ layer: cell.layer, head: row }),
      (range) => range.chance(cell.layer),
      cell.head,
      now,
      `The same of the heads of layer ${figures.layerOf(cell)}`,
    );
    const ticks = [0.06, 0.25, 1, 4, 16].map((times) => ({ at: TIMES.tint(times), text: bare(String(times)) }));
    legend.replaceChildren(pictured(ramp("× even", PALETTES[theme].diverging, ticks, 210, theme), 210));
    title.textContent = `Heads of layer ${figures.layerOf(cell)}`;
  };
  return { update, picture, tables: { positions: () => tidy(info) } };
};
