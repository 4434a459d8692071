// Queries and keys of one head on a plane, with their tokens; what a query looks at most is joined to it.

import type { Spot } from "../../../draw/frame";
import type { Chart, PlanesInfo } from "../../../protocol";
import type { Store } from "../../../scene/data";
import { figure } from "../../../scene/format";
import { h, s } from "../../../ui/dom";
import { Charted, redrawn } from "../../chart";
import type { Cell } from "../../figures";
import type { Host, Now } from "../../host";
import { because } from "../../reasons";
import { records, type Table } from "../../table";

type Side = "query" | "key";

interface Dot {
  readonly side: Side;
  readonly token: number;
}

interface Arrays {
  readonly query: ArrayLike<number>;
  readonly key: ArrayLike<number>;
  readonly looks: ArrayLike<number>;
  readonly weight: ArrayLike<number>;
}

const LABELS = 44;
const SIDES = ["query", "key"] as const;
const SIDE_OF = { query: "from", key: "to" } as const;
/** No head stands for a dot. */
const NONE: Cell = { layer: -1, head: -1 };

export class Plane {
  readonly root: HTMLElement;
  ready = false;
  private readonly title = h("h3");
  private readonly charted: Charted;
  private arrays: Arrays | null = null;
  private row = -1;
  private size: readonly [number, number] = [0, 0];
  private readonly draw: ReturnType<typeof redrawn>;

  constructor(
    private readonly host: Host,
    private readonly info: PlanesInfo,
    private readonly cellOf: (row: number) => Cell | null,
    store: Store,
  ) {
    this.charted = new Charted(
      host,
      () => NONE,
      (row) => this.tip(this.dot(row)),
      (row) => this.open(this.dot(row)),
      false,
      (row, spots) => this.joins(this.dot(row), spots),
    );
    this.root = h("div.qk", this.title, this.charted.root);
    this.draw = redrawn((now, width) => this.show(now, width));
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
    if (width > 0) this.draw(now, width, [row, this.arrays]);
  }

  private show({ theme, cell: open }: Now, width: number): void {
    const { tokens, share } = this.info;
    const [cell, seen] = [this.cellOf(this.row), share[this.row]];
    const name = cell ? this.host.figures.name(cell) : "this head";
    this.title.replaceChildren(
      `Queries and keys of ${name}`,
      h("span.dim", seen == null ? "" : `  in view: ${Math.round(100 * seen)}\u00a0% of their variance`),
    );
    if (!this.arrays || !cell) return;
    const dots = Array.from({ length: 2 * tokens.length }, (_, row) => this.dot(row));
    const at = dots.map(({ side, token }) => this.place(side, token));
    // The keys that most queries look at, and the queries that look most sharply, are named first.
    const strength = dots.map(({ side, token }) =>
      side === "query" ? this.weight(token) : this.lookers(token).length,
    );
    const chart: Chart = {
      kind: "scatter",
      title: "",
      x: { title: "", ticks: false },
      y: { title: "", ticks: false },
      rows: {
        x: at.map(([x]) => x),
        y: at.map(([, y]) => y),
        colour: dots.map(({ side }) => SIDES.indexOf(side)),
        link: dots.map(({ token }) => short(this.piece(token))),
        marked: [...dots.keys()].sort((a, b) => strength[b]! - strength[a]! || b - a).slice(0, LABELS),
      },
      colour: { title: "", of: "heads", names: ["queries", "keys"] },
      equal: true,
    };
    const label = `${tokens.length} queries and keys of ${name} on a plane`;
    this.charted.show(chart, { width, height: this.size[1], theme, named: LABELS }, label, open);
  }

  private dot(row: number): Dot {
    const { length } = this.info.tokens;
    return { side: SIDES[Math.floor(row / length)]!, token: row % length };
  }

  // From the queries that look most at a key, or from a query to what it looks at most.
  private joins({ side, token }: Dot, spots: readonly Spot[]): SVGElement[] {
    const find = (row: number): Spot => spots.find((spot) => spot.row === row)!;
    return (side === "query" ? [token] : this.lookers(token)).flatMap((query) => {
      if (this.weight(query) <= 0) return [];
      const [a, b] = [find(query), find(this.info.tokens.length + this.looks(query))];
      const opacity = 0.25 + 0.75 * this.weight(query);
      return [s("line", { class: "join", x1: a.x, y1: a.y, x2: b.x, y2: b.y, "stroke-opacity": opacity })];
    });
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
      `example ${this.info.tokens[token]!.example + 1}, token ${this.info.tokens[token]!.place}`,
    );
    if (side === "query") return h("div", h("div", "query ", h("b", this.piece(token)), ...this.says(token)), example);
    const lookers = this.lookers(token);
    const from =
      lookers.length === 0
        ? "the strongest of no query here"
        : `the strongest of ${lookers.slice(0, 6).map(this.piece).join(", ")}${lookers.length > 6 ? " …" : ""}`;
    return h("div", h("div", "key ", h("b", this.piece(token))), h("div", from), example);
  }

  private says(token: number): (string | Node)[] {
    return this.weight(token) > 0
      ? [" looks most at ", h("b", this.piece(this.looks(token))), ` ${figure(this.weight(token), 2)}`]
      : [];
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
