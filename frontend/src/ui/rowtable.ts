// What is pointed at, for those who cannot see it: one sentence that is read out, and a table of the row's weights.

import { name } from "../scene/axis";
import { type Shown, value } from "../scene/cut";
import { figure } from "../scene/format";
import { concerns, inWords } from "../scene/gold";
import { Of } from "../scene/made";
import type { Scene } from "../scene/scene";
import { h } from "./dom";

/** Tokens that a table lists, the strongest of longer inputs; heads that the sentence names. */
const MOST = 128;
const SPOKEN = 4;
/** A pointer on its way over the tokens is not followed. */
const PAUSE = 250;

export class RowTable {
  private readonly caption = h("caption");
  private readonly top = h("thead");
  private readonly body = h("tbody");
  private readonly table = h("table", { hidden: true }, this.caption, this.top, this.body);
  private readonly live = h("p", { role: "status", "aria-live": "polite" });
  readonly root = h("div.hidden", { "data-export": "no" }, this.live, this.table);
  private timer = 0;
  private readonly told = new Of();

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    element.append(this.root);
  }

  /** Something else is pointed at, or drawn. */
  update(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.write(), PAUSE);
  }

  private write(): void {
    const { scene } = this;
    if (!this.told.renewed(scene.shown(), scene.state.scale, scene.state.gold, scene.focus)) return;
    const { from, to } = scene.focused;
    this.table.hidden = from === null && to === null;
    if (from === null && to === null) {
      this.live.textContent = "";
      return;
    }
    const maps = this.maps();
    const [rows, columns] = [scene.rows.items, scene.columns.items];
    const others = from !== null ? columns : rows;
    const at = (map: Shown, other: number): number =>
      value(map, from !== null ? from * map.columns + other : other * map.columns + to!);
    const strength = others.map((_, other) => Math.max(...maps.map((map) => Math.abs(at(map, other)))));
    const ranked = [...strength.keys()].sort((a, b) => strength[b]! - strength[a]!);
    const one = name(from !== null ? rows[from] : columns[to!]);
    const direction = from !== null ? `From ${one} to each token` : `From each token to ${one}`;
    this.caption.textContent = `${direction}${others.length > MOST ? `, the ${MOST} strongest of ${others.length}` : ""}`;
    this.top.replaceChildren(
      h(
        "tr",
        h("th", { scope: "col" }, "token"),
        ...maps.map((map) => h("th", { scope: "col" }, scene.name(map.head))),
      ),
    );
    const listed = ranked.slice(0, MOST).sort((a, b) => a - b);
    const cell = (map: Shown, other: number): string => {
      const found = at(map, other);
      return found === 0 && (from !== null ? scene.hides(from, other) : scene.hides(other, to!))
        ? "not seen"
        : figure(found);
    };
    this.body.replaceChildren(
      ...listed.map((other) =>
        h(
          "tr",
          h("th", { scope: "row" }, h("bdi", name(others[other]))),
          ...maps.map((map) => h("td", cell(map, other))),
        ),
      ),
    );
    const gold = scene
      .judged()
      .filter((link) => concerns(link.gold, { from, to }))
      .slice(0, SPOKEN)
      .map((link) => inWords(rows, columns, link));
    const links = gold.map(({ label, pair, verdict }) => `; gold ${label} ${pair}: ${verdict}`).join("");
    this.live.textContent =
      (from !== null && to !== null ? this.pair(maps, from, to) : this.sentence(maps, one, from !== null, others, at)) +
      links;
  }

  // Beside q and k stand the weights of one head, whatever else is drawn.
  private maps(): readonly Shown[] {
    const { scene } = this;
    if (scene.state.scale !== "neuron") return scene.shown();
    const map = scene.map(scene.state.layer, scene.head, "weights");
    return map ? [map] : [];
  }

  private pair(maps: readonly Shown[], from: number, to: number): string {
    const { scene } = this;
    const found = maps
      .slice(0, SPOKEN)
      .map((map) => `${scene.name(map.head)} ${figure(value(map, from * map.columns + to))}`);
    const hidden = scene.hides(from, to) ? ", not seen" : "";
    return `${name(scene.rows.items[from])} to ${name(scene.columns.items[to])}: ${found.join(", ")}${hidden}`;
  }

  private sentence(
    maps: readonly Shown[],
    one: string,
    looks: boolean,
    others: Scene["rows"]["items"],
    at: (map: Shown, other: number) => number,
  ): string {
    const best = (map: Shown, count: number): string =>
      [...others.keys()]
        .sort((a, b) => Math.abs(at(map, b)) - Math.abs(at(map, a)))
        .slice(0, count)
        .map((other) => `${name(others[other])} ${figure(at(map, other))}`)
        .join(", ");
    const about = looks ? "looks most at" : "is most looked at by";
    if (maps.length === 1) return `${one} ${about} ${best(maps[0]!, 3)}`;
    const rest = maps.length > SPOKEN ? `; and ${maps.length - SPOKEN} more heads` : "";
    return `${one} ${about} ${maps
      .slice(0, SPOKEN)
      .map((map) => `${best(map, 1)} in ${this.scene.name(map.head)}`)
      .join("; ")}${rest}`;
  }

  destroy(): void {
    window.clearTimeout(this.timer);
  }
}
