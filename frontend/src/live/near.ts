// Why two texts are near that are read apart: the picture, what can be asked of it, and words that are struck out.

import { pairSays } from "../draw/near";
import type { CarrierInfo, NearAnswer } from "../protocol";
import { reason, shortened } from "../scene/format";
import { h } from "../ui/dom";
import { NearView } from "../ui/nearview";
import { having, went } from "./story";
import { Asking, StaleError } from "./wire";

interface NearOwner {
  /** Read the texts again, cut otherwise. */
  ask(): void;
  /** Through which heads the words that matter most reach the vectors. */
  heads(): Promise<void>;
  /** How near the texts are without some words of A and of B, which are hidden or deleted. */
  without(struck: readonly number[][], del: boolean): Promise<number>;
  dark(): boolean;
  /** Open a head where a token is outlined, of an input. */
  open(head: CarrierInfo, first: number, input: number): void;
  /** Tell something, which can be taken back. */
  says(text: string, undo?: () => void): void;
  /** Take all changes back. */
  takeBack(): void;
}

const CARRY = "The heads through which the two words that matter most reach the vector of their text";
const STRIKE =
  "Press words to strike them out. Hidden: no other token sees them, and they are not pooled. Deleted: the text is read as if they had not been written.";

const choice = (values: readonly string[], names: readonly string[], onchange: () => void) =>
  h("select", { onchange }, ...values.map((value, at) => h("option", { value }, names[at]!)));

const field = (label: string, select: HTMLElement, title?: string) =>
  h("label.field", { title: title ?? null }, h("span.cap", label), select);

export class NearBox {
  readonly root = h("section.nearness", { "aria-label": "Why are these two texts near?" });
  private readonly spans = choice(["word", "sentence"], ["words", "sentences"], () => this.owner.ask());
  private readonly how = choice(["hidden", "deleted"], ["hidden", "deleted"], () => this.strike());
  private readonly carriers: Asking;
  private view: NearView | null = null;
  private answer: NearAnswer | null = null;
  private kind = "";
  private turn = 0;

  constructor(private readonly owner: NearOwner) {
    this.carriers = new Asking("Through which heads?", CARRY, "", "Hiding words…", () => this.owner.heads());
  }

  /** What texts are cut into. */
  get units(): string {
    return this.spans.value;
  }

  /** Null: it cannot be told. `kind` is how near two vectors are, by name. */
  show(answer: NearAnswer | null, kind: string): void {
    [this.answer, this.kind] = [answer, kind];
    this.carriers.clear();
    this.root.hidden = !answer;
    if (!answer) return;
    if (this.view) this.view.update(answer.sources);
    else {
      const { button, about } = this.carriers;
      this.view = new NearView(this.root, answer.sources, {
        dark: this.owner.dark,
        open: this.owner.open,
        struck: () => this.strike(),
        controls: [field("Parts", this.spans), field("Struck words are", this.how, STRIKE), button, about],
      });
    }
    this.strike();
  }

  /** The theme has changed. */
  surroundings(): void {
    this.view?.surroundings();
  }

  // Without all words that are struck out.
  private strike(): void {
    const turn = ++this.turn;
    const { kind, owner } = this;
    const { before, changes, sources } = this.answer!;
    const pair = sources.pairs[0]!;
    const { struck } = this.view!;
    if (struck.length === 0) {
      if (before === null) return owner.says(pairSays(pair));
      return owner.says(went(having(changes, null), kind, before, pair.similarity!), () => owner.takeBack());
    }
    const names = struck.map(([side, place]) => `“${shortened(pair.units[side!]![place!]!.text, 24)}”`);
    const listed = new Intl.ListFormat("en").format(names);
    const del = this.how.value === "deleted";
    const undo = (): void => this.view!.strike([]);
    const of = (side: number): number[] =>
      struck.flatMap(([at, place]) => {
        const { first, last } = pair.units[at!]![place!]!;
        return at === side ? Array.from({ length: last - first + 1 }, (_, n) => first + n) : [];
      });
    owner.without([of(0), of(1)], del).then(
      (number) => {
        const how = del ? `With ${listed} deleted` : `Without ${listed}`;
        if (turn === this.turn) owner.says(went(how, kind, pair.similarity!, number), undo);
      },
      (error) => {
        if (turn === this.turn && !(error instanceof StaleError)) owner.says(`${reason(error)}.`, undo);
      },
    );
  }
}
