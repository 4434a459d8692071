// A head on a sound: its spectrogram, the words in it, and attention as lanes over time below; it can be heard.

import { clamp, h, touched } from "../dom";
import { figure, percent, plural } from "../format";
import { type Item, name, type Side } from "./axis";
import { clickedCell } from "./between";
import { hoverColumns } from "./columns";
import { Switch } from "./controls";
import { received, type Shown, value } from "./cut";
import { pairTip } from "./head";
import { column, drawLanes, drawMap, type Lane, largest, row, within } from "./lanes";
import type { ArrayRef, AxisInfo } from "../protocol";
import { imageOf } from "./veils";
import { Player } from "./player";
import type { Scene } from "./scene";
import { asState, clock, laneHeight, movedSpan, onPixels, placeAt, type Span, shownSpan, type Times, zoomedSpan } from "./soundlayout";
import { drawClock, drawHertz, drawSpectrogram, inked } from "./spectrogram";
import { drawPeaks, drawSpoken, peaks } from "./spokenwords";
import { fill, mark, tell } from "./tokens";

/** Width of what stands left of the time axis, and of the numbers right of it. */
const GUTTER = { wide: 92, narrow: 62 };
const NUMBERS = 34;
/** How much of what is not listened to fades. */
const FADE = 0.82;
/** How tall the map of frames is, by its width. */
const MAP = (width: number): number => Math.round(Math.min(width, 260));

