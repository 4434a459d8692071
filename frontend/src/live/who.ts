// Who did it: heads by what they add to the followed number, estimated at once, exact for the first ones as it comes
// in.

import type { WhoAnswer } from "../protocol";
import { code, figure, reason } from "../scene/format";
import { h } from "../ui/dom";
import { StaleError } from "./wire";

/** So many heads are taken out one at a time. */
const EXACT = 10;

interface WhoOwner {
  rank(): Promise<WhoAnswer>;
  without(layer: number, head: number): Promise<number>;
  open(layer: number, head: number): void;
}

interface Row {
  readonly layer: number;
  readonly head: number;
  readonly value: number;
}

const ABOUT = "Which heads made this: by what it loses without each of them.";

export class WhoBox {
  readonly root = h("section.who", { "aria-label": "Who did it?" });
  private readonly rank: HTMLButtonElement;
  private readonly about = h("p.about");
  private readonly table = h("table");
  private turn = 0;

  constructor(private readonly owner: WhoOwner) {
    this.rank = h(
      "button.link",
      { title: "Rank all heads by what they add", onclick: () => void this.run() },
      "Rank the heads",
    );
    this.root.append(h("div.row", h("h2", "Who did it?"), h("span.grow"), this.rank), this.about, this.table);
    this.clear();
    this.rank.disabled = true; // nothing is read yet
  }

  /** The input, the changes or what is followed is another one. */
  clear(): void {
    this.turn++;
    this.table.replaceChildren();
    this.table.hidden = true;
    this.rank.disabled = false;
    this.about.textContent = ABOUT;
  }

  private async run(): Promise<void> {
    const turn = ++this.turn;
    this.rank.disabled = true;
    this.about.textContent = "Ranking…";
    try {
      const answer = await this.owner.rank();
      if (turn !== this.turn) return;
      const estimated = answer.heads.every(({ estimate }) => estimate !== null);
      await (estimated ? this.estimated(answer, turn) : this.oneByOne(answer, turn));
    } catch (error) {
      const why = reason(error);
      if (turn === this.turn) this.about.textContent = error instanceof StaleError ? ABOUT : why;
    } finally {
      if (turn === this.turn) this.rank.disabled = false;
    }
  }

  // By gradient × attention at once, the first ones exactly as it comes in.
  private async estimated({ of, number, heads }: WhoAnswer, turn: number): Promise<void> {
    this.about.textContent = `What each head adds to ${of} (now ${figure(number)})`;
    const top = heads.slice(0, EXACT).map(({ layer, head, estimate }) => ({ layer, head, value: estimate ?? 0 }));
    const cells = top.map(() => h("td.exact", "…"));
    this.draw(top, cells);
    for (const [place, { layer, head }] of top.entries()) {
      const left = await this.owner.without(layer, head);
      if (turn !== this.turn) return;
      cells[place]!.textContent = figure(number - left);
    }
  }

  // Without a gradient every head is switched off, one after the other.
  private async oneByOne({ of, number, heads }: WhoAnswer, turn: number): Promise<void> {
    const known: Row[] = [];
    for (const [place, { layer, head }] of heads.entries()) {
      const left = await this.owner.without(layer, head);
      if (turn !== this.turn) return;
      known.push({ layer, head, value: number - left });
      known.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
      const done = place + 1 === heads.length;
      this.about.textContent = `What each head adds to ${of} (now ${figure(number)})${done ? "" : `: ${place + 1} of ${heads.length} heads`}`;
      this.draw(known.slice(0, EXACT), null);
    }
  }

  /** Heads with what they add, and beside an estimate the cells of what is exact. */
  private draw(rows: readonly Row[], exact: readonly HTMLElement[] | null): void {
    const most = Math.max(...rows.map(({ value }) => Math.abs(value)), 1e-9);
    const bar = (value: number): HTMLElement =>
      h("i", {
        class: value < 0 ? "minus" : "plus",
        style: `width:${Math.min(92, Math.round((92 * Math.abs(value)) / most))}%`,
      });
    const estimate = h("th", { scope: "col", title: "gradient × attention, summed over its pairs" }, "estimate");
    const taken = h("th", { scope: "col", title: "the number, minus the number with the head switched off" }, "exact");
    this.table.hidden = false;
    this.table.replaceChildren(
      h("thead", h("tr", h("th", { scope: "col" }, "head"), ...(exact ? [estimate, taken] : [taken]))),
      h(
        "tbody",
        ...rows.map(({ layer, head, value }, place) =>
          h(
            "tr",
            h(
              "th",
              { scope: "row" },
              h(
                "button.word",
                { title: "Open this head", onclick: () => this.owner.open(layer, head) },
                code(layer, head),
              ),
            ),
            h("td.p", bar(value), h("span", figure(value))),
            ...(exact ? [exact[place]!] : []),
          ),
        ),
      ),
    );
  }
}
