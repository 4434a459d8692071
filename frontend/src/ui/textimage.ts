// A head of a model of text and pictures: the text beside the picture, each word with what it has to do with what is
// chosen.

import { imageOf, type Look } from "../draw/veils";
import type { PictureInfo } from "../protocol";
import { type Item, name } from "../scene/axis";
import type { Shown } from "../scene/cut";
import { decimal, figure, percent } from "../scene/format";
import { concerns } from "../scene/gold";
import { type Asked, lookers, looks, unseen } from "../scene/rows";
import type { Scene } from "../scene/scene";
import { bare, onto, spaced, sumOf, words } from "../scene/wordsbeside";
import { Board, type End } from "./board";
import { Slider, Switch } from "./controls";
import { h } from "./dom";
import { crop } from "./fold";
import { toolbar } from "./roving";
import { LayerStrip } from "./strip";

const GAP = 28;
/** Below this width the text stands below the picture; the picture is no wider than `MOST`. */
const [NARROW, MOST] = [620, 560];
/** How tall a picture is that stands in the text, in pixels. */
const INLINE = 40;
/** The strongest shade of a word. */
const SHADE = 52;

export class TextPicture {
  private readonly boards: Readonly<Record<End, Board>>;
  private readonly strip: LayerStrip;
  private readonly smooth: Switch;
  private readonly opacity: Slider;
  private readonly title = h("div.cap");
  private readonly text = h("div.reading");
  private readonly stops: () => void;
  private readonly turn = h("button.link", { type: "button", "data-export": "no", onclick: () => this.turned() });
  private readonly several = h("div.several");
  private readonly caption = h("div.sub");
  private readonly side: HTMLElement;
  private readonly row: HTMLElement;
  readonly root = h("div.hp.talk", { role: "group" });
  private image: HTMLImageElement | null = null;
  private src = "";
  private width = 0;
  private read = true;
  private listed = "";
  private heads = "";
  private small: readonly Board[] = [];
  private buttons = new Map<number, HTMLElement>();
  private thumbs: HTMLElement[] = [];

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    const { owner } = scene;
    this.boards = { from: new Board(scene, "from"), to: new Board(scene, "to") };
    this.smooth = new Switch(
      "smooth",
      (change) => owner.set(change),
      "Smooth",
      "Draw between the patches; off: each patch as it is",
    );
    this.opacity = new Slider("Opacity", "How much of the picture is covered", 20, (at) =>
      owner.set({ opacity: at / 20 }),
    );
    this.strip = new LayerStrip(scene);
    this.side = h("div.beside", {}, this.title, this.text, this.turn);
    this.row = h("div.boards", {}, this.boards.to.root, this.boards.from.root, this.side);
    this.root.append(
      h("div.looks", { "data-export": "no" }, this.smooth.root, this.opacity.root),
      this.row,
      this.caption,
      this.several,
      this.strip.root,
    );
    element.append(this.root);
    this.stops = toolbar(this.text, "The text");
    this.text.addEventListener("pointerover", (event) => this.hover(this.placeOf(event)));
    this.text.addEventListener("pointerleave", () => scene.leave());
    this.text.addEventListener("click", (event) => this.choose(event));
    this.text.addEventListener(
      "focusin",
      (event) =>
        event.target instanceof Element && event.target.matches(":focus-visible") && this.hover(this.placeOf(event)),
    );
    this.text.addEventListener("focusout", () => scene.leave());
    this.several.addEventListener("click", (event) => {
      const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-head]") : null;
      if (button) owner.open(scene.state.layer, Number(button.dataset.head), false);
    });
  }

  get done(): boolean {
    return this.read && this.strip.done;
  }

  /**
   * Whether words are looked at and patches look, as what is chosen has it; unless it is turned round words look, and
   * patches are looked at.
   */
  private get round(): boolean {
    const { part, state } = this.scene;
    if (!state.pin || part.kind === "cross") return false;
    const patch = part.query.boxes?.[Number(state.pin[1])] != null;
    return state.pin[0] === (patch ? "from" : "to");
  }

  /** The side of the head that a word, or a patch, is of when it is chosen. */
  private sideOf(kind: "word" | "patch"): End {
    return (kind === "word") === this.round ? "to" : "from";
  }

  private placeOf(event: Event): number | null {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-start]") : null;
    if (!button) return null;
    const side = this.sideOf("word") === "from" ? this.scene.rows : this.scene.columns;
    const place = side.of[Number(button.dataset.start)] ?? -1;
    return place < 0 ? null : place;
  }

  private hover(place: number | null): void {
    const { scene } = this;
    if (place === null) return scene.leave();
    scene.owner.hover(scene, { from: null, to: null, [this.sideOf("word")]: place });
  }

  private choose(event: MouseEvent): void {
    const { owner } = this.scene;
    const place = this.placeOf(event);
    if (place !== null) return owner.pin(this.scene, this.sideOf("word"), place, event.shiftKey);
    const thumb = event.target instanceof Element && event.target.closest(".inline");
    if (thumb) owner.set({ pin: null, between: null });
  }

  // What is chosen looks in place of being looked at, or the other way round.
  private turned(): void {
    const { state, owner } = this.scene;
    if (state.pin) owner.set({ pin: [state.pin[0] === "from" ? "to" : "from", Number(state.pin[1])] });
  }

  update(width: number): void {
    const { scene } = this;
    this.width = width;
    const { picture } = scene.input;
    if (!picture) return;
    this.root.setAttribute(
      "aria-label",
      `${scene.name()} between the text and the picture${picture.name ? ` ${picture.name}` : ""}`,
    );
    if (picture.src !== this.src) {
      this.src = picture.src;
      this.read = false;
      imageOf(picture)
        .then((image) => (this.image = image))
        .catch((error: unknown) => scene.owner.fail(error))
        .finally(() => {
          this.read = true;
          this.paint();
        });
    }
    this.list(picture);
    this.paint();
  }

  focus(): void {
    this.paint();
  }

  // The text in reading order, built anew where it is another one.
  private list(picture: PictureInfo): void {
    const { scene, text } = this;
    const listed = [scene.place, scene.part.name, scene.rows.key, scene.columns.key, picture.src.length].join("|");
    if (listed === this.listed) return;
    this.listed = listed;
    this.buttons = new Map();
    this.thumbs = [];
    const { query, key } = scene.part;
    const images =
      query.images ?? (key.boxes && scene.part.kind === "cross" ? [{ start: -1, end: -1, name: "picture" }] : []);
    const children: (Node | string)[] = [];
    const thumb = (number: number): void => {
      const boxes = (
        images[number]!.start < 0 ? key.boxes! : query.boxes!.slice(images[number]!.start, images[number]!.end)
      ).filter((box) => box !== null);
      const cover = [0, 1, 2, 3].map((side) =>
        boxes.map((box) => box[side]!).reduce((a, b) => (side < 2 ? Math.min(a, b) : Math.max(a, b))),
      );
      const button = h(
        "button.inline",
        { type: "button", "data-image": number, title: "What the text gives to the picture" },
        crop(picture, cover, INLINE),
        h("span.hidden", {}, images.length > 1 ? `picture ${number + 1}` : "the picture"),
        h("i"),
      );
      this.thumbs[number] = button;
      children.push(" ", button, " ");
    };
    if (images[0]?.start === -1) thumb(0);
    let before: Item | null = null;
    for (const item of words(scene)) {
      for (const [number, image] of images.entries())
        if (image.start >= 0 && !this.thumbs[number] && image.end <= item.start) thumb(number);
      if (before && item.written && !before.written) children.push(h("span.wrote", {}, "written by the model"));
      if (before && spaced(query, before, item)) children.push(" ");
      const button = h(
        `button.word${item.special ? ".sp" : ""}`,
        { type: "button", "data-start": item.start },
        h("bdi", {}, bare(item)),
      );
      this.buttons.set(item.start, button);
      children.push(button);
      before = item;
    }
    images.forEach((_, number) => this.thumbs[number] || thumb(number));
    text.replaceChildren(...children);
  }

  private paint(): void {
    const { scene, image } = this;
    const { state, part } = scene;
    const { picture } = scene.input;
    this.smooth.show(state);
    this.opacity.show(Math.round(20 * state.opacity), `${Math.round(100 * state.opacity)} %`);
    if (!image || !picture || this.root.hidden) return;
    const maps = scene.shown();
    const map = maps.at(-1);
    if (!map) return;
    const to = scene.focus?.to ?? null;
    const who: Asked = scene.focus?.from ?? (part.query.images ? "text" : "all");
    const mask = unseen(
      scene,
      state.aggregate === "layers" ? part.index : [state.layer],
      scene.aggregated ? scene.heads : [scene.head],
    );
    const given = looks(scene, map, who, mask);
    const back = to === null ? null : lookers(scene, map, to, mask);
    const look: Look = {
      smooth: state.smooth,
      opacity: state.opacity,
      signed: scene.against !== null || maps.some((each) => each.sign),
      theme: scene.owner.theme,
    };
    const narrow = this.width < NARROW;
    const across = Math.min(narrow ? this.width : Math.floor(this.width * 0.56 - GAP / 2), MOST);
    this.row.classList.toggle("stacked", narrow);
    this.side.style.width = narrow ? "" : `${this.width - across - GAP}px`;
    // On the picture: what a chosen query looks at, or which patches look at what is chosen as a key.
    const end = this.sideOf("patch");
    const patches =
      back && scene.focus?.from == null
        ? onto(scene.rows, end === "from" ? scene.rows : scene.columns, back)
        : onto(scene.columns, end === "from" ? scene.rows : scene.columns, given);
    const board = this.boards[end];
    this.boards.from.root.hidden = end !== "from";
    this.boards.to.root.hidden = end !== "to";
    const whose = scene.many ? `: ${scene.name()}` : "";
    board.title.textContent =
      (back && scene.focus?.from == null
        ? `which patches look at ${this.called("to", to!)}`
        : `where ${this.who(who)}`) + whose;
    const links = scene.judged().filter(({ gold }) => concerns(gold, scene.focus));
    board.draw(picture, image, across, look, { shares: patches, chosen: scene.focus?.[end] ?? null, links });
    this.shade(who, given, back, scene.focus?.from == null);
    this.many(maps, picture, image, look, who);
    this.turn.hidden = !state.pin || part.kind === "cross";
    if (state.pin)
      this.turn.textContent = state.pin[0] === "from" ? "Turn round: what looks at it" : "Turn round: what it looks at";
    this.caption.textContent = this.says(map, who, given, back, to);
    this.strip.update(picture, image, this.width, look, who, this.who(who));
    this.stops();
  }

  // Each word by what it has to do with what is chosen: what it gives to the picture, to a patch, or gets from a word.
  private shade(who: Asked, given: Float64Array, back: Float64Array | null, alone: boolean): void {
    const { scene } = this;
    const { rows, columns, part } = scene;
    const shares = new Map<number, number>();
    const gives = (back && alone) || typeof who === "number" ? null : this.gives();
    for (const start of this.buttons.keys()) {
      const [row, column] = [rows.of[start] ?? -1, columns.of[start] ?? -1];
      if (back && alone) shares.set(start, row < 0 ? NaN : back[row]!);
      else if (typeof who === "number" && part.kind !== "cross") shares.set(start, column < 0 ? NaN : given[column]!);
      else if (typeof who === "number") shares.set(start, row === who ? 1 : 0);
      else shares.set(start, row < 0 ? NaN : gives![row]!);
    }
    // A sink takes so much that nothing else would be seen: special tokens are left out of what the darkest is.
    const usual = [...this.buttons]
      .filter(([, button]) => !button.classList.contains("sp"))
      .map(([start]) => Math.abs(shares.get(start) || 0));
    const most = Math.max(1e-9, ...usual);
    const chosen = alone && back ? this.itemOf("to") : this.itemOf("from");
    for (const [start, button] of this.buttons) {
      const share = shares.get(start)!;
      const seen = !Number.isNaN(share);
      button.style.setProperty(
        "--shade",
        `${seen ? decimal(SHADE * Math.sqrt(Math.min(1, Math.abs(share) / most)), 1) : 0}%`,
      );
      button.style.setProperty(
        "--tone",
        share < 0
          ? "var(--minus)"
          : scene.against || scene.shown().some((map) => map.sign)
            ? "var(--plus)"
            : "var(--accent)",
      );
      button.classList.toggle("unseen", !seen);
      button.setAttribute("aria-pressed", String(chosen?.start === start));
      button.title = `${button.textContent}: ${seen ? figure(share) : "not seen"}`;
    }
    this.thumbs.forEach((thumb, number) => {
      const share = this.within(
        number,
        back && alone ? rows.items : columns.items,
        back && alone ? back : given,
        back !== null && alone,
      );
      thumb.querySelector("i")!.textContent = Number.isNaN(share)
        ? "–"
        : back && alone
          ? figure(share)
          : percent(share);
      thumb.setAttribute("aria-pressed", String(chosen === undefined));
    });
    this.title.textContent =
      back && alone
        ? `how much each word looks at ${this.called("to", scene.focus!.to!)}`
        : typeof who === "number"
          ? part.kind === "cross"
            ? "the text"
            : `which words ${this.called("from", who)} looks at`
          : "how much of each word's attention is on the picture";
  }

  private itemOf(side: End): Item | undefined {
    const place = this.scene.focus?.[side];
    return place == null ? undefined : (side === "from" ? this.scene.rows : this.scene.columns).items[place];
  }

  // What a picture within the text has: the sum over its patches as keys, the mean as queries.
  private within(number: number, items: readonly Item[], shares: Float64Array, mean: boolean): number {
    const { boxes } = mean ? this.scene.part.query : this.scene.part.key;
    let [sum, count] = [0, 0];
    items.forEach((item, place) => {
      const own = item.image ? item.image.number === number : this.scene.part.kind === "cross" && boxes?.[item.start];
      if (!own || Number.isNaN(shares[place])) return;
      sum += shares[place]!;
      count++;
    });
    return count === 0 ? NaN : mean ? sum / count : sum;
  }

  // How much of each query's attention is on the picture.
  private gives(): Float64Array {
    const { scene } = this;
    const map = scene.shown().at(-1)!;
    const boxes = scene.part.key.boxes;
    const found = new Float64Array(map.rows);
    const columns = scene.columns.items.map(({ start }) => boxes?.[start] != null);
    scene.rows.items.forEach(({ start }, row) => {
      if (this.buttons.has(start)) found[row] = sumOf(map, row, columns);
    });
    return found;
  }

  // Several heads as small pictures; a click opens one.
  private many(maps: readonly Shown[], picture: PictureInfo, image: HTMLImageElement, look: Look, who: Asked): void {
    const { scene } = this;
    this.several.hidden = maps.length < 2;
    if (maps.length < 2) return;
    const across = Math.min(maps.length, Math.max(2, Math.min(6, Math.floor(this.width / 120))));
    const width = Math.min(260, Math.floor((this.width - (across - 1) * 10) / across));
    const heads = JSON.stringify([scene.state.layer, maps.map(({ head }) => head), scene.owner.theme]);
    if (heads !== this.heads) {
      this.heads = heads;
      this.small = maps.map(() => new Board(scene, "to", true));
      this.several.replaceChildren(
        ...maps.map(({ head }, at) => {
          const called = scene.name(head);
          return h(
            "button.small",
            { type: "button", "data-head": head, title: `Open ${called} alone`, "aria-label": `Open ${called} alone` },
            h("span", {}, h("i", { style: `background:${scene.color(head)}` }), called),
            this.small[at]!.canvas,
          );
        }),
      );
    }
    maps.forEach((map, at) =>
      this.small[at]!.draw(picture, image, width, look, {
        shares: looks(scene, map, who, unseen(scene, [scene.state.layer], [map.head])),
        chosen: null,
        links: scene.judge([map]).filter(({ gold }) => concerns(gold, scene.focus)),
      }),
    );
  }

  private called(end: End, place: number): string {
    const item = (end === "from" ? this.scene.rows : this.scene.columns).items[place];
    return !item ? "" : item.image || item.special ? name(item) : `“${bare(item)}”`;
  }

  private who(who: Asked): string {
    return typeof who === "number"
      ? `${this.called("from", who)} looks`
      : who === "text"
        ? "the text looks on average"
        : "all queries look on average";
  }

  private says(map: Shown, who: Asked, given: Float64Array, back: Float64Array | null, to: number | null): string {
    const { scene } = this;
    const from = typeof who === "number" ? this.called("from", who) : "the text";
    if (to !== null && typeof who === "number")
      return `From ${from} to ${this.called("to", to)}: ${Number.isNaN(given[to]) ? "not seen" : figure(given[to]!)}.`;
    if (scene.against) return "Blue: more in the first than in the second; orange: less.";
    if (back) {
      const best = [...this.buttons.keys()]
        .filter((start) => scene.rows.of[start]! >= 0 && !scene.part.query.special[start])
        .reduce(
          (most, start) => ((back[scene.rows.of[start]!] || 0) > (back[scene.rows.of[most]!] || 0) ? start : most),
          [...this.buttons.keys()].find((start) => scene.rows.of[start]! >= 0) ?? 0,
        );
      const place = scene.rows.of[best] ?? -1;
      return place < 0
        ? ""
        : `Of the words ${this.called("from", place)} looks most at ${this.called("to", to!)} (${figure(back[place]!)}).`;
    }
    if (map.sign) return "Click a word to see its patches, a patch to see which words look at it.";
    let [inside, best] = [0, -1];
    scene.columns.items.forEach(({ start }, place) => {
      if (!scene.part.key.boxes?.[start] || Number.isNaN(given[place])) return;
      inside += given[place]!;
      if (best < 0 || given[place]! > given[best]!) best = place;
    });
    if (best < 0) return "";
    return `${percent(inside)} of what ${from === "the text" ? "the text looks at" : `${from} looks at`} is the picture, most of it ${this.called("to", best)} (${figure(given[best]!)}). ${scene.pinned ? "" : "Click a word to see its patches, a patch to see which words look at it."}`;
  }

  destroy(): void {
    this.strip.destroy();
  }
}
