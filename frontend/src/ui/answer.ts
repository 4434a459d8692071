// The sentence above the pictures: what the open head and most heads do; while a token is pointed at, what all heads make
// of it.

import { answer, type Part, pointed } from "../scene/answer";
import { alike } from "../scene/made";
import { ROUNDED } from "../scene/says";
import type { Scene } from "../scene/scene";
import { h } from "./dom";

export class Answer {
  readonly root = h("p.answer", { "aria-live": "polite" });
  private said: readonly Part[] = [];

  constructor(private readonly scene: Scene) {}

  update(): void {
    const { scene, root } = this;
    const ranked = scene.lacking ? [] : pointed(scene);
    const told = ranked.length > 0 || scene.lacking ? ranked : answer(scene);
    const parts = told.length > 0 && scene.owner.host.rounded ? [...told, ` (${ROUNDED})`] : told;
    // Its room stays while another sentence, or none, stands in it: nothing moves under what points.
    root.hidden = scene.lacking !== null || scene.state.scale === "neuron";
    if (alike(parts, this.said)) return;
    this.said = parts;
    root.replaceChildren(...parts.map((part) => this.shown(part)));
  }

  private shown(part: Part): Node | string {
    const { scene } = this;
    const { owner } = scene;
    if (typeof part === "string") return part;
    if ("head" in part) {
      const [layer, head] = part.head;
      return h("button.link", { type: "button", onclick: () => owner.open(layer, head, false) }, `L${layer}H${head}`);
    }
    const { token, side, start } = part;
    const place = (side === "from" ? scene.rows : scene.columns).of[start] ?? -1;
    const name = h("bdi", {}, token);
    const pin = (): void => owner.pin(scene, side, place);
    return place < 0 ? name : h("button.token", { type: "button", title: "Pin this token", onclick: pin }, name);
  }
}
