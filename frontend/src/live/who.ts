// Who did it: heads by what they add to the followed number, estimated at once, exact for the first ones as it comes in.

import { h } from "../dom";
import { code, figure } from "../format";
import type { WhoAnswer } from "../protocol";
import { StaleError } from "./wire";

/** So many heads are taken out one at a time. */
const EXACT = 10;

export interface WhoOwner {
  rank(): Promise<WhoAnswer>;
  without(layer: number, head: number): Promise<number>;
  open(layer: number, head: number): void;
}

export class WhoBox {
  readonly root = h("section.who", { "aria-label": "Who did it?" });
  private readonly rank: HTMLButtonElement;
  private readonly about = h("p.about");
  private readonly table = h("table");
  private turn = 0;

  constructor(private readonly owner: WhoOwner) {
    this.rank = h("button.link", { type: "button", title: "Rank all heads by what they add", onclick: () => void this.run() }, "Rank the heads");
    this.root.append(h("div.row", {}, h("h2", {}, "Who did it?"), h("span.grow"), this.rank), this.about, this.table);
    this.clear();
  }

  /** The input, the changes or what is followed is another one. */
  clear(): void {
    this.turn++;
    this.table.replaceChildren();
    this.table.hidden = true;
    this.rank.disabled = false;
    this.about.textContent = "Which heads made this: by gradient × attention, then by switching each of the first ones off.";
  }

  private async run(): Promise<void> {
    const turn = ++this.turn;
    this.rank.disabled = true;
    this.about.textContent = "Taking the gradient…";
    try {
      const { of, number, heads } = await this.owner.rank();
      if (turn !== this.turn) return;
      this.about.textContent = `What each head adds to ${of} (now ${figure(number)})`;
      const top = heads.slice(0, EXACT);
      const most = Math.max(...top.map(({ estimate }) => Math.abs(estimate)), 1e-9);
      const cells = top.map(() => h("td.exact", {}, "…"));
      const bar = (value: number): HTMLElement => h("i", { class: value < 0 ? "minus" : "plus", style: `width:${Math.min(92, Math.round((92 * Math.abs(value)) / most))}%` });
      this.table.hidden = false;
      this.table.replaceChildren(
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "head"), h("th", { scope: "col", title: "gradient × attention, summed over its pairs" }, "estimate"), h("th", { scope: "col", title: "the number, minus the number with the head switched off" }, "exact"))),
        h("tbody", {}, ...top.map(({ layer, head, estimate }, place) => h("tr", {}, h("th", { scope: "row" }, h("button.word", { type: "button", title: "Open this head", onclick: () => this.owner.open(layer, head) }, code(layer, head))), h("td.p", {}, bar(estimate), h("span", {}, figure(estimate))), cells[place]!))),
      );
      for (const [place, { layer, head }] of top.entries()) {
        const left = await this.owner.without(layer, head);
        if (turn !== this.turn) return;
        cells[place]!.textContent = figure(number - left);
      }
    } catch (error) {
      if (turn !== this.turn || error instanceof StaleError) return;
      this.about.textContent = error instanceof Error ? error.message : String(error);
    } finally {
      if (turn === this.turn) this.rank.disabled = false;
    }
  }
}
