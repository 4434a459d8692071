// The sentence above the pictures: what the open head and most heads do.

import { answer, type Part } from "../scene/answer";
import type { Scene } from "../scene/scene";
import { h } from "./dom";

export class Answer {
  readonly root = h("p.answer", { "aria-live": "polite" });

  constructor(private readonly scene: Scene) {}

  update(): void {
    const parts = answer(this.scene);
    this.root.hidden = parts.length === 0;
    this.root.replaceChildren(...parts.map((part) => this.shown(part)));
  }

  private shown(part: Part): Node | string {
    if (typeof part === "string") return part;
    if ("token" in part) return h("em", {}, h("bdi", {}, part.token));
    const [layer, head] = part.head;
    return h(
      "button.link",
      { type: "button", onclick: () => this.scene.owner.open(layer, head, false) },
      `L${layer}H${head}`,
    );
  }
}