export class HeadSound {
  private readonly spectrum = h("canvas", { role: "slider", tabindex: 0, "aria-label": "Time in the sound", "aria-valuemin": 0 });
  private readonly hertz = h("canvas.hertz", { "aria-hidden": "true" });
  private readonly clock = h("canvas.clock", { "aria-hidden": "true" });
  private readonly lanes = h("canvas.lanes", { "aria-hidden": "true" });
  private readonly map = h("canvas.map", { "aria-hidden": "true" });
  private readonly query = h("div.query", { hidden: true });
  private readonly mapped = h("div.mapped", {}, h("span.queries", {}, "queries ↓"), this.map, this.query);
  private readonly labels = h("div.toks.l", { role: "listbox", tabindex: 0, "aria-label": "from (query)" });
  private readonly spoken = h("div.spoken", { role: "img" });
  private readonly peaks = h("div.peaks");
  private readonly line = h("div.playhead", { hidden: true });
  private readonly hair = h("div.playhead.hair", { hidden: true });
  private readonly stage: HTMLElement;
  private readonly title = h("div.cap");
  private readonly caption = h("div.sub");
  private readonly button = h("button.play", { type: "button", onclick: () => this.toggle() });
  private readonly told = h("span.told");
  private readonly size = h("span.dim");
  private readonly follow: Switch;
  private readonly all: HTMLButtonElement;
  readonly root = h("div.snd", { role: "group" });
  private readonly player: Player | null;
  private source: HTMLCanvasElement | null = null;
  private shown = "";
  private theme = "";
  private width = 0;
  private gutter = 0;
  private lane = 20;
  private frame = 0;
  /** Where the line stands, in seconds. */
  private at = 0;
  private keyed = false;
  private maps: readonly Shown[] = [];
  private drawn = "";
  private readonly known = new WeakMap<Side, Times>();
  /** The picture has been drawn. */
  done = true;

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    const { sound } = scene.input;
    const samples = sound?.samples;
    this.player = sound && samples ? new Player(() => this.bytes(samples), sound.rate, () => this.stopped()) : null;
    this.follow = new Switch("follow", (change) => scene.owner.set(change), "Follow", "What sounds at the line is the chosen token");
    const step = (label: string, title: string, act: () => void): HTMLElement => h("button", { type: "button", title, "aria-label": title, onclick: act }, label);
    this.all = h("button.link", { type: "button", onclick: () => this.whole() });
    const zoom = h("div.stepper", {}, step("−", "Zoom out (−)", () => this.step(1.6)), step("+", "Zoom in (+)", () => this.step(1 / 1.6)));
    const tools = h("div.soundtools", { "data-export": "no" }, this.player ? this.button : null, this.told, this.follow.root, zoom, this.all, h("span.grow"), this.size);
    this.stage = h("div.stage", {}, this.peaks, this.spoken, this.hertz, this.spectrum, this.clock, this.title, h("div.laned", {}, this.labels, this.lanes), this.mapped, this.hair, this.line);
    this.root.append(tools, this.stage, this.caption);
    element.append(this.root);
    this.listen();
  }

  private listen(): void {
    const { scene, spectrum, lanes, map } = this;
    hoverColumns(scene, { from: this.labels }, { first: () => 0, show: () => undefined });
    spectrum.addEventListener("click", (event) => this.seek(this.timeOf(event), true));
    spectrum.addEventListener("pointermove", (event) => this.pointAt(event, null));
    lanes.addEventListener("pointermove", (event) => this.pointAt(event, this.laneOf(event)));
    lanes.addEventListener("click", (event) => this.choose(event, this.laneOf(event)));
    map.addEventListener("pointermove", (event) => this.pointAt(event, this.queryOf(event)));
    map.addEventListener("click", (event) => this.choose(event, this.queryOf(event)));
    for (const canvas of [spectrum, lanes, map]) canvas.addEventListener("pointerleave", () => this.left());
    this.clock.addEventListener("pointerdown", (event) => this.drag(event));
    spectrum.addEventListener("focus", () => (this.keyed = spectrum.matches(":focus-visible")));
    spectrum.addEventListener("pointerdown", () => (this.keyed = false));
    spectrum.addEventListener("keydown", (event) => this.key(event));
    this.stage.addEventListener("wheel", (event) => {
      if (!(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.zoom(Math.exp(clamp(event.deltaY, -60, 60) / 120), this.timeOf(event));
    }, { passive: false });
    this.peaks.addEventListener("click", (event) => {
      const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-start]") : null;
      const place = button ? scene.rows.of[Number(button.dataset.start)]! : -1;
      if (place >= 0) scene.owner.pin(scene, "from", place, event.shiftKey);
    });
    this.peaks.addEventListener("pointerover", (event) => {
      const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-start]") : null;
      const place = button ? scene.rows.of[Number(button.dataset.start)]! : -1;
      if (place >= 0) scene.owner.hover(scene, { from: place, to: null });
    });
    this.peaks.addEventListener("pointerleave", () => scene.leave());
  }

  private async bytes(ref: ArrayRef): Promise<Uint8Array> {
    await this.scene.data.loadArray(ref);
    return this.scene.data.array(ref) as Uint8Array;
  }

  // -- what stands where

  private get sound() {
    return this.scene.input.sound!;
  }

  private get span(): Span {
    return shownSpan(this.scene.state.span, this.sound.seconds, this.sound.heard);
  }

  /** When the tokens of an axis sound. */
  private times(side: Side, boxes: AxisInfo["boxes"]): Times {
    let found = this.known.get(side);
    if (found) return found;
    const scale = this.sound.seconds / this.scene.input.picture!.width;
    found = side.items.map(({ start, end }): Span | null => {
      const [first, last] = [boxes?.[start], boxes?.[end - 1]];
      return first && last ? [first[0]! * scale, last[2]! * scale] : null;
    });
    this.known.set(side, found);
    return found;
  }

  private get queries(): Times {
    return this.times(this.scene.rows, this.scene.part.query.boxes);
  }

  private get keys(): Times {
    return this.times(this.scene.columns, this.scene.part.key.boxes);
  }

  /** Queries are stretches of the sound, too. */
  private get alike(): boolean {
    return this.scene.part.query.boxes !== undefined;
  }

  /** A lane stands for each query, not for each head. */
  private get perQuery(): boolean {
    return this.maps.length === 1 && !this.alike;
  }

  private timeOf(event: MouseEvent): number {
    const { left } = this.stage.getBoundingClientRect();
    const [begin, end] = this.span;
    return clamp(begin + ((event.clientX - left - this.gutter) / this.width) * (end - begin), begin, end);
  }

  private laneOf(event: MouseEvent): number | null {
    if (!this.perQuery) return null;
    const place = Math.floor((event.clientY - this.lanes.getBoundingClientRect().top) / this.lane);
    return place >= 0 && place < this.scene.rows.items.length ? place : null;
  }

  private queryOf(event: MouseEvent): number | null {
    const { top, height } = this.map.getBoundingClientRect();
    const [first, count] = within(this.queries, this.span);
    return count === 0 ? null : first + clamp(Math.floor(((event.clientY - top) / height) * count), 0, count - 1);
  }

  // -- pointing and choosing

  private pointAt(event: PointerEvent, from: number | null): void {
    const { scene } = this;
    const time = this.timeOf(event);
    const to = placeAt(this.keys, time);
    this.put(this.hair, time);
    if (to < 0) return;
    if (from !== null) {
      scene.owner.hover(scene, { from, to });
      return scene.owner.tip(pairTip(scene, from, to), event.clientX, event.clientY);
    }
    const chosen = scene.focus?.from ?? null;
    const lines = this.maps.slice(0, 12).map((map) => h("tr", {}, h("td", {}, scene.name(map.head)), h("td", {}, figure(chosen === null ? received(map)[to]! : value(map, chosen * map.columns + to)))));
    const about = chosen === null ? "mean over all queries" : `from ${name(scene.rows.items[chosen])}`;
    scene.owner.tip(h("div", {}, h("b", {}, `${clock(time)} s`), h("span.dim", {}, ` ${about}`), h("table", {}, ...lines)), event.clientX, event.clientY);
  }

  private left(): void {
    this.hair.hidden = true;
    this.scene.leave();
  }

  // A click on a lane or on the map chooses its query, with shift the pair; on a head's lane it goes there.
  private choose(event: MouseEvent, from: number | null): void {
    const { scene } = this;
    const to = placeAt(this.keys, this.timeOf(event));
    if (from === null || to < 0) return this.seek(this.timeOf(event), true);
    scene.owner.choose(scene, clickedCell(scene.pinned, from, to, event.shiftKey));
  }

  // -- time

  /** Go to a time; `play`: go on from there, where the sound is here. */
  private seek(time: number, play: boolean): void {
    const { player } = this;
    this.at = clamp(time, 0, this.sound.seconds);
    if (player && (play || player.playing) && this.at < this.sound.heard) void this.start();
    else {
      player?.pause();
      this.stopped();
    }
  }

  /** Play or pause. */
  toggle(): void {
    const { player } = this;
    if (!player) return;
    if (player.playing) {
      player.pause();
      return this.stopped();
    }
    if (this.at >= this.sound.heard - 0.02) this.at = 0;
    void this.start();
  }

  get playable(): boolean {
    return this.player !== null && this.root.checkVisibility();
  }

  private async start(): Promise<void> {
    try {
      await this.player!.play(this.at);
    } catch (error) {
      this.told.textContent = `This sound cannot be played: ${error instanceof Error ? error.message : String(error)}`;
      return;
    }
    this.shows();
    cancelAnimationFrame(this.frame);
    const tick = (): void => {
      if (!this.player?.playing) return;
      if (!this.root.checkVisibility()) return this.toggle();
      this.at = this.player.time;
      const [begin, end] = this.span;
      // The stretch goes along with the sound.
      if (this.at > end || this.at < begin) this.scene.owner.set({ span: asState(shownSpan([this.at, this.at + end - begin], this.sound.seconds, this.sound.heard), this.sound.seconds, this.sound.heard) });
      this.moved();
      this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  // It stands still: that is told to the state.
  private stopped(): void {
    cancelAnimationFrame(this.frame);
    if (this.player && !this.player.playing && this.player.time > 0 && this.player.time >= this.sound.heard - 0.02) this.at = this.sound.heard;
    this.scene.owner.set({ time: Math.round(this.at * 1000) / 1000 });
    this.shows();
    this.moved();
  }

  // The line stands elsewhere.
  private moved(): void {
    const { scene, spectrum } = this;
    this.put(this.line, this.at);
    this.told.textContent = `${clock(this.at)} / ${clock(this.sound.heard)} s`;
    spectrum.setAttribute("aria-valuenow", this.at.toFixed(2));
    spectrum.setAttribute("aria-valuetext", `${clock(this.at)} seconds`);
    const place = scene.state.follow ? placeAt(this.alike ? this.queries : this.keys, this.at) : -1;
    scene.owner.follow(scene, place < 0 ? null : this.alike ? { from: place, to: null } : { from: null, to: place });
  }

  private put(line: HTMLElement, time: number): void {
    const [begin, end] = this.span;
    line.hidden = time < begin || time > end;
    line.style.transform = `translateX(${this.gutter + ((time - begin) / (end - begin)) * this.width}px)`;
  }

  private key(event: KeyboardEvent): void {
    if (!this.keyed || event.metaKey || event.ctrlKey || event.altKey) return;
    const keys = this.keys;
    const here = placeAt(keys, this.at);
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageUp: 10, PageDown: -10 }[event.key];
    const to = by !== undefined ? here + by : event.key === "Home" ? within(keys, this.span)[0] : event.key === "End" ? keys.length - 1 : null;
    if (to !== null) {
      const span = keys[clamp(to, 0, keys.length - 1)];
      if (span) this.seek((span[0] + span[1]) / 2, false);
    } else if (event.key === "Enter") this.scene.owner.pin(this.scene, this.alike ? "from" : "to", here, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // -- the shown stretch

  /** Closer or farther, about the line where it can be seen, else about the middle. */
  step(factor: number): void {
    const [begin, end] = this.span;
    this.zoom(factor, this.at > begin && this.at < end ? this.at : (begin + end) / 2);
  }

  /** All of the sound, and then all that the model hears. */
  whole(): void {
    const { seconds, heard } = this.sound;
    const unasked = shownSpan(null, seconds, heard);
    this.scene.owner.set({ span: this.scene.state.span === null && unasked[1] < seconds ? [0, seconds] : null });
  }

  private zoom(factor: number, about: number): void {
    const { seconds, heard } = this.sound;
    this.scene.owner.set({ span: asState(zoomedSpan(this.span, factor, about, seconds), seconds, heard) });
  }

  private drag(event: PointerEvent): void {
    const { clock: ruler, scene } = this;
    const { seconds, heard } = this.sound;
    const [start, from] = [event.clientX, this.span];
    ruler.setPointerCapture(event.pointerId);
    const move = ({ clientX }: PointerEvent): void => {
      const by = ((start - clientX) / this.width) * (from[1] - from[0]);
      scene.owner.set({ span: asState(movedSpan(from, by, seconds), seconds, heard) });
    };
    ruler.addEventListener("pointermove", move);
    for (const end of ["pointerup", "pointercancel"] as const) ruler.addEventListener(end, () => ruler.removeEventListener("pointermove", move), { once: true });
  }

  // -- drawing

  update(width: number): void {
    const { scene } = this;
    const { picture, sound } = scene.input;
    if (!picture || !sound) return;
    this.gutter = width < 520 ? GUTTER.narrow : GUTTER.wide;
    this.width = Math.max(80, width - this.gutter - NUMBERS);
    this.stage.style.setProperty("--gutter", `${this.gutter}px`);
    this.root.setAttribute("aria-label", `${scene.name()} on the sound${picture.name ? ` ${picture.name}` : ""}`);
    this.spectrum.setAttribute("aria-valuemax", sound.seconds.toFixed(2));
    if (scene.state.time !== null && !this.player?.playing) this.at = scene.state.time;
    if (`${picture.src}${scene.owner.theme}` !== this.shown + this.theme) {
      [this.shown, this.theme] = [picture.src, scene.owner.theme];
      this.done = false;
      imageOf(picture)
        .then((image) => (this.source = inked(image, scene.owner.theme)))
        .catch((error: unknown) => scene.owner.fail(error))
        .finally(() => {
          this.done = true;
          this.drawn = "";
          this.paint();
        });
    }
    this.drawn = "";
    this.paint();
  }

  focus(): void {
    const { state } = this.scene;
    if (state.time !== null && state.time !== this.at && !this.player?.playing) {
      this.at = state.time;
      this.moved();
    }
    this.paint();
  }

  private paint(): void {
    const { scene, source } = this;
    if (!source || this.root.hidden) return;
    this.maps = scene.shown();
    const map = this.maps.at(-1);
    if (!map) return;
    const { from, to } = scene.focus ?? { from: null, to: null };
    const drawn = JSON.stringify([scene.key, from, to]);
    if (drawn === this.drawn) return;
    const all = this.drawn === "";
    this.drawn = drawn;
    const { span, width } = this;
    const keys = this.keys;
    const height = width < 420 ? 104 : 150;
    const pen = drawSpectrogram(this.spectrum, source, this.sound.seconds, span, width, height);
    const shares = from !== null ? row(map, from) : to !== null && this.alike ? column(map, to) : null;
    if (shares) this.fade(pen, shares, from !== null ? keys : this.queries, height);
    if (all) {
      drawHertz(this.hertz, scene, this.sound.rate, this.gutter - 4, height);
      drawClock(this.clock, scene, span, width, NUMBERS);
      drawSpoken(this.spoken, this.sound.words, span, width);
      this.controls();
      if (this.alike && this.maps.length === 1) drawMap(this.map, scene, map, this.queries, keys, MAP(width), this.box);
      this.mapped.hidden = !this.alike || this.maps.length > 1;
    }
    this.point(from);
    const found = this.alike ? [] : peaks(map, scene, keys);
    this.peaks.style.setProperty("--c", scene.color(map.head));
    this.peaks.hidden = found.length === 0;
    const hidden = drawPeaks(this.peaks, found, span, width, from, scene);
    this.lay(this.maps, map, from, to);
    this.says(map, from, to, found.length > 0, hidden);
    this.shows();
    this.moved();
  }

  // The row of the map that is chosen.
  private point(from: number | null): void {
    const [first, count] = within(this.queries, this.span);
    this.query.hidden = from === null || from < first || from >= first + count;
    if (from === null) return;
    const tall = MAP(this.width);
    this.query.style.cssText = `top:${((from - first) / count) * tall}px;height:${Math.max(1, tall / count)}px;width:${this.width}px`;
  }

  private get box() {
    return { width: this.width, lane: this.lane, numbers: NUMBERS, span: this.span };
  }

  // What is not listened to fades.
  private fade(pen: CanvasRenderingContext2D, shares: Float64Array, times: Times, height: number): void {
    const most = Math.max(1e-12, largest(shares));
    const seen = onPixels(shares, times, this.span, Math.round(this.width));
    pen.fillStyle = this.scene.owner.ink("--bg");
    for (let x = 0; x < seen.length; ) {
      let end = x + 1;
      while (end < seen.length && seen[end] === seen[x]) end++;
      pen.globalAlpha = FADE * (1 - Math.sqrt(Math.abs(seen[x]!) / most));
      pen.fillRect(x, 0, end - x, height);
      x = end;
    }
    pen.globalAlpha = 1;
  }

  private lay(maps: readonly Shown[], map: Shown, from: number | null, to: number | null): void {
    const { scene, labels } = this;
    const { rows } = scene;
    const lanes: Lane[] = this.perQuery
      ? rows.items.map((_, query): Lane => ({ values: row(map, query), color: scene.color(map.head), on: query === from, ...(to === null ? {} : { number: value(map, query * map.columns + to) }) }))
      : maps.map((each): Lane => ({
          values: from !== null ? row(each, from) : to !== null && this.alike ? column(each, to) : received(each),
          color: scene.color(each.head),
          on: false,
          ...(to === null || this.alike ? {} : { number: from === null ? received(each)[to]! : value(each, from * each.columns + to) }),
        }));
    this.lane = this.perQuery ? laneHeight(lanes.length, touched()) : 34;
    const most = Math.max(1e-12, ...lanes.map((lane) => largest(lane.values)));
    labels.style.setProperty("--rh", `${this.lane}px`);
    labels.style.setProperty("--tw", `${this.gutter - 6}px`);
    const times = !this.perQuery && from === null && to !== null && this.alike ? this.queries : this.keys;
    drawLanes(this.lanes, scene, times, lanes, most, this.box);
    this.labels.hidden = !this.perQuery;
    this.stage.dataset.lanes = this.perQuery ? "queries" : "heads";
    if (this.perQuery) {
      fill(labels, rows.items);
      mark(labels, from, "on");
      mark(labels, scene.pinned?.from ?? null, "pin");
      tell(labels, from, scene.pinned?.from ?? null);
    } else this.heads(maps);
  }

  // The names of heads beside their lanes.
  private heads(maps: readonly Shown[]): void {
    const { scene, stage } = this;
    const laned = stage.querySelector(".laned")!;
    laned.querySelectorAll(".headlane").forEach((label) => label.remove());
    laned.append(...maps.map((map, place) => h("span.headlane", { style: `top:${place * this.lane}px;height:${this.lane}px;color:${scene.color(map.head)}` }, scene.name(map.head))));
  }

  private controls(): void {
    const { scene } = this;
    const { seconds, heard, samples, rate } = this.sound;
    this.follow.show(scene.state);
    const unasked = shownSpan(null, seconds, heard);
    const more = scene.state.span === null && unasked[1] < seconds;
    this.all.hidden = scene.state.span === null && !more;
    this.all.textContent = more ? `all ${seconds.toFixed(seconds < 10 ? 1 : 0)} s that the model hears` : "all of it";
    this.all.title = more ? "With the silence that fills it up" : "All of the sound (0)";
    const bytes = 2 * rate * heard;
    this.size.textContent = samples ? `${(rate / 1000).toFixed(rate % 1000 ? 1 : 0)} kHz, one channel, ${bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`}` : "The sound itself is not in this page";
  }

  private shows(): void {
    const { button, player } = this;
    const on = player?.playing === true;
    button.setAttribute("aria-label", on ? "Pause" : "Play");
    button.title = on ? "Pause (space)" : "Play (space)";
    button.classList.toggle("on", on);
  }

  private says(map: Shown, from: number | null, to: number | null, peaked: boolean, hidden: number): void {
    const { scene, perQuery, alike } = this;
    const { rows, columns } = scene;
    const called = (items: readonly Item[], place: number): string => name(items[place]);
    const what = from !== null ? `where ${called(rows.items, from)} looks` : to !== null && alike ? `which frames look at ${called(columns.items, to)}` : "mean over all queries";
    this.title.textContent = perQuery ? `each ${scene.state.unit === "words" && scene.part.query.words ? "word" : "token"}: how much each frame gets` : this.maps.length > 1 ? `each head: ${what}` : what;
    const parts: string[] = [];
    const shares = from === null ? received(map) : row(map, from);
    const all = Array.from(shares).reduce((sum, each) => sum + Math.abs(each), 0);
    const times = this.keys;
    const [, end] = this.span;
    if (!map.sign && !scene.against && all > 1e-9) {
      const best = Array.from(shares).reduce((most, each, place) => (each > shares[most]! ? place : most), 0);
      const span = times[best];
      if (span) parts.push(`${from === null ? "On average most" : `${called(rows.items, from)}: most`} at ${clock(span[0])}–${clock(span[1])} s (${figure(shares[best]!)})`);
      const behind = Array.from(shares).reduce((sum, each, place) => sum + (times[place] && times[place][0] >= this.sound.heard - 1e-6 ? each : 0), 0) / all;
      if (behind > 0.0005) parts.push(`${percent(behind)} on the silence after the sound${end <= this.sound.heard + 1e-6 ? ", which is not shown" : ""}`);
    }
    if (peaked) parts.push(`▾ words stand where the weight of ${scene.name(map.head)} is largest${hidden > 0 ? `; ${plural(hidden, "word")} without room` : ""}`);
    parts.push("heights and shades by the root of the weight");
    const hint = touched() ? "Tap the spectrogram to play from there, a lane to choose it." : "Click the spectrogram to play from there, a lane to choose it; space plays.";
    this.caption.replaceChildren(`${parts.join(" · ")}. `, h("span", { "data-export": "no" }, hint));
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    this.player?.destroy();
  }
}
