// A model that the page carries: the picture at once, and when the model is unpacked, type and look in its place.

import type { ExplorerState, Rounded, StandalonePayload } from "../../protocol";
import { Store } from "../../scene/data";
import { figure, fixed } from "../../scene/format";
import { h } from "../../ui/dom";
import { fromPage } from "../../ui/embedded";
import { Explorer, type ExplorerHost } from "../../ui/explorer";
import { download } from "../../ui/save";
import type { Asked } from "../asked";
import { Live, type LiveHost } from "../live";
import { Inside } from "./inside";

export interface Place {
  readonly host: Pick<LiveHost, "changed" | "address">;
  dark(): boolean;
  /** What the address asks; null: what the page begins with. */
  readonly asked: Asked | null;
  readonly state: ExplorerState;
}

/** What the page's weights do to the maps, in a sentence. */
export function rounding({ kind, largest, mean, same, texts }: Rounded, parameters: number): string {
  const size = `This page holds the model: ${fixed(parameters / 1e6, 1)} million weights`;
  if (kind === "float32") return `${size}, as they are.`;
  return `${size}, rounded to ${kind}. Beside float32 its attention weights differ by at most ${figure(largest)}, on average by ${figure(mean)}; in ${fixed(100 * same, 1)} % of the rows the largest stays the largest (${texts} texts).`;
}

export class Mounted {
  private readonly element = h("div");
  private readonly word = h("p.lost", { role: "status" });
  private live: Live | null = null;
  private readonly explorer: Explorer | null = null;

  constructor(
    private readonly root: HTMLElement,
    private readonly page: StandalonePayload,
    private readonly place: Place,
  ) {
    const { view } = page;
    const inner = h("div");
    this.word.hidden = true;
    this.element.append(this.word, inner);
    this.element.className = "hs live";
    root.append(this.element);
    if (view) {
      const host: ExplorerHost = { changed: () => undefined, dark: place.dark, save: download };
      this.element.prepend(h("h1.hidden", {}, document.title));
      this.explorer = new Explorer(
        inner,
        { payload: view, store: new Store(fromPage), state: { ...view.state, ...place.state } },
        host,
      );
    }
    this.theme();
  }

  /** Unpack the model; where this browser cannot run it the picture stays, and the page says why. */
  async start(): Promise<void> {
    this.say("Unpacking the model…");
    try {
      const inside = await Inside.start(this.page, (share) =>
        this.say(`Unpacking the model… ${Math.round(100 * share)} %`),
      );
      this.begin(inside);
    } catch (error) {
      this.say(
        `The model in this page cannot run here: ${error instanceof Error ? error.message : String(error)}.${this.explorer ? " The picture below is of the text that the page was written with." : ""}`,
      );
      this.root.dataset.failed = "model";
    }
  }

  /** The surroundings have become light or dark. */
  surroundings(): void {
    if (this.live) this.live.surroundings();
    else this.explorer?.surroundings();
    this.theme();
  }

  update(asked: Asked, state: ExplorerState): void {
    this.live?.update(asked, state);
  }

  private begin(inside: Inside): void {
    const { page, place } = this;
    // The picture was of one input; changes make two of it.
    const state: ExplorerState = place.asked || !this.explorer ? place.state : { ...this.explorer.state };
    if (!place.asked) for (const name of ["side", "input"] as const) delete state[name];
    this.explorer?.destroy();
    this.element.remove();
    const element = h("div");
    this.root.append(element);
    const asked = place.asked ?? { ...page.asked, chosen: null };
    this.live = new Live(element, inside, { ...place.host, dark: place.dark }, asked, state);
    element.append(h("p.rounding", {}, rounding(page.model.rounded, page.model.parameters)));
  }

  private say(text: string): void {
    this.word.hidden = false;
    this.word.textContent = text;
  }

  private theme(): void {
    const theme = this.explorer?.state.theme ?? "auto";
    this.element.dataset.theme = theme === "auto" ? (this.place.dark() ? "dark" : "light") : theme;
  }
}
