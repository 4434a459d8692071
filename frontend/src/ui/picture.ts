// A head on the picture that its tokens are areas of: where a query looks, which queries look at a key, every layer,
// rollout.

import { boxesOf, cutOff, imageOf, type Look, rasterOf, WIDE } from "../draw/veils";
import type { PictureInfo } from "../protocol";
import type { Shown } from "../scene/cut";
import { figure, fixed } from "../scene/format";
import { concerns } from "../scene/gold";
import { type Asked, asked, lookers, looks, looksIn, missing, mixed, unseen } from "../scene/rows";
import type { Scene } from "../scene/scene";
import { Board, type Choice, called, type End } from "./board";
import { Slider, Switch } from "./controls";
import { h } from "./dom";
import { LayerStrip } from "./strip";

const GAP = 20;
/** Below this width pictures stand one below the other; no picture is larger than the other. */
const [NARROW, MOST] = [420, 560];
/** Three beside each other need at least this width each. */
const THIRD = 230;

export class HeadPicture {
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
  private image: HTMLImageElement | null = null;
  private src = "";
  private width = 0;
  private read = true;
  private small: readonly Board[] = [];
  private listed = "";

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    const { owner } = scene;
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
    return this.read && this.strip.done;
  }

  update(width: number): void {
    const { scene } = this;
    this.width = width;
    const { picture } = scene.input;
    if (!picture) return;
    this.root.setAttribute("aria-label", `${scene.name()} on the picture${picture.name ? ` ${picture.name}` : ""}`);
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
    this.paint();
  }

  focus(): void {
    this.paint();
  }

  private get look(): Look {
    const { state, against, owner } = this.scene;
    return {
      smooth: state.smooth,
      opacity: state.opacity,
      signed: against !== null || this.scene.shown().some((map) => map.sign),
      theme: owner.theme,
    };
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
    const who = asked(scene);
    const mask = unseen(
      scene,
      state.aggregate === "layers" ? part.index : [state.layer],
      scene.aggregated ? scene.heads : [scene.head],
    );
    const given = looks(scene, map, who, mask);
    const back = to === null ? null : lookers(scene, map, to, mask);
    const rolled = this.rolls();
    const each = this.each(picture, rolled);
    const { look } = this;
    const [left, right] = this.boards;
    left.canvas.hidden = !part.query.boxes;
    right.canvas.hidden = !part.key.boxes;
    left.title.textContent = to === null ? "from (query)" : `which tokens look at ${this.called("to", to)}`;
    right.title.textContent = `where ${this.who(who)}${scene.many ? `: ${scene.name()}` : ""}`;
    const from = typeof who === "number" ? who : null;
    const links = scene.judged().filter(({ gold }) => concerns(gold, { from, to }));
    left.draw(picture, image, each, look, { shares: back, chosen: from, choices: this.choices(who), links });
    right.draw(picture, image, each, look, { shares: given, chosen: to, links });
    if (rolled) this.roll(picture, image, each, { ...look, signed: scene.against !== null }, who);
    this.many(maps, picture, image, look, who);
    this.caption.textContent = this.says(map, who, given, back, to);
    this.strip.update(picture, image, this.width, look, who, this.who(who));
  }

  // The width of each picture. A wide one, such as a spectrogram, has all the width; a side of text alone has no
  // picture.
  private each(picture: PictureInfo, rolled: boolean): number {
    const { query, key } = this.scene.part;
    const wide = picture.width > WIDE * picture.height;
    const alone = wide || !query.boxes || !key.boxes || this.width < NARROW;
    this.row.classList.toggle("stacked", alone);
    if (alone) return Math.min(this.width, wide ? Infinity : MOST);
    const count = rolled && this.width >= 3 * THIRD + 2 * GAP ? 3 : 2;
    return Math.floor(Math.min((this.width - (count - 1) * GAP) / count, MOST));
  }

  // Whether rollout is drawn; where there is none, why.
  private rolls(): boolean {
    const { scene } = this;
    const { part, state, against } = scene;
    const offered = part.rollout !== undefined && (!against || against.part.rollout !== undefined);
    const why = part.unrolled ?? against?.part.unrolled;
    this.rollout.show(state);
    this.rollout.root.hidden = !offered && !why;
    this.rollout.root.title = "Attention rollout up to this layer, beside the head";
    this.rollout.disable(offered ? null : (why ?? ""));
    this.unrolled.textContent = !offered && why ? `no rollout: ${why}` : "";
    const on = offered && state.rollout && state.quantity === "weights";
    this.rolled.root.hidden = this.source.hidden = !on;
    return on;
  }

  private roll(picture: PictureInfo, image: HTMLImageElement, width: number, look: Look, who: Asked): void {
    const { scene, rolled } = this;
    const { layer } = scene.state;
    const wanted = missing(scene, layer, "rollout");
    if (wanted.length > 0)
      void Promise.all(wanted).then(
        () => this.paint(),
        (error: unknown) => scene.owner.fail(error),
      );
    rolled.title.textContent = `rollout to layer ${layer}`;
    rolled.draw(picture, image, width, look, { shares: looksIn(scene, layer, "rollout", who), chosen: null });
    const from = scene.part.index[0] === 0 ? `layers 0–${layer}` : `the layers up to ${layer}`;
    this.source.textContent = `Rollout (Abnar & Zuidema 2020): how much of each patch has come into ${typeof who === "number" ? this.called("from", who) : `the ${who === "all" ? "queries" : "patches"}`} by then. Of ${from} the mean over heads, ½ A + ½ I, multiplied.`;
  }

  // Several heads as small pictures; a click opens one.
  private many(maps: readonly Shown[], picture: PictureInfo, image: HTMLImageElement, look: Look, who: Asked): void {
    const { scene } = this;
    this.several.hidden = maps.length < 2;
    if (maps.length < 2) return;
    const across =
      picture.width > WIDE * picture.height
        ? 1
        : Math.min(maps.length, Math.max(2, Math.min(6, Math.floor(this.width / 120))));
    const width = Math.floor((this.width - (across - 1) * 10) / across);
    const listed = JSON.stringify([scene.state.layer, maps.map(({ head }) => head), scene.owner.theme]);
    if (listed !== this.listed) {
      this.listed = listed;
      this.small = maps.map(() => new Board(scene, "to", true));
      this.several.replaceChildren(
        ...maps.map(({ head }, at) => {
          const name = scene.name(head);
          return h(
            "button.small",
            { type: "button", "data-head": head, title: `Open ${name} alone`, "aria-label": `Open ${name} alone` },
            h("span", {}, h("i", { style: `background:${scene.color(head)}` }), name),
            this.small[at]!.canvas,
          );
        }),
      );
    }
    maps.forEach((map, at) =>
      this.small[at]!.draw(picture, image, Math.min(width, 260), look, {
        shares: looks(scene, map, who, unseen(scene, [scene.state.layer], [map.head])),
        chosen: null,
        links: scene
          .judge([map])
          .filter(({ gold }) => concerns(gold, { from: typeof who === "number" ? who : null, to: null })),
      }),
    );
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

  private called(end: End, place: number): string {
    const { rows, columns, part } = this.scene;
    const item = (end === "from" ? rows : columns).items[place];
    return item ? called(end === "from" ? part.query : part.key, item) : "";
  }

  private who(who: Asked): string {
    if (typeof who === "number") return `${this.called("from", who)} ${this.verb(who)}`;
    return who === "patches" ? "patches look on average" : "all queries look on average";
  }

  // One looks, several look; a block of patches is several.
  private verb(who: Asked): string {
    const { rows, part } = this.scene;
    const one = typeof who === "number" && (part.query.counts?.[rows.items[who]!.start] ?? 1) === 1;
    return one ? "looks" : "look";
  }

  private says(map: Shown, who: Asked, shares: Float64Array, back: Float64Array | null, to: number | null): string {
    const { scene } = this;
    const { columns, part } = scene;
    const { key } = part;
    let [inside, all, best] = [0, 0, -1];
    columns.items.forEach(({ start }, place) => {
      const share = shares[place]!;
      if (Number.isNaN(share)) return;
      all += share;
      if (!key.boxes?.[start]) return;
      inside += share;
      if (best < 0 || share > shares[best]!) best = place;
    });
    const greys = [
      [shares, back ?? []].some((each) => each.some(Number.isNaN)) && "what the mask hides",
      scene.input.picture &&
        key.boxes &&
        cutOff(rasterOf(boxesOf(key, columns)), scene.input.picture) &&
        "what the model does not see, as it is cut off",
    ];
    const grey = greys.some(Boolean) ? ` Grey: ${greys.filter(Boolean).join(", and ")}.` : "";
    const from = typeof who === "number" ? this.called("from", who) : who === "patches" ? "patches" : "all queries";
    if (to !== null)
      return `From ${from} to ${this.called("to", to)}: ${Number.isNaN(shares[to]) ? "not seen" : figure(shares[to]!)}.${grey}`;
    if (scene.against) return `Blue: more in the first than in the second; orange: less.${grey}`;
    if (best < 0 || map.sign)
      return `Click a patch or a token to see where it looks; click on the right to see what looks there.${grey}`;
    const kind = scene.input.picture?.kind ?? "picture";
    const looked = `${from} ${this.verb(who)}`;
    return `Of what ${looked} at ${fixed((100 * inside) / Math.max(all, 1e-9), 1)} % is the ${kind}, most of it ${this.called("to", best)} (${figure(shares[best]!)}).${grey}`;
  }

  destroy(): void {
    this.strip.destroy();
  }
}
