// Which part made this: the input, shaded by what the followed word loses without each sentence or word of it.

import "../ui/sources.css";
import type { CarrierInfo, SourceInfo, SourcesPayload } from "../protocol";
import { Of } from "../scene/made";
import { h } from "../ui/dom";
import { Sources } from "../ui/sources";
import { Asking } from "./wire";

interface WhyOwner {
  ask(spans: string): Promise<SourcesPayload>;
  open(head: CarrierInfo, span: SourceInfo): void;
  /** Shade the text that is read as its prompt is; null: no longer. */
  shade(prompt: Element | null): void;
  /** Make a change, or take it back. */
  toggle(change: string): void;
}

/** No later token sees a span: as a change of attention. */
const struck = ({ first, last }: SourceInfo): string => `all hide >${first}${last > first ? `-${last}` : ""}`;

const ABOUT = "The text, shaded by what the answer loses without each part. Strike a part out and see.";

export class WhyBox {
  readonly root = h("details.why", { "aria-label": "Which part made this?" });
  private readonly spans = h(
    "select",
    { "aria-label": "Parts" },
    h("option", { value: "sentence" }, "sentences"),
    h("option", { value: "word" }, "words"),
  );
  private readonly asking: Asking;
  private readonly place = h("div");
  private readonly of = new Of();
  private shown: Sources | null = null;

  constructor(private readonly owner: WhyOwner) {
    this.asking = new Asking("Shade the text", null, ABOUT, "Masking each part…", (going) => this.ask(going));
    const row = h("div.row", this.spans, this.asking.button);
    this.root.append(h("summary", h("h2", "Which part made this?")), this.asking.about, row, this.place);
  }

  /** What is asked about; another one has no picture yet. */
  update(...asked: unknown[]): void {
    if (!this.of.renewed(...asked)) return;
    this.asking.clear();
    this.shown = null;
    this.place.replaceChildren();
    this.owner.shade(null);
  }

  /** The changes that are made. */
  changes(changes: readonly string[]): void {
    this.shown?.strike((span) => changes.includes(struck(span)));
  }

  private async ask(going: () => boolean): Promise<void> {
    const payload = await this.owner.ask(this.spans.value);
    if (!going()) return;
    this.shown = new Sources(payload, {
      open: (head, span) => this.owner.open(head, span),
      shaded: (prompt) => this.owner.shade(prompt),
      strike: (span) => this.owner.toggle(struck(span)),
    });
    this.asking.about.textContent = "";
    this.place.replaceChildren(this.shown.root);
  }
}
