// Which part made this: the input, shaded by what the followed word loses without each sentence or word of it; of two
// texts read apart the words that make them near.

import "../ui/sources.css";
import { pairSays } from "../draw/near";
import type { CarrierInfo, SimilarPayload, SourcesPayload } from "../protocol";
import { reason } from "../scene/format";
import { Of } from "../scene/made";
import { h } from "../ui/dom";
import { NearView } from "../ui/nearview";
import { Sources } from "../ui/sources";
import { Asking, StaleError } from "./wire";

interface WhyOwner {
  ask(spans: string, heads?: boolean): Promise<SourcesPayload | SimilarPayload>;
  dark(): boolean;
  /** Open a head where a token is outlined, of the first input or another. */
  open(head: CarrierInfo, first: number, input?: number): void;
  /** Say why two texts are near. */
  says(text: string): void;
  /** Shade the text that is read as its prompt is; null: no longer. */
  shade(prompt: Element | null): void;
  /** Make a change, or take it back. */
  toggle(change: string): void;
}

const ABOUT =
  "The text, shaded by what the answer loses without each part. Strike a part out, or have it looked at twice as much.";

const CARRY = "The heads through which the two words that matter most reach the vector of their text";

/** Its own place in a page: of one input beside what the model says, of two texts where the pictures are. */
export class WhyBox {
  readonly root = h("details.why");
  private readonly spans = h(
    "select",
    { "aria-label": "Parts", onchange: () => this.follow() },
    h("option", { value: "sentence" }, "sentences"),
    h("option", { value: "word" }, "words"),
  );
  private readonly shading: Asking;
  private readonly carriers: Asking;
  private readonly row = h("div.row");
  private readonly place = h("div");
  private readonly of = new Of();
  private shown: Sources | NearView | null = null;
  private apart = false;
  private turn = 0;

  constructor(private readonly owner: WhyOwner) {
    this.shading = new Asking("Shade the text", null, ABOUT, "Masking each part…", (going) => this.ask(going, false));
    this.carriers = new Asking("Through which heads?", CARRY, "", "Hiding words…", (going) => this.ask(going, true));
    const title = h("summary", h("h2", "Which part made this?"));
    this.root.append(title, this.row, this.place);
    this.among();
  }

  /** What is asked about; another one has no picture yet. Of two texts read `apart` it follows. */
  update(apart: boolean, ...asked: unknown[]): void {
    if (!this.of.renewed(apart, ...asked)) return;
    this.turn++;
    this.shading.clear();
    this.carriers.clear();
    if (apart !== this.apart) {
      this.apart = apart;
      this.among();
    }
    if (apart) return this.follow();
    this.none();
    this.owner.shade(null);
  }

  // What can be asked.
  private among(): void {
    this.spans.value = this.apart ? "word" : "sentence";
    const asking = this.apart ? this.carriers : this.shading;
    this.row.replaceChildren(this.spans, asking.button, asking.about);
  }

  private none(...elements: HTMLElement[]): void {
    if (this.shown instanceof NearView) this.shown.destroy();
    this.shown = null;
    this.place.replaceChildren(...elements);
  }

  private follow(): void {
    if (!this.apart) return;
    const turn = ++this.turn;
    this.ask(() => turn === this.turn, false).catch((error: unknown) => {
      if (turn === this.turn && !(error instanceof StaleError)) this.carriers.about.textContent = reason(error);
    });
  }

  /** The theme has changed. */
  surroundings(): void {
    if (this.shown instanceof NearView) this.shown.surroundings();
  }

  /** The changes that are made. */
  changes(changes: readonly string[]): void {
    if (this.shown instanceof Sources) this.shown.made(changes);
  }

  private async ask(going: () => boolean, heads: boolean): Promise<void> {
    const payload = await this.owner.ask(this.spans.value, heads);
    if (!going()) return;
    this.shading.about.textContent = this.carriers.about.textContent = "";
    if (payload.kind === "similar") {
      const root = h("div");
      const before = this.shown instanceof NearView ? this.shown.state : payload.state;
      this.none(root);
      this.owner.says(pairSays(payload.pairs[0]!));
      this.shown = new NearView(root, payload, this.owner, before);
      return;
    }
    this.shown = new Sources(payload, {
      open: (head, { first }) => this.owner.open(head, first),
      shaded: (prompt) => this.owner.shade(prompt),
      toggle: (change) => this.owner.toggle(change),
    });
    this.place.replaceChildren(this.shown.root);
  }
}
