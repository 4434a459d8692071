// Two texts that are read apart: point at a word and its partners light up; a press pins it.

import "./near.css";
import { levelsOf, near, pairSays, together, unitBoxes, unitSays, withQ } from "../draw/near";
import { SvgPen } from "../draw/svg";
import type { CarrierInfo, SimilarPayload, SimilarState } from "../protocol";
import { probability, shortened } from "../scene/format";
import { alike } from "../scene/made";
import { signed } from "../scene/sources";
import { h } from "./dom";
import { headsOf } from "./sources";

interface NearHost {
  dark(): boolean;
  open?(head: CarrierInfo, first: number, input: number): void;
  /** Other units are struck out. */
  struck?(): void;
  /** What else stands among the choices. */
  readonly controls?: readonly HTMLElement[];
}

/** So many pairs stand in the list. */
const LISTED = 8;

export class NearView {
  private readonly text: HTMLElement;
  private readonly picture = h("div.lines");
  private readonly says = h("p.says");
  private readonly about = h("p.sub", { "aria-live": "polite" });
  private readonly notes = h("div");
  private readonly list = h("div.moves", { tabindex: 0 });
  private readonly sizes: ResizeObserver;
  state: SimilarState;
  private pointed: number[] | null = null;
  private printing = false;
  /** The units that are pinned; where words can be struck out, these. */
  struck: readonly number[][];

  constructor(
    readonly root: HTMLElement,
    private payload: SimilarPayload,
    private readonly host: NearHost,
  ) {
    const { pairs, state } = payload;
    this.state = state;
    this.struck = state.pin ? [state.pin] : [];
    const choice = <Name extends "input" | "level" | "drawn">(
      label: string,
      name: Name,
      values: readonly SimilarState[Name][],
      names: readonly string[] = values.map(String),
    ) => {
      const select = h("select", { "aria-label": label }, ...names.map((one) => h("option", one)));
      select.selectedIndex = values.indexOf(this.state[name]);
      select.addEventListener("change", () =>
        this.set({ [name]: values[select.selectedIndex] }, name === "drawn" ? this.struck : []),
      );
      return values.length > 1 && h("label.field", h("span.cap", label), select);
    };
    const places = pairs.map((_, at) => at);
    const documents = pairs.map(({ name }, at) => `${at + 1} · ${name}`);
    const choices = h(
      "div.row",
      ...(host.controls ?? []),
      choice("Document", "input", places, documents),
      choice("Units", "level", levelsOf(payload)),
      choice("Drawn as", "drawn", pairs.some(({ picture }) => picture) ? ["lines"] : ["lines", "matrix"]),
    );
    this.text = h(
      "div.hs.alone.near",
      h("h1.about", payload.title),
      this.says,
      choices,
      h("div.both", h("div", this.picture, this.about), this.list),
      payload.ranked.length > 0 && h("ol", ...payload.ranked.map((line) => h("li", { dir: "auto" }, line))),
      this.notes,
    );
    root.append(this.text);
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(this.picture);
    this.surroundings();
  }

  private set(change: Partial<SimilarState>, struck: readonly number[][]): void {
    this.state = { ...this.state, ...change };
    this.struck = struck;
    this.draw();
  }

  /** Show another; what is struck out stays where the units do. */
  update(payload: SimilarPayload): void {
    const [before, after] = [this.payload, payload].map(({ pairs }) =>
      pairs.map(({ units }) => units.map((some) => some.map(({ text }) => text))),
    );
    const same = alike(before, after);
    if (!same) this.pointed = null;
    this.payload = payload;
    this.set({ level: payload.state.level }, same ? this.struck : []);
  }

  /** Pin a unit, or strike more of them out. */
  strike(struck: readonly number[][]): void {
    this.set({}, struck);
    this.host.struck?.();
  }

  private point(unit: number[] | null): void {
    this.pointed = unit;
    this.draw(true);
  }

