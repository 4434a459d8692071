// Queries and keys of one head on a plane, with their tokens; what a query looks at most is joined to it.

import { placeNames } from "../../../draw/names";
import type { PlanesInfo } from "../../../protocol";
import { COLOURS } from "../../../scene/color";
import type { Store } from "../../../scene/data";
import { figure } from "../../../scene/format";
import { Of } from "../../../scene/made";
import { h, s } from "../../../ui/dom";
import { nearest } from "../../chart";
import type { Cell } from "../../figures";
import type { Host, Now } from "../../host";
import { because } from "../../reasons";
import { records, type Table } from "../../table";
import { pointing } from "../../tip";

type Side = "query" | "key";

interface Dot {
  readonly side: Side;
  readonly token: number;
  readonly x: number;
  readonly y: number;
}

interface Arrays {
  readonly query: ArrayLike<number>;
  readonly key: ArrayLike<number>;
  readonly looks: ArrayLike<number>;
  readonly weight: ArrayLike<number>;
}

const EDGE = 18;
const LABELS = 44;
const SIDE_OF = { query: "from", key: "to" } as const;

export class Plane {
  readonly root = h("div.qk");
  ready = false;
  private readonly title = h("h3");
  private readonly key = h("div.key");
  private readonly box: HTMLElement;
  private readonly joins = s("g", { class: "joins" });
  private arrays: Arrays | null = null;
  private dots: readonly Dot[] = [];
  private row = -1;
  private size: [number, number] = [0, 0];
  private readonly drawn = new Of();

  constructor(
    private readonly host: Host,
    private readonly info: PlanesInfo,
    private readonly cellOf: (row: number) => Cell | null,
    store: Store,
  ) {
    this.box = h(
      "div.plot",
      pointing<Dot>(
        host,
        (event) => nearest(event, this.box, this.dots, 14),
        (dot) => this.tip(dot),
        (dot) => this.open(dot),
        (dot) => this.join(dot),
      ),
    );
    this.root.append(this.title, this.box, this.key);
    const refs = [info.query, info.key, info.looks, info.weight].map((ref) => store.get(ref));
    void Promise.all(refs).then(([query, keys, looks, weight]) => {
      this.arrays = { query: query!, key: keys!, looks: looks!, weight: weight! };
      this.update(this.row, this.host.now, ...this.size);
      this.ready = true;
    });
  }

