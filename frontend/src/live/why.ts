// Which part made this: the input, shaded by what the followed word loses without each sentence or word of it.

import { reason } from "../scene/format";
import "../ui/sources.css";
import type { CarrierInfo, SourceInfo, SourcesPayload } from "../protocol";
import { Of } from "../scene/made";
import { h } from "../ui/dom";
import { Sources } from "../ui/sources";
import { StaleError } from "./wire";

interface WhyOwner {
  ask(spans: string): Promise<SourcesPayload>;
  open(head: CarrierInfo, span: SourceInfo): void;
  /** Make a change, or take it back. */
  toggle(change: string): void;
}

/** No later token sees a span: as a change of attention. */
const struck = ({ first, last }: SourceInfo): string => `all hide >${first}${last > first ? `-${last}` : ""}`;

const ABOUT = "The text, shaded by what the answer loses without each part. Strike a part out and see.";

export class WhyBox {
  readonly root = h("section.why", { "aria-label": "Which part made this?" });
  private readonly spans = h(
    "select",
    { "aria-label": "Parts" },
    h("option", { value: "sentence" }, "sentences"),
    h("option", { value: "word" }, "words"),
  );
  private readonly run: HTMLButtonElement;
  private readonly about = h("p.about");
  private readonly place = h("div");
  private readonly of = new Of();
  private shown: Sources | null = null;
  private turn = 0;

  constructor(private readonly owner: WhyOwner) {
    this.run = h("button.link", { onclick: () => void this.ask() }, "Shade the text");
    const row = h("div.row", h("h2", "Which part made this?"), this.spans, this.run);
    this.root.append(row, this.about, this.place);
    this.update();
    this.run.disabled = true; // nothing is read yet
  }

  /** What is asked about; another one has no picture yet. */
  update(...asked: unknown[]): void {
    if (!this.of.renewed(...asked)) return;
    this.turn++;
    this.shown = null;
    this.run.disabled = false;
    this.place.replaceChildren();
    this.about.textContent = ABOUT;
  }

  /** The changes that are made. */
  changes(changes: readonly string[]): void {
    this.shown?.strike((span) => changes.includes(struck(span)));
  }

  private async ask(): Promise<void> {
    const turn = ++this.turn;
    this.run.disabled = true;
    this.about.textContent = "Masking each part…";
    try {
      const payload = await this.owner.ask(this.spans.value);
      if (turn !== this.turn) return;
      this.shown = new Sources(payload, {
        open: (head, span) => this.owner.open(head, span),
        strike: (span) => this.owner.toggle(struck(span)),
      });
      this.about.textContent = "";
      this.place.replaceChildren(this.shown.root);
    } catch (error) {
      const why = reason(error);
      if (turn === this.turn) this.about.textContent = error instanceof StaleError ? ABOUT : why;
    } finally {
      if (turn === this.turn) this.run.disabled = false;
    }
  }
}
