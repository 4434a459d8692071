// A head of a model of text and pictures: the text beside the picture, each word with what it has to do with what is
// chosen.

import type { PictureInfo } from "../protocol";
import { nounOf, seenAt } from "../scene/areas";
import { decimal, figure } from "../scene/format";
import { Of } from "../scene/made";
import { type End, type Looking, looking, lookOf } from "../scene/onpicture";
import { focusOn, type Scene } from "../scene/scene";
import type { Heeds } from "../scene/state";
import {
  chosenItem,
  pictureFigure,
  reader,
  readerLooks,
  reading,
  says,
  shades,
  sideOf,
  talkBoard,
  talkLayout,
  wordsTitle,
} from "../scene/talking";
import { bare } from "../scene/wordsbeside";
import { Board } from "./board";
import { around, h, listen } from "./dom";
import { crop } from "./fold";
import { OnPhoto } from "./onphoto";
import { toolbar } from "./roving";
import { LayerStrip } from "./strip";

/** How tall a picture is that stands in the text, in pixels. */
const INLINE = 40;
/** What can be done. */
const HINT = "Click a word to see its patches, a patch to see which words look at it.";

export class TextPicture extends OnPhoto {
  static readonly heeds = { focus: [...OnPhoto.looks, ...LayerStrip.heeds] } as const satisfies Heeds;
  private readonly boards: Readonly<Record<End, Board>>;
  private readonly title = h("div.cap");
  private readonly text = h("div.reading");
  private readonly stops: () => void;
  private readonly turn = h("button.link", { "data-export": "no", onclick: () => this.turned() });
  private readonly side: HTMLElement;
  private readonly row: HTMLElement;
  readonly root = h("div.hp.talk", { role: "group" });
  private readonly listed = new Of();
  private buttons = new Map<number, HTMLElement>();
  private thumbs: HTMLElement[] = [];

  constructor(element: HTMLElement, scene: Scene) {
    super(scene);
    this.boards = { from: new Board(scene, "from"), to: new Board(scene, "to") };
    this.side = h("div.beside", this.title, this.text, this.turn);
    this.row = h("div.boards", this.boards.to.root, this.boards.from.root, this.side);
    this.root.append(this.looks(), this.row, this.caption, this.several, this.strip.root);
    element.append(this.root);
    this.stops = toolbar(this.text, "The text");
    listen(this.text, {
      pointerover: (event) => this.hover(this.placeOf(event)),
      pointerleave: () => scene.leave(),
      click: (event) => this.choose(event),
      focusin: (event) =>
        event.target instanceof Element && event.target.matches(":focus-visible") && this.hover(this.placeOf(event)),
      focusout: () => scene.leave(),
    });
  }

  private placeOf(event: Event): number | null {
    const button = around(event, "[data-start]");
    if (!button) return null;
    const place = this.scene.tokens(sideOf(this.scene, "word")).of[Number(button.dataset.start)] ?? -1;
    return place < 0 ? null : place;
  }

  private hover(place: number | null): void {
    const { scene } = this;
    if (place === null) return scene.leave();
    scene.owner.hover(scene, focusOn(sideOf(scene, "word"), place));
  }

  private choose(event: MouseEvent): void {
    const { owner } = this.scene;
    const place = this.placeOf(event);
    if (place !== null) return owner.pin(this.scene, sideOf(this.scene, "word"), place);
    const thumb = around(event, ".inline");
    if (thumb) owner.set({ pin: null, between: null });
  }

  // What is chosen looks in place of being looked at, or the other way round.
  private turned(): void {
    const { state, owner } = this.scene;
    if (state.pin) owner.set({ pin: [state.pin[0] === "from" ? "to" : "from", Number(state.pin[1])] });
  }

  update(width: number): void {
    const picture = this.take(width, `between the text and ${nounOf(this.scene.input.picture)}`);
    if (!picture) return;
    this.list(picture);
    this.paint();
  }

  // The text in reading order, built anew where it is another one.
  private list(picture: PictureInfo): void {
    const { scene, text } = this;
    if (!this.listed.renewed(scene.part, scene.rows, scene.columns, picture)) return;
    this.buttons = new Map();
    this.thumbs = [];
    text.replaceChildren(
      ...reading(scene).flatMap((part): (Node | string)[] => {
        if (part === "written by the model") return [h("span.wrote.cap", part)];
        if ("picture" in part) {
          const thumb = h(
            "button.inline",
            { "data-image": part.picture, title: `What the text gives to ${part.name}` },
            seenAt(picture, part.area) && crop(picture, part.area, INLINE),
            h(seenAt(picture, part.area) ? "span.hidden" : "span", part.name),
            h("i"),
          );
          this.thumbs[part.picture] = thumb;
          return [" ", thumb, " "];
        }
        const { item } = part;
        const button = h(`button.word${item.special ? ".sp" : ""}`, { "data-start": item.start }, h("bdi", bare(item)));
        this.buttons.set(item.start, button);
        return part.spaced ? [" ", button] : [button];
      }),
    );
  }

  protected paint(): void {
    const { scene } = this;
    const { state, part } = scene;
    const photo = this.shown();
    const who = reader(scene);
    const found = photo && looking(scene, who);
    if (!found) return;
    const { picture, image } = photo;
    const look = lookOf(scene, found.maps);
    const { across, beside, stacked } = talkLayout(this.width);
    this.row.classList.toggle("stacked", stacked);
    this.side.style.width = stacked ? "" : `${beside}px`;
    const shown = talkBoard(scene, found);
    for (const end of ["from", "to"] as const) this.boards[end].root.hidden = end !== shown.end;
    this.boards[shown.end].draw(picture, image, across, look, shown);
    this.shade(found);
    this.many(found, scene.focus, picture, image, look);
    this.turn.hidden = !state.pin || part.kind === "cross";
    if (state.pin)
      this.turn.textContent = state.pin[0] === "from" ? "Turn round: what looks at it" : "Turn round: what it looks at";
    this.caption.textContent = [says(scene, found), !scene.focus && !scene.against && HINT].filter(Boolean).join(" ");
    this.strip.update(picture, image, this.width, look, who, readerLooks(scene, who));
    this.stops();
  }

  private shade(found: Looking): void {
    const { scene } = this;
    for (const [start, { share, strength, tone, chosen }] of shades(scene, found)) {
      const button = this.buttons.get(start);
      if (!button) continue;
      const seen = !Number.isNaN(share);
      button.style.setProperty("--shade", `${decimal(100 * strength, 1)}%`);
      button.style.setProperty("--tone", `var(--${tone})`);
      button.classList.toggle("unseen", !seen);
      button.setAttribute("aria-pressed", String(chosen));
      button.title = `${button.textContent}: ${seen ? figure(share) : "not seen"}`;
    }
    const chosen = chosenItem(scene, found);
    this.thumbs.forEach((thumb, number) => {
      thumb.querySelector("i")!.textContent = pictureFigure(scene, found, number);
      thumb.setAttribute("aria-pressed", String(chosen === undefined));
    });
    this.title.textContent = wordsTitle(scene, found);
  }
}