  /** Show a head, by its place among the section's. */
  update(row: number, now: Now, width: number, height: number): void {
    [this.row, this.size] = [row, [width, height]];
    if (width === 0 || !this.drawn.renewed(row, width, now.theme, this.arrays)) return;
    this.box.style.cssText = `width:${width}px;height:${height}px`;
    const cell = this.cellOf(row);
    const share = this.info.share[row];
    this.title.replaceChildren(
      `Queries and keys of ${cell ? this.host.figures.name(cell) : "this head"}`,
      h("span.dim", {}, share == null ? "" : `  in view: ${Math.round(100 * share)}\u00a0% of their variance`),
    );
    if (!this.arrays || !cell) return;
    const placed = (["key", "query"] as const).flatMap((which) =>
      this.info.tokens.map((_, token) => ({ side: which, token, at: this.place(which, token) })),
    );
    // A step is as long on either axis.
    const ends = [0, 1]
      .map((axis) => placed.map(({ at }) => at[axis]!))
      .map((own) => [Math.min(...own), Math.max(...own)] as const);
    const [across, up] = ends.map(([low, high]) => Math.max(1, high - low)) as [number, number];
    const scale = Math.min((width - 2 * EDGE) / across, (height - 2 * EDGE) / up);
    const [midX, midY] = ends.map(([low, high]) => (low + high) / 2) as [number, number];
    this.dots = placed.map(({ side, token, at: [x, y] }) => ({
      side,
      token,
      x: width / 2 + scale * (x - midX),
      y: height / 2 - scale * (y - midY),
    }));
    const [blue, orange] = COLOURS[now.theme].heads;
    this.key.replaceChildren(
      h("span", {}, h("i", { style: `background:${blue}` }), "queries"),
      h("span", {}, h("i.square", { style: `background:${orange}` }), "keys"),
    );
    const marks = this.dots.map(({ side: which, x, y }) =>
      which === "query"
        ? s("circle", { class: "mark", cx: x, cy: y, r: 2.6, fill: blue! })
        : s("rect", { class: "mark", x: x - 2.4, y: y - 2.4, width: 4.8, height: 4.8, fill: orange! }),
    );
    // The keys that most queries look at, and the queries that look most sharply, are named first.
    const strength = (dot: Dot): number =>
      dot.side === "query" ? this.weight(dot.token) : this.lookers(dot.token).length;
    const order = [...this.dots].sort((a, b) => strength(b) - strength(a));
    const named = placeNames(
      order.map((dot) => ({ ...dot, text: short(this.piece(dot.token)) })),
      width,
      LABELS,
      this.dots,
    ) as (Dot & ReturnType<typeof placeNames>[number])[];
    const texts = named.map(({ x, y, text, anchor, side: which }) =>
      s("text", { class: `name of-${which}`, x, y, dy: "0.32em", "text-anchor": anchor }, text),
    );
    const frame = s("rect", { class: "frame", x: 0.5, y: 0.5, width: width - 1, height: height - 1, rx: 3 });
    const label = `${this.info.tokens.length} queries and keys of ${this.host.figures.name(cell)} on a plane`;
    const drawing = s(
      "svg",
      { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
      frame,
      this.joins,
      ...marks,
      ...texts,
    );
    this.joins.replaceChildren();
    drawing.dataset.export = "yes";
    this.box.replaceChildren(drawing);
  }

  /** The plane that is shown. */
  table(): Table {
    const rows = this.info.tokens.map(({ piece, example, place }, token) => {
      const [[query_x, query_y], [key_x, key_y]] = [this.place("query", token), this.place("key", token)];
      return {
        token: piece,
        example: example + 1,
        place,
        query_x,
        query_y,
        key_x,
        key_y,
        looks_at: this.piece(this.looks(token)),
        weight: this.weight(token),
      };
    });
    const columns = {
      token: "text",
      example: "int",
      place: "int",
      query_x: "float",
      query_y: "float",
      key_x: "float",
      key_y: "float",
      looks_at: "text",
      weight: "float",
    } as const;
    return records(columns, this.arrays ? rows : []);
  }

  private piece = (token: number): string => this.info.tokens[token]?.piece ?? "";
  private place(side: Side, token: number): [number, number] {
    const first = 2 * (this.row * this.info.tokens.length + token);
    const array = this.arrays?.[side];
    return [array?.[first] ?? 0, array?.[first + 1] ?? 0];
  }
  private looks = (token: number): number => this.arrays?.looks[this.row * this.info.tokens.length + token] ?? token;
  private weight = (token: number): number =>
    ((this.arrays?.weight[this.row * this.info.tokens.length + token] ?? 0) / 255) ** 2;
  /** The queries that look at a key more than at any other here. */
  private lookers = (token: number): number[] =>
    this.info.tokens.flatMap((_, query) => (this.looks(query) === token && this.weight(query) > 0 ? [query] : []));

  private tip({ side, token }: Dot): Node {
    const example = h(
      "div.dim",
      {},
      `example ${this.info.tokens[token]!.example + 1}, token ${this.info.tokens[token]!.place}`,
    );
    if (side === "query")
      return h("div", {}, h("div", {}, "query ", h("b", {}, this.piece(token)), ...this.says(token)), example);
    const lookers = this.lookers(token);
    const from =
      lookers.length === 0
        ? "the strongest of no query here"
        : `the strongest of ${lookers.slice(0, 6).map(this.piece).join(", ")}${lookers.length > 6 ? " …" : ""}`;
    return h("div", {}, h("div", {}, "key ", h("b", {}, this.piece(token))), h("div", {}, from), example);
  }

  private says(token: number): (string | Node)[] {
    return this.weight(token) > 0
      ? [" looks most at ", h("b", {}, this.piece(this.looks(token))), ` ${figure(this.weight(token), 2)}`]
      : [];
  }

  private join(dot: Dot | null): void {
    const of = dot === null ? [] : dot.side === "query" ? [dot.token] : this.lookers(dot.token);
    const find = (side: Side, token: number): Dot => this.dots[(side === "key" ? 0 : this.info.tokens.length) + token]!;
    this.joins.replaceChildren(
      ...of.flatMap((query) => {
        if (this.weight(query) <= 0) return [];
        const [a, b] = [find("query", query), find("key", this.looks(query))];
        return [s("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "stroke-opacity": 0.25 + 0.75 * this.weight(query) })];
      }),
      ...(dot ? [s("circle", { cx: dot.x, cy: dot.y, r: 6 })] : []),
    );
  }

  private open({ side, token }: Dot): void {
    const cell = this.cellOf(this.row);
    const { example, place } = this.info.tokens[token]!;
    if (!cell) return;
    const says =
      side === "query" && this.weight(token) > 0
        ? `“${this.piece(token)}” looks most at “${this.piece(this.looks(token))}”`
        : `the ${side} “${this.piece(token)}”`;
    const reason = because(says, side === "query" && this.weight(token) > 0 ? figure(this.weight(token), 2) : "", {
      example,
      pin: { side: SIDE_OF[side], place },
    });
    this.host.open(cell, { ...reason, over: "on this input" });
  }
}

const short = (text: string): string => (text.length > 12 ? `${text.slice(0, 11)}…` : text);
