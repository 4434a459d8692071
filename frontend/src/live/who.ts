// Who did it: heads by what the followed number loses without each, those with the largest estimates and the open one.

import type { Effect, WhoAnswer } from "../protocol";
import { code, figure, fixed, plural } from "../scene/format";
import { h } from "../ui/dom";
import { Asking } from "./wire";

/** So many heads, by their estimates, are switched off one at a time, and so many are listed. */
const [EXACT, LISTED] = [60, 10];

interface WhoOwner {
  rank(): Promise<WhoAnswer>;
  /** What the number is that heads add to. */
  readonly of: string;
  /** Heads that are switched off and listed whatever is estimated of them. */
  named(): readonly string[];
  without(layer: number, head: number): Promise<number>;
  open(layer: number, head: number): void;
}

interface Row extends Effect {
  readonly name: string;
  readonly effect: number;
}

const magnitude = ({ effect }: Row): number => Math.abs(effect);

/** Spearman's rank correlation of estimates and effects: that of their ranks, of equal ones the mean rank. */
function agreement(rows: readonly Row[]): number {
  const ranks = (values: readonly number[]): number[] => {
    const order = [...values].sort((a, b) => a - b);
    return values.map((value) => order.indexOf(value) + order.lastIndexOf(value) - (values.length - 1));
  };
  const [a, b] = [ranks(rows.map(({ estimate }) => estimate!)), ranks(rows.map(({ effect }) => effect))];
  const sum = (one: readonly number[], other: readonly number[]): number =>
    one.reduce((total, rank, at) => total + rank * other[at]!, 0);
  return sum(a, b) / Math.sqrt(sum(a, a) * sum(b, b));
}

const ABOUT = "Which heads made this: by what it loses without each of them.";

export class WhoBox {
  readonly root = h("details.who", { "aria-label": "Who did it?" });
  private readonly asking: Asking;
  private readonly table = h("table", { hidden: true });

  constructor(private readonly owner: WhoOwner) {
    this.asking = new Asking("Rank the heads", "Rank all heads by what they add", ABOUT, "Ranking…", (going) =>
      this.run(going),
    );
    this.root.append(h("summary", h("h2", "Who did it?")), this.asking.about, this.asking.button, this.table);
  }

  /** Open, and rank the heads. */
  start(): void {
    this.root.open = true;
    this.asking.button.click();
  }

  /** The input, the changes or what is followed is another one. */
  clear(): void {
    this.asking.clear();
    this.table.replaceChildren();
    this.table.hidden = true;
  }

  // Without a gradient, as in a page, there are no estimates, and every head is switched off.
  private async run(going: () => boolean): Promise<void> {
    const { number, heads } = await this.owner.rank();
    if (!going()) return;
    const { of } = this.owner;
    const named = this.owner.named();
    const estimated = heads.every(({ estimate }) => estimate !== null);
    const every = heads.map((one) => ({ ...one, name: code(one.layer, one.head) }));
    const asked = every.filter(({ name }, place) => !estimated || place < EXACT || named.includes(name));
    const rows: Row[] = [];
    for (const one of asked) {
      const left = await this.owner.without(one.layer, one.head);
      if (!going()) return;
      rows.push({ ...one, effect: number - left });
      rows.sort((a, b) => magnitude(b) - magnitude(a));
      const done = rows.length === asked.length;
      const unmeasured = heads.length - asked.length;
      const checked = (): string =>
        `: estimates and effects of ${plural(asked.length, "head")} agree to a rank correlation of ${fixed(agreement(rows), 2)}${unmeasured > 0 ? `; ${unmeasured} with smaller estimates were not measured` : ""}.`;
      this.asking.about.textContent = `What each head adds to ${of} (now ${figure(number)})${!done ? `: ${rows.length} of ${plural(asked.length, "head")}` : estimated ? checked() : ""}`;
      this.draw(
        rows.filter(({ name }, place) => place < LISTED || named.includes(name)),
        estimated,
      );
    }
  }

  private draw(rows: readonly Row[], estimated: boolean): void {
    const most = Math.max(...rows.map(magnitude), 1e-9);
    const bar = (value: number): HTMLElement =>
      h("i", {
        class: value < 0 ? "minus" : "plus",
        style: `width:${Math.min(92, Math.round((92 * Math.abs(value)) / most))}%`,
      });
    const column = (name: string, title?: string): HTMLElement => h("th", { scope: "col", title }, name);
    this.table.hidden = false;
    this.table.replaceChildren(
      h(
        "thead",
        h(
          "tr",
          column("head"),
          column("effect", "the number, minus the number with the head switched off"),
          estimated && column("estimate", "gradient × attention, summed over its pairs"),
        ),
      ),
      h(
        "tbody",
        ...rows.map(({ layer, head, name, effect, estimate }) =>
          h(
            "tr",
            h(
              "th",
              { scope: "row" },
              h("button.word", { title: "Open this head", onclick: () => this.owner.open(layer, head) }, name),
            ),
            h("td.p", bar(effect), h("span", figure(effect))),
            estimated && h("td", figure(estimate!)),
          ),
        ),
      ),
    );
  }
}
