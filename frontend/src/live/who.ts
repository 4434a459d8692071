// Who did it: heads by what they add to the followed number, estimated at once, exact for the first ones as it comes
// in.

import type { WhoAnswer } from "../protocol";
import { code, figure } from "../scene/format";
import { h } from "../ui/dom";
import { Asking } from "./wire";

/** So many heads are taken out one at a time. */
const EXACT = 10;

interface WhoOwner {
  rank(): Promise<WhoAnswer>;
  /** What the number is that heads add to. */
  readonly of: string;
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
  private readonly asking: Asking;
  private readonly table = h("table", { hidden: true });

  constructor(private readonly owner: WhoOwner) {
    this.asking = new Asking("Rank the heads", "Rank all heads by what they add", ABOUT, "Ranking…", (going) =>
      this.run(going),
    );
    const row = h("div.row", h("h2", "Who did it?"), h("span.grow"), this.asking.button);
    this.root.append(row, this.asking.about, this.table);
  }

  /** The input, the changes or what is followed is another one. */
  clear(): void {
    this.asking.clear();
    this.table.replaceChildren();
    this.table.hidden = true;
  }

  private async run(going: () => boolean): Promise<void> {
    const answer = await this.owner.rank();
    if (!going()) return;
    const estimated = answer.heads.every(({ estimate }) => estimate !== null);
    await (estimated ? this.estimated(answer, going) : this.oneByOne(answer, going));
  }

  // By gradient × attention at once, the first ones exactly as it comes in.
  private async estimated({ number, heads }: WhoAnswer, going: () => boolean): Promise<void> {
    this.asking.about.textContent = `What each head adds to ${this.owner.of} (now ${figure(number)})`;
    const top = heads.slice(0, EXACT).map(({ layer, head, estimate }) => ({ layer, head, value: estimate ?? 0 }));
    const cells = top.map(() => h("td.exact", "…"));
    this.draw(top, cells);
    for (const [place, { layer, head }] of top.entries()) {
      const left = await this.owner.without(layer, head);
      if (!going()) return;
      cells[place]!.textContent = figure(number - left);
    }
  }

  // Without a gradient every head is switched off, one after the other.
  private async oneByOne({ number, heads }: WhoAnswer, going: () => boolean): Promise<void> {
    const known: Row[] = [];
    for (const [place, { layer, head }] of heads.entries()) {
      const left = await this.owner.without(layer, head);
      if (!going()) return;
      known.push({ layer, head, value: number - left });
      known.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
      const done = place + 1 === heads.length;
      this.asking.about.textContent = `What each head adds to ${this.owner.of} (now ${figure(number)})${done ? "" : `: ${place + 1} of ${heads.length} heads`}`;
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
