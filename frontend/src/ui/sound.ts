// A head on a sound: its spectrogram, the words in it, and attention as lanes over time below; it can be heard.

import { surface } from "../draw/canvas";
import { drawLanes, fade, mapPixels, mapRow, within } from "../draw/lanes";
import { CLOCK, drawClock, drawHertz, drawSpectrogram, inked } from "../draw/spectrogram";
import { name } from "../scene/axis";
import { received, type Shown, value } from "../scene/cut";
import { clamp, decimal, figure, fixed } from "../scene/format";
import { type Lanes, lanesOf, lanesTitle, listened, NUMBERS, peaks, says, soundLayout } from "../scene/heard";
import { Of } from "../scene/made";
import type { Scene } from "../scene/scene";
import { clock, onPixels, placeAt } from "../scene/soundlayout";
import type { Heeds } from "../scene/state";
import { clickedCell } from "./between";
import { Photo } from "./board";
import { hoverColumns } from "./columns";
import { type Control, controls } from "./controls";
import { around, h, keyed, listen, touched, wheeled, zooms } from "./dom";
import { pairTip } from "./head";
import { Listening } from "./listening";
import { toolbar } from "./roving";
import { hint, sizeOf } from "./soundsays";
import { drawPeaks, drawSpoken } from "./spokenwords";
import { fill, mark, tell } from "./tokens";