  /** Draw; where something is `pointed` at, only the picture and what is said below it. */
  private draw(pointed = false): void {
    const width = this.picture.clientWidth;
    if (width === 0) return;
    const pair = this.payload.pairs[this.state.input]!;
    const focus = this.pointed ?? this.struck.at(-1) ?? null;
    const theme = this.text.dataset.theme === "dark" ? "dark" : "light";
    const block = near(pair, this.state, theme, width, focus, this.struck);
    const pen = new SvgPen(width, block.height);
    block.draw(pen);
    const drawing = this.picture.querySelector(".drawing") ?? h("div.drawing", { "aria-hidden": "true" });
    drawing.innerHTML = pen.document();
    this.about.textContent = focus
      ? unitSays(pair, this.state.level, focus)
      : pair.picture
        ? "Shade: what the similarity loses without it. Point at a word or at a patch, and the others are shaded by what they give with it; click to pin it."
        : "A line joins two words that give more together than apart; an orange one, less. Shade: what the similarity loses without the word. Point at a word; click to " +
          (this.host.struck ? "strike it out." : "pin it.");
    if (pointed) return;
    this.says.textContent = pairSays(pair);
    this.notes.replaceChildren(...this.payload.notes.map((note) => h("p.sub", note)));
    const rows = unitBoxes(pair, this.state, width).map(({ side, place, x, y, width: wide, height }) => {
      const unit = [side, place];
      const others = this.struck.filter((one) => !alike(one, unit));
      const on = others.length < this.struck.length;
      const { text, effect, q } = pair.units[side]![place]!;
      return h("button.unit", {
        style: `left: ${x}px; top: ${y}px; width: ${wide}px; height: ${height}px`,
        "aria-label": `${"AB"[side]}: ${text}, ${withQ(effect, q)}`,
        "aria-pressed": String(on),
        onclick: () => this.strike(on || this.host.struck ? [...others, ...(on ? [] : [unit])] : [unit]),
        onpointerenter: () => this.point(unit),
        onpointerleave: () => this.point(null),
        onfocus: () => this.point(unit),
        onblur: () => this.point(null),
      });
    });
    const focused = [...this.picture.querySelectorAll(".unit")].findIndex((each) => each.matches(":focus"));
    this.picture.replaceChildren(drawing, h("div.units", ...rows));
    rows[focused]?.focus();
    const cells = together(pair, this.state.level)
      .slice(0, LISTED)
      .map(({ a, b, value, q }) =>
        h(
          "tr",
          h("td", shortened(pair.units[0]![a]!.text, 60)),
          h("td", shortened(pair.units[1]![b]!.text, 60)),
          h("td.number", signed(value)),
          h("td.number", q === null ? "" : probability(q)),
        ),
      );
    const tested = pair.q.flat().some((q) => q !== null);
    const head = h("tr", ...["A", "B", "together", tested && "q"].map((name) => name && h("th", name)));
    const carried = pair.units.flatMap((some, side) =>
      some
        .filter(({ heads }) => heads.length > 0)
        .flatMap(({ text, first, heads }) => [
          h("h3", `“${shortened(text, 40)}” of ${"AB"[side]} goes through (estimate)`),
          h("ul", ...headsOf(heads, this.host.open && ((one) => this.host.open!(one, first, side)))),
        ]),
    );
    this.list.replaceChildren(h("table", h("thead", head), h("tbody", ...cells)), ...carried);
  }

  surroundings(): void {
    const { theme } = this.state;
    const dark = theme === "dark" || (theme === "auto" && this.host.dark());
    this.text.dataset.theme = dark && !this.printing ? "dark" : "light";
    this.draw();
  }

  print(on: boolean): void {
    this.printing = on;
    this.surroundings();
  }

  key(): void {}

  readonly settled = true;

  destroy(): void {
    this.sizes.disconnect();
    this.root.replaceChildren();
  }
}
