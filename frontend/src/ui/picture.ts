// A head on the picture that its tokens are areas of: where a query looks, which queries look at a key, every layer,
// rollout.

import type { PictureInfo } from "../protocol";
import { Of } from "../scene/made";
import {
  aboutRollout,
  boardLayout,
  boards,
  type Look,
  type Looking,
  looking,
  lookOf,
  rolled,
  rollout,
  says,
  small,
  smallLayout,
  whoLooks,
} from "../scene/onpicture";
import { type Asked, missing, mixed } from "../scene/rows";
import type { Scene } from "../scene/scene";
import type { Heeds } from "../scene/state";
import { Board, type Choice, Photo, smallButton } from "./board";
import { Slider, Switch } from "./controls";
import { h } from "./dom";
import { LayerStrip } from "./strip";

/** What can be done. */
const HINT = "Click a patch or a token to see where it looks; click on the right to see what looks there.";

export class HeadPicture {
  static readonly heeds = {
    focus: ["smooth", "opacity", "queries", "rollout", ...LayerStrip.heeds],
  } as const satisfies Heeds;
  private readonly boards: readonly [Board, Board];
  private readonly rolled: Board;
  private readonly several = h("div.several");
  private readonly row: HTMLElement;
  private readonly caption = h("div.sub");
  private readonly source = h("div.sub.about");
  private readonly smooth: Switch;
  private readonly opacity: Slider;
  private readonly rollout: Switch;
  private readonly unrolled = h("span.dim");
  private readonly strip: LayerStrip;
  readonly root = h("div.hp", { role: "group" });
  private readonly photo: Photo;
  private width = 0;
  private small: readonly Board[] = [];
  private readonly listed = new Of();

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    const { owner } = scene;
    this.photo = new Photo(scene, () => this.paint());
    this.boards = [new Board(scene, "from"), new Board(scene, "to")];
    this.rolled = new Board(scene, "to", true);
    this.rolled.root.classList.add("rolled");
    this.row = h("div.boards", {}, this.boards[0].root, this.boards[1].root, this.rolled.root);
    this.smooth = new Switch(
      "smooth",
      (change) => owner.set(change),
      "Smooth",
      "Draw between the patches; off: each patch as it is",
    );
    this.opacity = new Slider("Opacity", "How much of the picture is covered", 20, (at) =>
      owner.set({ opacity: at / 20 }),
    );
    this.rollout = new Switch("rollout", (change) => owner.set(change), "Rollout", "");
    this.strip = new LayerStrip(scene);
    const tools = h(
      "div.looks",
      { "data-export": "no" },
      this.smooth.root,
      this.opacity.root,
      this.rollout.root,
      this.unrolled,
    );
    this.root.append(tools, this.row, this.caption, this.source, this.several, this.strip.root);
    element.append(this.root);
    this.several.addEventListener("click", (event) => {
      const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-head]") : null;
      if (button) owner.open(scene.state.layer, Number(button.dataset.head), false);
    });
  }

  /** The picture has been drawn. */
  get done(): boolean {
    return this.photo.read && this.strip.done;
  }

  update(width: number): void {
    const { scene } = this;
    this.width = width;
    const { picture } = scene.input;
    if (!picture) return;
    this.root.setAttribute("aria-label", `${scene.name()} on the picture${picture.name ? ` ${picture.name}` : ""}`);
    this.photo.show(picture);
    this.paint();
  }

  focus(): void {
    this.paint();
  }

  private paint(): void {
    const { scene } = this;
    const { image } = this.photo;
    const { state, part } = scene;
    const { picture } = scene.input;
    this.smooth.show(state);
    this.opacity.show(Math.round(20 * state.opacity), `${Math.round(100 * state.opacity)}%`);
    if (!image || !picture || this.root.hidden) return;
    const found = looking(scene);
    if (!found) return;
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
    this.many(found, picture, image, look);
    const { said, quiet } = says(scene, found);
    this.caption.textContent = [said, quiet && HINT].filter(Boolean).join(" ");
    this.strip.update(picture, image, this.width, look, who, whoLooks(scene, who));
  }

  // Whether rollout is drawn; where there is none, why.
  private rolls(): boolean {
    const { offered, on, why } = rollout(this.scene);
    this.rollout.show(this.scene.state);
    this.rollout.root.hidden = !offered && !why;
    this.rollout.root.title = "Attention rollout up to this layer, beside the head";
    this.rollout.disable(offered ? null : (why ?? ""));
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

  // Several heads as small pictures; a click opens one.
  private many(found: Looking, picture: PictureInfo, image: HTMLImageElement, look: Look): void {
    const { scene } = this;
    const { who } = found;
    const heads = small(scene, found, { from: typeof who === "number" ? who : null, to: null });
    this.several.hidden = heads.length === 0;
    const open = heads.map(({ head }) => head);
    if (this.listed.renewed(scene.state.layer, open, scene.owner.theme)) {
      this.small = heads.map(() => new Board(scene, "to", true));
      this.several.replaceChildren(...heads.map((head, at) => smallButton(head, this.small[at]!)));
    }
    const width = smallLayout(heads.length, this.width, picture);
    heads.forEach((head, at) => this.small[at]!.draw(picture, image, width, look, head));
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

  destroy(): void {
    this.strip.destroy();
  }
}
