// A model that the page carries: the picture at once, which follows when the model is unpacked.

import type { ExplorerState, Rounded, StandalonePayload } from "../../protocol";
import { Store } from "../../scene/data";
import { figure, fixed } from "../../scene/format";
import { alike } from "../../scene/made";
import type { Full } from "../../scene/state";
import { h } from "../../ui/dom";
import { fromPage } from "../../ui/embedded";
import { LabBox } from "../../ui/lab";
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
  private readonly live: Live;
  private readonly lab: LabBox | null;
  private looked: () => void = () => undefined;

  constructor(root: HTMLElement, page: StandalonePayload, { host, dark, asked, state }: Place) {
    const element = h("div");
    const { view, model } = page;
    this.lab = page.lab
      ? new LabBox(root, page.lab, {
          go: ({ text, pair }, state) => this.live.go({ text, ...(pair && { pair }) }, state),
          renew: () => this.live?.surroundings(),
        })
      : null;
    root.append(element);
    const first: Asked = { ...page.asked, chosen: null };
    const inside = new Inside(page, () => {
      root.dataset.failed = "model";
    });
    // The picture is of the text that the page was written with.
    const picture = view &&
      (!asked || alike(asked.input, first.input)) && {
        payload: view,
        store: new Store(fromPage),
        state: { ...view.state, ...state },
      };
    const changed = (now: Asked, full: Full): void => {
      host.changed(now, full);
      this.looked = () =>
        this.lab?.looked({ text: now.input.text ?? "", changes: now.changes, state: full }, element.dataset.theme);
      this.looked();
    };
    this.live = new Live(
      element,
      inside,
      { ...host, dark, changed, asks: () => this.lab?.asks ?? false },
      asked ?? first,
      state,
      { info: model.info, ...(picture && { picture }) },
    );
    this.lab?.looked({ changes: [], state: { ...view?.state, ...state } }, element.dataset.theme);
    element.append(h("p.rounding", rounding(model.rounded, model.parameters)));
  }

  /** The surroundings have become light or dark. */
  surroundings(): void {
    this.live.surroundings();
    this.looked();
  }

  update(asked: Asked, state: ExplorerState): void {
    this.live.update(asked, state);
  }

  press(event: KeyboardEvent): void {
    this.live.press(event);
  }
}
