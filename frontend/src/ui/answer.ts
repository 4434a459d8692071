// The sentence above the pictures: what the open head and most heads do; while a token is pointed at, what all heads make
// of it.

import { answer, type Part, pointed } from "../scene/answer";
import { alike } from "../scene/made";
import { ROUNDED } from "../scene/says";
import type { Focus, Scene } from "../scene/scene";
import { h, listen } from "./dom";

export class Answer {
  readonly root = h("p.answer", { "aria-live": "polite" });
  private said: readonly Part[] = [];

  constructor(private readonly scene: Scene) {
    // While the sentence is pointed at, the picture shows the link that it tells.
    listen(this.root, {
      pointerenter: () => scene.owner.follow(scene, this.link),
      pointerleave: () => scene.owner.follow(scene, null),
    });
  }

  private get link(): Focus | null {
    const { scene } = this;
    const place = (side: "from" | "to"): number | null => {
      const part = this.said.find((each) => typeof each !== "string" && "side" in each && each.side === side);
      const start = part && typeof part !== "string" && "start" in part ? part.start : -1;
      return scene.tokens(side).of[start] ?? null;
    };
    const [from, to] = [place("from"), place("to")];
    return scene.pointed || (from === null && to === null) ? null : { from, to };
  }

  update(): void {
    const { scene, root } = this;
    const ranked = scene.lacking ? [] : pointed(scene);
    const told = ranked.length > 0 || scene.lacking ? ranked : answer(scene);
    const { rounded, begins } = scene.owner.host;
    const begun = begins && told.length > 0 && ranked.length === 0 ? [begins, ...told] : told;
    const ends = told.at(-1) === "." ? ["."] : [];
    const parts =
      told.length > 0 && rounded ? [...begun.slice(0, begun.length - ends.length), ` (${ROUNDED})`, ...ends] : begun;
    // Its room stays while another sentence, or none, stands in it: nothing moves under what points.
    root.hidden = scene.lacking !== null;
    if (alike(parts, this.said)) return;
    this.said = parts;
    root.replaceChildren(...parts.map((part) => this.shown(part, ranked.length > 0)));
  }

  // At rest the sentence is text; of what is pointed at tokens can be pinned.
  private shown(part: Part, asked: boolean): Node | string {
    const { scene } = this;
    const { owner } = scene;
    if (typeof part === "string") return part;
    if ("named" in part) return h("b", part.named);
    if ("head" in part) {
      const [layer, head] = part.head;
      return h("button.link", { onclick: () => owner.open(layer, head, false) }, `L${layer}H${head}`);
    }
    const { token, side, start } = part;
    const place = scene.tokens(side).of[start] ?? -1;
    const name = h("bdi", token);
    if (!asked || place < 0) return h("b", name);
    const pin = (): void => owner.pin(scene, side, place);
    return h("button.token", { "aria-label": `pin ${token}`, onclick: pin }, name);
  }
}
