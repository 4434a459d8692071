// A head on what the model saw or heard: on a picture, on a sound, or on a picture beside a text.

import { sensed } from "../scene/onpicture";
import type { Scene } from "../scene/scene";
import type { Heeds, Keys } from "../scene/state";
import { h } from "./dom";
import { HeadPicture } from "./picture";
import { HeadSound } from "./sound";
import { TextPicture } from "./textimage";

/** What each of them has. */
interface OnPicture {
  readonly root: HTMLElement;
  readonly done: boolean;
  update(width: number): void;
  focus(): void;
  destroy(): void;
}

const KINDS = { picture: HeadPicture, sound: HeadSound, text: TextPicture };

export class HeadOnInput {
  static readonly heeds = {
    update: HeadSound.heeds.update,
    focus: Object.values(KINDS).flatMap(({ heeds }): Keys => heeds.focus),
  } satisfies Heeds;
  readonly root = h("div");
  private readonly made = new Map<string, OnPicture>();
  private shown: OnPicture | null = null;

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    element.append(this.root);
  }

  private of(): OnPicture {
    const { scene } = this;
    const kind = sensed(scene);
    const found = this.made.get(kind) ?? new KINDS[kind](this.root, scene);
    this.made.set(kind, found);
    return found;
  }

  update({ width }: { readonly width: number }): void {
    const shown = this.of();
    for (const each of this.made.values()) each.root.hidden = each !== shown;
    this.shown = shown;
    shown.update(width);
  }

  focus(): void {
    this.shown?.focus();
  }

  get done(): boolean {
    return this.shown?.done ?? true;
  }

  /** The sound that can be heard, where it is drawn. */
  get sound(): HeadSound | null {
    return this.shown instanceof HeadSound && !this.root.hidden && this.shown.playable ? this.shown : null;
  }

  destroy(): void {
    for (const each of this.made.values()) each.destroy();
  }
}
