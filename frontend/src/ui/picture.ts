// A head on the picture that its tokens are areas of: where a query looks, which queries look at a key, every layer,
// rollout.

import type { PictureInfo } from "../protocol";
import { nounOf } from "../scene/areas";
import {
  aboutRollout,
  boardLayout,
  boards,
  type Look,
  looking,
  lookOf,
  rolled,
  rollout,
  says,
  whoLooks,
} from "../scene/onpicture";
import { type Asked, missing, mixed } from "../scene/rows";
import type { Scene } from "../scene/scene";
import type { Heeds } from "../scene/state";
import { Board, type Choice } from "./board";
import { type Control, controls } from "./controls";
import { h } from "./dom";
import { OnPhoto } from "./onphoto";
import { LayerStrip } from "./strip";

/** What can be done. */
const HINT = "Click a patch or a token to see where it looks; click on the right to see what looks there.";

export class HeadPicture extends OnPhoto {
  static readonly heeds = {
    focus: [...OnPhoto.looks, "queries", "rollout", ...LayerStrip.heeds],
  } as const satisfies Heeds;
  private readonly boards: readonly [Board, Board];
  private readonly rolled: Board;
  private readonly row: HTMLElement;
  private readonly source = h("div.sub.about");
  private readonly rollout: Control;
  private readonly unrolled = h("span.dim");
  readonly root = h("div.hp", { role: "group" });

  constructor(element: HTMLElement, scene: Scene) {
    super(scene);
    this.boards = [new Board(scene, "from"), new Board(scene, "to")];
    this.rolled = new Board(scene, "to", true);
    this.rolled.root.classList.add("rolled");
    this.row = h("div.boards", this.boards[0].root, this.boards[1].root, this.rolled.root);
    this.rollout = controls(scene.owner.set, {
      rollout: {
        label: "Rollout",
        title: "Attention rollout up to this layer, beside the head",
        when(scene) {
          const { offered, why } = rollout(scene);
          return offered || Boolean(why);
        },
        choice(scene) {
          const { offered, why } = rollout(scene);
          return offered ? null : why;
        },
      },
    }).rollout;
    this.root.append(
      this.looks(this.rollout.root, this.unrolled),
      this.row,
      this.caption,
      this.source,
      this.several,
      this.strip.root,
    );
    element.append(this.root);
  }

  update(width: number): void {
    if (this.take(width, `on ${nounOf(this.scene.input.picture)}`)) this.paint();
  }

  protected paint(): void {
    const { scene } = this;
    const { part } = scene;
    const shown = this.shown();
    const found = shown && looking(scene);
    if (!found) return;
    const { picture, image } = shown;
    const { who } = found;
    const rolls = this.rolls();
    const { each, stacked } = boardLayout(part, picture, this.width, rolls);
    this.row.classList.toggle("stacked", stacked);
    const look = lookOf(scene, found.maps);
    const [left, right] = this.boards;
    left.canvas.hidden = !part.query.boxes;
    right.canvas.hidden = !part.key.boxes;
    const [from, to] = boards(scene, found);
    left.draw(picture, image, each, look, from, this.choices(who));
    right.draw(picture, image, each, look, to);
    if (rolls) this.roll(picture, image, each, { ...look, signed: scene.against !== null }, who);
    this.many(found, { from: typeof who === "number" ? who : null, to: null }, picture, image, look);
    const { said, quiet } = says(scene, found);
    this.caption.textContent = [said, quiet && HINT].filter(Boolean).join(" ");
    this.strip.update(picture, image, this.width, look, who, whoLooks(scene, who));
  }

  // Whether rollout is drawn; where there is none, why.
  private rolls(): boolean {
    const { offered, on, why } = rollout(this.scene);
    this.rollout.show(this.scene);
    this.unrolled.textContent = !offered && why ? `no rollout: ${why}` : "";
    this.rolled.root.hidden = this.source.hidden = !on;
    return on;
  }

  private roll(picture: PictureInfo, image: HTMLImageElement, width: number, look: Look, who: Asked): void {
    const { scene } = this;
    const wanted = missing(scene, scene.state.layer, "rollout");
    if (wanted.length > 0)
      void Promise.all(wanted).then(
        () => this.paint(),
        (error: unknown) => scene.owner.fail(error),
      );
    this.rolled.draw(picture, image, width, look, rolled(scene, who));
    this.source.textContent = aboutRollout(scene, who);
  }

  private choices(who: Asked): Choice[] {
    const { owner } = this.scene;
    const some = mixed(this.scene);
    const choice = (queries: "all" | "patches", text: string, title: string): Choice => ({
      text,
      title,
      on: who === queries,
      choose: () => owner.set({ queries, pin: null, between: null }),
    });
    if (!some) return [choice("all", "mean of all", "The mean over all queries")];
    return [
      choice("all", "mean of all", "The mean over all queries: patches and other tokens"),
      choice("patches", "mean of patches", "The mean over the patches alone"),
    ];
  }
}
