// Which part made this: the input, shaded by what the followed word loses without each sentence or word of it.

import "../ui/sources.css";
import type { CarrierInfo, SimilarPayload, SourceInfo, SourcesPayload } from "../protocol";
import { Of } from "../scene/made";
import { h } from "../ui/dom";
import { NearView } from "../ui/nearview";
import { Sources } from "../ui/sources";
import { Asking } from "./wire";

interface WhyOwner {
  ask(spans: string): Promise<SourcesPayload | SimilarPayload>;
  dark(): boolean;
  open(head: CarrierInfo, span: SourceInfo): void;
  /** Shade the text that is read as its prompt is; null: no longer. */
  shade(prompt: Element | null): void;
  /** Make a change, or take it back. */
  toggle(change: string): void;
}

/** No later token sees a span: as a change of attention. */
const struck = ({ first, last }: SourceInfo): string => `all hide >${first}${last > first ? `-${last}` : ""}`;

const ABOUT = "The text, shaded by what the answer loses without each part. Strike a part out and see.";

const APART = "An index reads each text alone, once whole and here once without each part; positions stay.";

export class WhyBox {
  private readonly title = h("h2");
  readonly root = h("details.why", { ontoggle: () => this.follow() }, h("summary", this.title));
  private readonly spans = h(
    "select",
    { "aria-label": "Parts", onchange: () => this.again() },
    h("option", { value: "sentence" }, "sentences"),
    h("option", { value: "word" }, "words"),
  );
  private readonly asking: Asking;
  private readonly place = h("div");
  private readonly of = new Of();
  private shown: Sources | NearView | null = null;
  /** What is asked about, and what was answered. */
  private about = "";
  private answered = "";

  constructor(private readonly owner: WhyOwner) {
    this.asking = new Asking("Shade the text", null, ABOUT, "Masking each part…", (going) => this.ask(going));
    const row = h("div.row", this.spans, this.asking.button);
    this.root.append(this.asking.about, row, this.place);
  }

  /** What is asked about; another one has no picture yet. Two texts are read `apart`, as long as this is open. */
  update(apart: boolean, ...asked: unknown[]): void {
    this.about = JSON.stringify(asked);
    if (!this.of.renewed(apart, ...asked)) return this.follow();
    this.title.textContent = apart ? "Why are these two near?" : "Which part made this?";
    this.root.classList.toggle("apart", apart);
    this.spans.value = apart ? "word" : "sentence";
    this.asking.clear();
    if (!apart) {
      if (this.shown instanceof NearView) this.shown.destroy();
      this.shown = null;
      this.place.replaceChildren();
      this.owner.shade(null);
    }
    this.follow();
  }

  private again(): void {
    this.answered = "";
    this.follow();
  }

  private follow(): void {
    if (!this.root.open || !this.root.classList.contains("apart") || this.answered === this.about) return;
    this.asking.clear(); // of a text that is read no longer
    this.asking.button.click();
  }

  /** The theme has changed. */
  surroundings(): void {
    if (this.shown instanceof NearView) this.shown.surroundings();
  }

  /** The changes that are made. */
  changes(changes: readonly string[]): void {
    if (this.shown instanceof Sources) this.shown.strike((span) => changes.includes(struck(span)));
  }

  private async ask(going: () => boolean): Promise<void> {
    const { about } = this;
    const payload = await this.owner.ask(this.spans.value);
    if (!going()) return;
    this.answered = about;
    if (payload.kind === "similar") {
      if (this.shown instanceof NearView) this.shown.destroy();
      this.place.replaceChildren(h("div"));
      this.shown = new NearView(this.place.firstElementChild as HTMLElement, payload, this.owner);
      this.asking.about.textContent = APART;
      return;
    }
    this.shown = new Sources(payload, {
      open: (head, span) => this.owner.open(head, span),
      shaded: (prompt) => this.owner.shade(prompt),
      strike: (span) => this.owner.toggle(struck(span)),
    });
    this.asking.about.textContent = "";
    this.place.replaceChildren(this.shown.root);
  }
}
