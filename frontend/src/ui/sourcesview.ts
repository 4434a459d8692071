// A view of the sources of an answer: its text, and below it, where there are maps, the explorer of a head that is opened.

import "./sources.css";
import type { CarrierInfo, ExplorerState, SourceInfo, SourcesPayload } from "../protocol";
import type { Store } from "../scene/data";
import { h } from "./dom";
import { Explorer } from "./explorer";
import type { ExplorerHost } from "./host";
import { Sources } from "./sources";

export class SourcesView {
  private readonly text: HTMLElement;
  private readonly below = h("div");
  private explorer: Explorer | null = null;
  private printing = false;

  constructor(
    readonly root: HTMLElement,
    private readonly payload: SourcesPayload,
    private readonly store: Store,
    private readonly host: Pick<ExplorerHost, "dark" | "save">,
  ) {
    const sources = new Sources(payload, payload.maps && { open: (head, span) => this.open(head, span) });
    this.text = h("div.hs.alone", h("h1.about", payload.title), sources.root);
    root.append(this.text, this.below);
    this.surroundings();
  }

  private open({ part, layer, head }: CarrierInfo, span: SourceInfo): void {
    const { maps, spans } = this.payload;
    // Of all spans this one is outlined.
    const label = String(spans.indexOf(span));
    const payload = {
      ...maps!,
      inputs: maps!.inputs.map((input) => ({
        ...input,
        parts: input.parts.map((each) => ({
          ...each,
          links: each.links?.filter((link) => link.label === label) ?? [],
        })),
      })),
    };
    const state: ExplorerState = {
      ...payload.state,
      part,
      layer,
      heads: [head],
      scale: "head",
      pin: ["to", span.first],
    };
    if (this.explorer) this.explorer.renew({ payload, store: this.store, state });
    else {
      const host = { ...this.host, changed: () => undefined };
      this.explorer = new Explorer(this.below, { payload, store: this.store, state }, host);
    }
    this.below.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  surroundings(): void {
    const { theme } = this.payload.state;
    this.text.dataset.theme = this.printing
      ? "light"
      : theme === "auto"
        ? this.host.dark()
          ? "dark"
          : "light"
        : theme;
    this.explorer?.surroundings();
  }

  print(on: boolean): void {
    this.printing = on;
    this.surroundings();
    this.explorer?.print(on);
  }

  key(event: KeyboardEvent): void {
    this.explorer?.key(event);
  }

  get settled(): boolean {
    return this.explorer?.settled ?? true;
  }

  destroy(): void {
    this.explorer?.destroy();
    this.root.replaceChildren();
  }
}