export class HeadSound {
  static readonly heeds = { update: ["span", "follow"], focus: ["time"] } as const satisfies Heeds;
  private readonly spectrum = h("canvas", {
    role: "slider",
    tabindex: 0,
    "aria-label": "Time in the sound",
    "aria-valuemin": 0,
  });
  private readonly hertz = h("canvas.hertz", { "aria-hidden": "true" });
  private readonly clock = h("canvas.clock", { "aria-hidden": "true" });
  private readonly lanes = h("canvas.lanes", { "aria-hidden": "true" });
  private readonly map = h("canvas.map", { "aria-hidden": "true" });
  private readonly query = h("div.query", { hidden: true });
  private readonly mapped = h("div.mapped", h("span.queries", "queries ↓"), this.map, this.query);
  private readonly labels = h("div.toks.l", { role: "listbox", tabindex: 0, "aria-label": "from (query)" });
  private readonly spoken = h("div.spoken", { role: "img" });
  private readonly peaks = h("div.peaks");
  private readonly line = h("div.playhead", { hidden: true });
  private readonly hair = h("div.playhead.hair", { hidden: true });
  private readonly stage: HTMLElement;
  private readonly title = h("div.cap");
  private readonly caption = h("div.sub");
  private readonly button = h("button.play", { onclick: () => this.toggle() });
  private readonly told = h("span.told");
  private readonly size = h("span.dim");
  private readonly follow: Control;
  private readonly all: HTMLButtonElement;
  readonly root = h("div.snd", { role: "group" });
  private readonly time: Listening;
  private readonly stops: () => void;
  private readonly photo: Photo;
  private layout = soundLayout(0);
  private lane = 20;
  private maps: readonly Shown[] = [];
  private readonly drawn = new Of();
  /** All is drawn, not only what changes with what is pointed at. */
  private whole = true;
  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    this.photo = new Photo(scene, () => this.repaint());
    this.time = new Listening(scene, {
      moved: () => this.moved(),
      played: () => this.shows(),
      failed: (why) => (this.told.textContent = why),
      seen: () => this.root.checkVisibility(),
    });
    this.follow = controls(scene.owner.set, {
      follow: { label: "Follow", title: "What sounds at the line is the chosen token" },
    }).follow;
    this.all = h("button.link", { onclick: () => this.time.whole() });
    const tools = h(
      "div.soundtools",
      { "data-export": "no" },
      this.time.player ? this.button : null,
      this.told,
      this.follow.root,
      zooms(1.6, (factor) => this.time.step(factor)),
      this.all,
      h("span.grow"),
      this.size,
    );
    this.stage = h(
      "div.stage",
      this.peaks,
      this.spoken,
      h(
        "div.timed",
        this.hertz,
        this.spectrum,
        this.clock,
        this.title,
        h("div.laned", this.labels, this.lanes),
        this.mapped,
        this.hair,
        this.line,
      ),
    );
    this.root.append(tools, this.stage, this.caption);
    element.append(this.root);
    this.stops = toolbar(this.peaks, "Words where the head looks most");
    this.listen();
  }

  private listen(): void {
    const { scene, spectrum, lanes, map } = this;
    hoverColumns(scene, { from: this.labels }, { first: () => 0, show: () => undefined });
    listen(spectrum, {
      click: (event) => this.time.seek(this.timeOf(event), true),
      pointermove: (event) => this.pointAt(event, null),
    });
    listen(lanes, {
      pointermove: (event) => this.pointAt(event, this.laneOf(event)),
      click: (event) => this.choose(event, this.laneOf(event)),
    });
    listen(map, {
      pointermove: (event) => this.pointAt(event, this.queryOf(event)),
      click: (event) => this.choose(event, this.queryOf(event)),
    });
    for (const canvas of [spectrum, lanes, map]) canvas.addEventListener("pointerleave", () => this.left());
    this.clock.addEventListener("pointerdown", (event) => this.drag(event));
    keyed(spectrum, (event) => this.key(event));
    wheeled(this.stage, (factor, event) => this.time.zoom(factor, this.timeOf(event)));
    const word = (event: Event): number => {
      const button = around(event, "[data-start]");
      return button ? (scene.rows.of[Number(button.dataset.start)] ?? -1) : -1;
    };
    listen(this.peaks, {
      click: (event) => word(event) >= 0 && scene.owner.pin(scene, "from", word(event)),
      pointerover: (event) => word(event) >= 0 && scene.owner.hover(scene, { from: word(event), to: null }),
      pointerleave: () => scene.leave(),
    });
  }

  // -- what stands where

  private get width(): number {
    return this.layout.width;
  }

  private get gutter(): number {
    return this.layout.gutter;
  }

  private timeOf(event: MouseEvent): number {
    const { left } = this.stage.getBoundingClientRect();
    const [begin, end] = this.time.span;
    return clamp(begin + ((event.clientX - left - this.gutter) / this.width) * (end - begin), begin, end);
  }

  private laneOf(event: MouseEvent): number | null {
    if (this.stage.dataset.lanes !== "queries") return null;
    const place = Math.floor((event.clientY - this.lanes.getBoundingClientRect().top) / this.lane);
    return place >= 0 && place < this.scene.rows.items.length ? place : null;
  }

  private queryOf(event: MouseEvent): number | null {
    const { top, height } = this.map.getBoundingClientRect();
    const [first, count] = within(this.time.queries, this.time.span);
    return count === 0 ? null : first + clamp(Math.floor(((event.clientY - top) / height) * count), 0, count - 1);
  }

  // -- pointing and choosing

  private pointAt(event: PointerEvent, from: number | null): void {
    const { scene } = this;
    const time = this.timeOf(event);
    const to = placeAt(this.time.keys, time);
    this.put(this.hair, time);
    if (to < 0) return;
    if (from !== null) {
      scene.owner.hover(scene, { from, to });
      return scene.owner.tip(pairTip(scene, from, to), event);
    }
    const chosen = scene.focused.from;
    const lines = this.maps
      .slice(0, 12)
      .map((map) =>
        h(
          "tr",
          h("td", scene.name(map.head)),
          h("td", figure(chosen === null ? received(map)[to]! : value(map, chosen * map.columns + to))),
        ),
      );
    const about = chosen === null ? "mean over all queries" : `from ${name(scene.rows.items[chosen])}`;
    scene.owner.tip(h("div", h("b", `${clock(time)} s`), h("span.dim", ` ${about}`), h("table", ...lines)), event);
  }

  private left(): void {
    this.hair.hidden = true;
    this.scene.leave();
  }

  // A click on a lane or on the map chooses its query, and again the pair; on a head's lane it goes there.
  private choose(event: MouseEvent, from: number | null): void {
    const { scene } = this;
    const to = placeAt(this.time.keys, this.timeOf(event));
    if (from === null || to < 0) return this.time.seek(this.timeOf(event), true);
    scene.owner.choose(scene, clickedCell(scene.pinned, from, to));
  }

  // -- time

  /** Play or pause. */
  toggle(): void {
    this.time.toggle();
  }

  /** Closer or farther. */
  step(factor: number): void {
    this.time.step(factor);
  }

  get playable(): boolean {
    return this.time.player !== null && this.root.checkVisibility();
  }

  // The line stands elsewhere.
  private moved(): void {
    const { at, sound } = this.time;
    this.put(this.line, at);
    this.told.textContent = `${clock(at)} / ${clock(sound.heard)} s`;
    this.spectrum.setAttribute("aria-valuenow", decimal(at, 2));
    this.spectrum.setAttribute("aria-valuetext", `${clock(at)} seconds`);
  }

  private put(line: HTMLElement, time: number): void {
    const [begin, end] = this.time.span;
    line.hidden = time < begin || time > end;
    line.style.transform = `translateX(${this.gutter + ((time - begin) / (end - begin)) * this.width}px)`;
  }

  private key(event: KeyboardEvent): boolean {
    const { time, scene } = this;
    const { keys } = time;
    const here = placeAt(keys, time.at);
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageUp: 10, PageDown: -10 }[event.key];
    const to =
      by !== undefined
        ? here + by
        : event.key === "Home"
          ? within(keys, time.span)[0]
          : event.key === "End"
            ? keys.length - 1
            : null;
    if (to !== null) {
      const span = keys[clamp(to, 0, keys.length - 1)];
      if (span) time.seek((span[0] + span[1]) / 2, false);
    } else if (event.key === "Enter") scene.owner.pin(scene, time.alike ? "from" : "to", here);
    else return false;
    return true;
  }

  private drag(event: PointerEvent): void {
    const { clock: ruler, time } = this;
    const [start, from] = [event.clientX, time.span];
    ruler.setPointerCapture(event.pointerId);
    const move = ({ clientX }: PointerEvent): void =>
      time.move(from, ((start - clientX) / this.width) * (from[1] - from[0]));
    ruler.addEventListener("pointermove", move);
    for (const end of ["pointerup", "pointercancel"] as const)
      ruler.addEventListener(end, () => ruler.removeEventListener("pointermove", move), { once: true });
  }

  // -- drawing

  update(width: number): void {
    const { scene } = this;
    const { picture, sound } = scene.input;
    if (!picture || !sound) return;
    this.layout = soundLayout(width);
    this.stage.style.setProperty("--gutter", `${this.gutter}px`);
    this.root.setAttribute("aria-label", `${scene.name()} on the sound${picture.name ? ` ${picture.name}` : ""}`);
    this.spectrum.setAttribute("aria-valuemax", decimal(sound.seconds, 2));
    this.time.take();
    this.photo.show(picture);
    this.repaint();
  }

  /** The picture has been drawn. */
  get done(): boolean {
    return this.photo.read;
  }

  private repaint(): void {
    this.whole = true;
    this.drawn.forget();
    this.paint();
  }

  focus(): void {
    if (this.time.take()) this.time.follow();
    this.paint();
  }

  private paint(): void {
    const { scene, photo } = this;
    if (!photo.image || this.root.hidden) return;
    this.maps = scene.shown();
    const map = this.maps.at(-1);
    if (!map) return;
    const { from, to } = scene.focused;
    if (!this.drawn.renewed(this.maps, from, to)) return;
    const { time, whole } = this;
    this.whole = false;
    const { width, gutter, height } = this.layout;
    const { span, sound, alike } = time;
    const source = inked(photo.image, scene.owner.theme);
    const pen = drawSpectrogram(this.spectrum, source, sound.seconds, span, width, height);
    const heard = listened(scene, time, map);
    if (heard)
      fade(pen, scene.owner.ink("--bg"), onPixels(heard.shares, heard.times, span, Math.round(width)), heard.most, [
        0,
        0,
        height,
      ]);
    if (whole) {
      drawHertz(surface(this.hertz, gutter - 4, height), scene, sound.rate, gutter - 4, height);
      drawClock(surface(this.clock, width + NUMBERS, CLOCK), scene, span, width, NUMBERS);
      drawSpoken(this.spoken, sound.words, span, width);
      this.controls();
      this.mapped.hidden = !alike || this.maps.length > 1;
      if (!this.mapped.hidden) this.drawMap(map);
    }
    this.point(from);
    this.peaks.style.setProperty("--c", scene.color(map.head));
    const hidden = drawPeaks(this.peaks, peaks(map, scene, time), span, width, scene);
    this.peaks.hidden = hidden === null;
    this.stops();
    this.lay(lanesOf(scene, time, this.maps, touched()), from);
    this.title.textContent = lanesTitle(scene, time, this.maps.length);
    this.caption.replaceChildren(
      `${says(scene, time, map, hidden)} `,
      h("span", { "data-export": "no" }, hint(time.player !== null)),
    );
    this.shows();
    time.follow();
  }

  private drawMap(map: Shown): void {
    const { width, map: tall } = this.layout;
    const pen = surface(this.map, width, tall);
    const { height } = this.map;
    const found = mapPixels(this.scene, map, this.time, this.map.width, height);
    if (found)
      pen.putImageData(new ImageData(new Uint8ClampedArray(found.pixels.buffer), found.width, height), found.x, 0);
  }

  // The row of the map that is chosen.
  private point(from: number | null): void {
    const place = mapRow(this.time, from, this.layout.map);
    this.query.hidden = !place;
    if (place) this.query.style.cssText = `top:${place.top}px;height:${place.high}px;width:${this.width}px`;
  }

  private lay(lanes: Lanes, from: number | null): void {
    const { scene, labels, time, width } = this;
    const { perQuery, tall } = lanes;
    this.lane = tall;
    labels.style.setProperty("--rh", `${tall}px`);
    labels.style.setProperty("--tw", `${this.gutter - 6}px`);
    const pen = surface(this.lanes, width + NUMBERS, Math.max(1, lanes.lanes.length * tall));
    drawLanes(pen, scene, lanes, { width, numbers: NUMBERS, span: time.span });
    this.labels.hidden = !perQuery;
    this.stage.dataset.lanes = perQuery ? "queries" : "heads";
    if (perQuery) {
      fill(labels, scene.rows.items);
      mark(labels, from, "on");
      mark(labels, scene.pinned?.from ?? null, "pin");
      tell(labels, from, scene.pinned?.from ?? null);
    } else this.heads(this.maps);
  }

  // The names of heads beside their lanes.
  private heads(maps: readonly Shown[]): void {
    const { scene, stage } = this;
    const laned = stage.querySelector(".laned")!;
    laned.querySelectorAll(".headlane").forEach((label) => label.remove());
    laned.append(
      ...maps.map((map, place) =>
        h(
          "span.headlane",
          { style: `top:${place * this.lane}px;height:${this.lane}px` },
          h("i", { style: `background:${scene.color(map.head)}` }),
          scene.name(map.head),
        ),
      ),
    );
  }

  private controls(): void {
    const { scene, time } = this;
    const { seconds } = time.sound;
    this.follow.show(scene);
    const { more } = time;
    this.all.hidden = scene.state.span === null && !more;
    this.all.textContent = more ? `all ${fixed(seconds, seconds < 10 ? 1 : 0)} s that the model hears` : "all of it";
    this.all.title = more ? "With the silence that fills it up" : "All of the sound (0)";
    this.size.textContent = sizeOf(time.sound);
  }

  private shows(): void {
    const { button, time } = this;
    const on = time.playing;
    button.setAttribute("aria-label", on ? "Pause" : "Play");
    button.title = on ? "Pause (space)" : "Play (space)";
    button.classList.toggle("on", on);
  }

  destroy(): void {
    this.time.destroy();
  }
}
