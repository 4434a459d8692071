// Tokens that are searched for: marked on both sides, one after another chosen.

import { find } from "../scene/axis";
import type { Full } from "../scene/state";
import type { Pane } from "./panes";

export class Finding {
  private found = -1;
  private wanted = "";

  /** Mark the tokens of a text and choose the `next` one; false where there is none. */
  find(panes: readonly Pane[], text: string, next: boolean, set: (change: Partial<Full>) => void): boolean {
    let somewhere = false;
    for (const { scene, pictures } of panes) {
      const [from, to] = [find(scene.rows, text), find(scene.columns, text)];
      somewhere ||= from.length + to.length > 0;
      if (scene.lacking) continue;
      const { lines } = pictures;
      const { scale, picture } = scene.state;
      lines.hits(from, to);
      if (text !== this.wanted) this.found = -1;
      this.wanted = text;
      const all = [...from.map((place) => ["from", place] as const), ...to.map((place) => ["to", place] as const)];
      if (all.length === 0 || scale === "model") continue;
      if (next) this.found = (this.found + 1) % all.length;
      const [side, place] = all[Math.max(0, this.found)]!;
      if (scale === "head" && picture === "lines") lines.reveal(side, place);
      const item = scene.tokens(side).items[place];
      if (next && item) set({ pin: [side, item.start], between: null });
      lines.hits(from, to);
    }
    return somewhere;
  }
}
