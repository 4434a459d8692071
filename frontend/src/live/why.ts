// Which part made this: the input, shaded by what the followed word loses without each sentence or word of it.

import "../ui/sources.css";
import type { CarrierInfo, SourcesPayload } from "../protocol";
import { Of } from "../scene/made";
import { h } from "../ui/dom";
import { Sources } from "../ui/sources";
import { Asking } from "./wire";

interface WhyOwner {
  ask(spans: string): Promise<SourcesPayload>;
  /** Open a head where a token is outlined. */
  open(head: CarrierInfo, first: number): void;
  /** Shade the text that is read as its prompt is; null: no longer. */
  shade(prompt: Element | null): void;
  /** Make a change, or take it back. */
  toggle(change: string): void;
}

const ABOUT =
  "The text, shaded by what the answer loses without each part. Strike a part out, or have it looked at twice as much.";

/** Its own place in a page, beside what the model says. */
export class WhyBox {
  readonly root = h("details.why");
  private readonly spans = h(
    "select",
    { "aria-label": "Parts" },
    h("option", { value: "sentence" }, "sentences"),
    h("option", { value: "word" }, "words"),
  );
  private readonly shading: Asking;
  private readonly place = h("div");
  private readonly of = new Of();
  private shown: Sources | null = null;

  constructor(private readonly owner: WhyOwner) {
    this.shading = new Asking("Shade the text", null, ABOUT, "Masking each part…", (going) => this.ask(going));
    const { button, about } = this.shading;
    this.root.append(
      h("summary", h("h2", "Which part made this?")),
      h("div.row", this.spans, button, about),
      this.place,
    );
  }

  /** What is asked about; another one has no picture yet. */
  update(...asked: unknown[]): void {
    if (!this.of.renewed(...asked)) return;
    this.shading.clear();
    this.shown = null;
    this.place.replaceChildren();
    this.owner.shade(null);
  }

  /** The changes that are made. */
  changes(changes: readonly string[]): void {
    this.shown?.made(changes);
  }

  private async ask(going: () => boolean): Promise<void> {
    const payload = await this.owner.ask(this.spans.value);
    if (!going()) return;
    this.shading.about.textContent = "";
    this.shown = new Sources(payload, {
      open: (head, { first }) => this.owner.open(head, first),
      shaded: (prompt) => this.owner.shade(prompt),
      toggle: (change) => this.owner.toggle(change),
    });
    this.place.replaceChildren(this.shown.root);
  }
}
