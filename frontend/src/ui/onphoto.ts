// What is drawn of a head on a photo: how it is covered, several heads beside one another, every layer.

import type { PictureInfo } from "../protocol";
import { Of } from "../scene/made";
import { type Look, type Looking, small, smallLayout } from "../scene/onpicture";
import type { Focus, Scene } from "../scene/scene";
import type { Keys } from "../scene/state";
import { Board, Photo, smallButton } from "./board";
import { type Control, controls } from "./controls";
import { around, h } from "./dom";
import { LayerStrip } from "./strip";

/** How long a step of a video is seen, in milliseconds. */
const A_FRAME = 500;

const count = (info: PictureInfo | undefined): number => info?.media?.length ?? 0;

/** Whether all that is seen are steps of a video. */
const moves = ({ input: { picture } }: Scene): boolean =>
  count(picture) > 1 && picture!.media!.every(({ frames }) => frames);

export abstract class OnPhoto {
  abstract readonly root: HTMLElement;
  protected readonly caption = h("div.sub");
  protected readonly several = h("div.several");
  /** What of the state all of them show. */
  static readonly looks = ["smooth", "opacity", "medium"] as const satisfies Keys;
  private readonly cover: Readonly<Record<"smooth" | "opacity" | "medium", Control>>;
  private readonly play = h("button.link", { onclick: () => this.start() });
  private playing = 0;
  protected readonly strip: LayerStrip;
  protected readonly photo: Photo;
  protected width = 0;
  private readonly heads = new Of();
  private small: readonly Board[] = [];

  constructor(protected readonly scene: Scene) {
    const { owner } = scene;
    this.photo = new Photo(scene, () => this.paint());
    this.cover = controls(owner.set, {
      smooth: { label: "Smooth", title: "Draw between the patches; off: each patch as it is" },
      opacity: {
        label: "Opacity",
        title: "How much of the picture is covered",
        steps: 20,
        step: (opacity) => [Math.round(20 * opacity), `${Math.round(100 * opacity)}%`],
        value: (at) => at / 20,
      },
      medium: {
        label: (scene) => (moves(scene) ? "Frames" : "One of them"),
        title: "Draw one of them large",
        when: ({ input }) => count(input.picture) > 1,
        steps: ({ input }) => count(input.picture),
        step: (medium, { input }) => (medium === null ? [0, "all"] : [medium + 1, input.picture!.media![medium]!.name]),
        value: (at) => (at === 0 ? null : at - 1),
      },
    });
    this.strip = new LayerStrip(scene);
    this.several.addEventListener("click", (event) => {
      const button = around(event, "[data-head]");
      if (button) owner.open(scene.state.layer, Number(button.dataset.head), false);
    });
  }

  /** The row of controls. */
  protected looks(...more: readonly Node[]): HTMLElement {
    const { smooth, opacity, medium } = this.cover;
    return h("div.looks", { "data-export": "no" }, smooth.root, opacity.root, medium.root, this.play, ...more);
  }

  // Play a video from where it stands, or stop it.
  private start(): void {
    if (this.playing) return this.stop();
    const { owner } = this.scene;
    const next = (): void => {
      const { state, input } = this.scene;
      const medium = (state.medium ?? -1) + 1;
      if (medium >= count(input.picture)) this.stop();
      else owner.set({ medium });
    };
    if (this.scene.state.medium === count(this.scene.input.picture) - 1) owner.set({ medium: 0 });
    this.playing = window.setInterval(next, A_FRAME);
    this.name();
  }

  private stop(): void {
    window.clearInterval(this.playing);
    this.playing = 0;
    this.name();
  }

  private name(): void {
    this.play.hidden = !moves(this.scene);
    this.play.textContent = this.playing ? "Stop" : "Play";
  }

  /** The picture has been drawn. */
  get done(): boolean {
    return this.photo.read && this.strip.done;
  }

  /** Draw what is there; the photo may not have been read yet. */
  protected abstract paint(): void;

  focus(): void {
    this.paint();
  }

  /** Take another width or photo, and say where the head is seen. Nothing is drawn yet. */
  protected take(width: number, where: string): PictureInfo | null {
    const { scene } = this;
    this.width = width;
    const { picture } = scene.input;
    if (!picture) return null;
    this.root.setAttribute("aria-label", `${scene.name()} ${where}${picture.name ? ` ${picture.name}` : ""}`);
    this.photo.show(picture);
    return picture;
  }

  /** The photo that can be drawn on, with the controls as the state has them. */
  protected shown(): { picture: PictureInfo; image: HTMLImageElement } | null {
    const { input } = this.scene;
    for (const each of Object.values(this.cover)) each.show(this.scene);
    this.name();
    const { image } = this.photo;
    return image && input.picture && !this.root.hidden ? { picture: input.picture, image } : null;
  }

  /** Several heads as small pictures; a click opens one. */
  protected many(found: Looking, focus: Focus | null, picture: PictureInfo, image: HTMLImageElement, look: Look): void {
    const { scene } = this;
    const heads = small(scene, found, focus);
    this.several.hidden = heads.length === 0;
    const open = heads.map(({ head }) => head);
    if (this.heads.renewed(scene.state.layer, open, scene.owner.theme)) {
      this.small = heads.map(() => new Board(scene, "to", true));
      this.several.replaceChildren(...heads.map((head, at) => smallButton(head, this.small[at]!)));
    }
    const width = smallLayout(heads.length, this.width, picture);
    heads.forEach((head, at) => this.small[at]!.draw(picture, image, width, look, head));
  }

  destroy(): void {
    this.stop();
    this.strip.destroy();
  }
}
