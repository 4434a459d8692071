// Where an answer came from: point at a word of the answer and its sources light up, at a source and the words that need
// it do; a press gives the figures of a span, with its heads, or of words in a row.

import type { CarrierInfo, SourceInfo, SourcesPayload, SourcesState } from "../protocol";
import { code, decimal, probability, shortened } from "../scene/format";
import {
  certainty,
  hangs,
  largest,
  levels,
  lost,
  named,
  ORIGIN,
  reach,
  type Shade,
  scale,
  shade,
  signed,
  statementOf,
  stretches,
  title,
  told,
  value,
  within,
  written,
} from "../scene/sources";
import { answered, h, listen, modified, s } from "./dom";

interface SourcesHost {
  /** Open a head where the span outlined is; where it is not there, heads are names. */
  open?(head: CarrierInfo, span: SourceInfo): void;
  /** Make a change of what the model sees of the prompt, or take it back. */
  toggle?(change: string): void;
  /** The prompt is shaded otherwise. */
  shaded?(prompt: Element): void;
}

/** What can be done to a span, how it is taken back, and the change of attention that it is. */
const DEEDS: readonly (readonly [string, string, (places: string) => string])[] = [
  ["Strike it out", "Put it back", (places) => `all hide >${places}`],
  ["Look at it twice as much", "Look at it as before", (places) => `all scale >${places} 2.0`],
];
const STRIKE = DEEDS[0]![2];
const places = ({ first, last }: SourceInfo): string => `${first}${last > first ? `-${last}` : ""}`;

export class Sources {
  readonly root = h("section.sources", { "aria-label": "Sources of the answer" });
  state: SourcesState;
  private readonly text = h("div.prompt", { role: "group", "aria-label": "The prompt" });
  private readonly answer = h("div.answer", { role: "group", "aria-label": "The answer" });
  private readonly detail = h("aside.detail", { "aria-live": "polite" });
  private readonly ticks = h("div.ticks");
  private readonly of = h("span.cap");
  private readonly first = h("p.sub");
  /** What stands for each span and each word. */
  private spans = new Map<number, Element[]>();
  private readonly words = new Map<number, Element>();
  private changes: readonly string[] = [];
  private hovered: Pointed = {};
  /** The word at which a drag over the answer began, and whether it has left it. */
  private drag: { word?: number; moved: boolean } | null = null;

  constructor(
    readonly payload: SourcesPayload,
    private readonly host: SourcesHost = {},
  ) {
    this.state = { ...payload.state };
    const choice = (key: "by" | "level", label: string, options: readonly string[]) => {
      const input = h("select", { "aria-label": label }, ...options.map((one) => h("option", one)));
      input.value = this.state[key];
      input.addEventListener("change", () => this.set({ [key]: input.value, span: null, words: null }));
      return options.length > 1 && h("label.field", h("span.cap", label), input);
    };
    const estimated = payload.spans.some(({ estimate }) => estimate !== null);
    const shades = (["effect", "estimate"] as const).filter((by) => by === "effect" || estimated);
    const legend = h("div.scale", { "aria-hidden": "true" }, this.of, h("i.ramp"), this.ticks);
    const choices = [choice("by", "Shade by", shades), choice("level", "Spans", levels(payload))];
    const heads = h("div.panehead", ...choices, h("span.grow"), legend);
    const notes = h("div.says", ...payload.says.map((line) => h("p", line)));
    this.root.append(
      heads,
      h(
        "div.both",
        h("div.read", this.text, this.first, h("div.cap", ORIGIN[payload.origin]), this.answer, notes),
        this.detail,
      ),
    );
    this.fillAnswer();
    this.fill();
    this.tell();
    for (const kind of ["pointerover", "focusin"] as const)
      this.root.addEventListener(kind, (e) => this.point(e.target));
    for (const kind of ["pointerleave", "focusout"] as const) this.root.addEventListener(kind, () => this.point(null));
    this.root.addEventListener("pointerover", (event) => this.extend(event));
    listen(this.root, {
      pointerdown: ({ target, pointerId }) => {
        this.drag = this.answer.contains(target as Node) ? { ...of(target), moved: false } : null;
        // A finger holds what it went down on: let go, so that it is over what it is dragged over.
        if (this.drag) (target as Element).releasePointerCapture?.(pointerId);
      },
      click: ({ target }) => this.drag?.moved || this.press(target),
      keydown: (event) => this.key(event),
    });
  }

  /** Tell which changes are made. */
  made(changes: readonly string[]): void {
    this.changes = changes;
    this.shade();
    this.tell();
  }

  set(change: Partial<SourcesState>): void {
    const level = this.state.level;
    this.state = { ...this.state, ...change };
    if (this.state.level !== level) this.fill();
    else this.shade();
    this.tell();
  }

  private fill(): void {
    const { payload, state } = this;
    this.spans = new Map();
    const known = (span: number, element: Element): Element => {
      this.spans.set(span, [...(this.spans.get(span) ?? []), element]);
      return element;
    };
    const named = (span: number): Record<string, string | number> => ({
      "data-span": span,
      role: "button",
      tabindex: this.spans.size === 0 ? 0 : -1,
    });
    const parts: Node[] = [];
    if (payload.picture) {
      const { src, width, height, name } = payload.picture;
      const areas = payload.spans.flatMap(({ box, level }, span) => {
        if (!box || level !== state.level) return [];
        const [x, y, right, bottom] = box as [number, number, number, number];
        return [known(span, s("rect", { ...named(span), x, y, width: right - x, height: bottom - y }))];
      });
      const image = s("image", { href: src, width, height, preserveAspectRatio: "none" });
      parts.push(
        s(
          "svg",
          { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "xMinYMin", class: "areas", "aria-label": name },
          image,
          ...areas,
        ),
      );
    }
    const all = stretches(payload, state.level);
    const words = all.map(({ text, span }) =>
      span === null ? document.createTextNode(text) : known(span, h("span.src", { ...named(span), dir: "auto" }, text)),
    );
    const alone = all[0]?.span === null ? all[0].text.trim() : "";
    this.first.textContent =
      alone && `“${shortened(alone)}” is in no span: heads park their attention on the first token.`;
    if (payload.prompt.trim()) parts.push(h("p.para", ...words));
    this.text.replaceChildren(...parts);
    this.shade();
  }

  private fillAnswer(): void {
    const parts = written(this.payload).map(({ text, word }) => {
      if (word === null) return text;
      const one = h("span.src", { "data-word": word, role: "button", tabindex: word ? -1 : 0 }, text);
      this.words.set(word, one);
      return one;
    });
    this.answer.replaceChildren(h("p.para", { dir: "auto" }, ...parts));
  }

  private shade(): void {
    const { payload, state, hovered } = this;
    const { word } = hovered;
    const shown = { ...state, words: word === undefined || within(word, state.words) ? state.words : [word, word] };
    const span = hovered.span ?? state.span;
    const most = reach(payload, shown);
    for (const [place, elements] of this.spans) {
      const x = value(payload, shown, place);
      const lit = shown.words !== null && hangs(payload, shown.words, place);
      const marks = { lit, none: x === null, struck: this.changes.includes(STRIKE(places(payload.spans[place]!))) };
      for (const element of elements) paint(element, shade(x, most), place === state.span, marks);
    }
    const shades = span === null ? [] : lost(payload, span);
    for (const [place, element] of this.words) {
      const lit = span !== null && hangs(payload, [place, place], span);
      paint(element, shades[place] ?? shade(null, 1), within(place, state.words), { lit });
    }
    this.host.shaded?.(this.text);
    const { of, ticks } = scale(payload, shown);
    this.of.textContent = of;
    this.ticks.replaceChildren(...ticks.map((tick) => h("span", tick)));
  }

  /** The figures of the chosen span. */
  private tell(): void {
    const { payload, host, state } = this;
    const place = state.span;
    this.root.classList.toggle("told", place !== null || state.words !== null);
    if (place === null) {
      const { words } = state;
      const statement = words && payload.statements.find((one) => words.every((word) => within(word, one.words)));
      const some = largest(payload, state);
      const known = some.map((span) => certainty(payload, words, span));
      const tested = known.some((q) => q !== null);
      const rows = some.map((span, row) =>
        h(
          "tr",
          h("td", h("button.link", { onclick: () => this.go(span) }, shortened(payload.spans[span]!.text))),
          h("td", signed(value(payload, state, span)!)),
          tested && h("td", known[row] == null ? "" : probability(known[row])),
        ),
      );
      const [column, about] = words || state.by === "effect" ? ["nats", "nats lost without it"] : ["slope", "estimate"];
      return this.detail.replaceChildren(
        h(
          "p.sub",
          "Press a part of the prompt for its figures, or a word of the answer; several: drag, or Shift and arrows.",
        ),
        h("h3", words ? `The sources of ${named(payload, words)}` : "The largest"),
        h("table", h("tr", h("th", "part"), h("th", { title: about }, column), tested && h("th", "q")), ...rows),
        words && statement && payload.statements.length > 1 && statementOf(payload, words) < 0
          ? h("button.link", { onclick: () => this.set({ words: statement.words }) }, "The whole statement")
          : "",
      );
    }
    const span = payload.spans[place]!;
    const heads = headsOf(span.heads, host.open && ((head) => host.open!(head, span)));
    this.detail.replaceChildren(
      h("h2", title(span, place)),
      h("blockquote", { dir: "auto" }, span.text),
      ...told(payload, place).map((line) => h("p", line)),
      ...(heads.length > 0 ? [h("h3", "Through these heads (estimate)"), h("ul", ...heads)] : []),
      ...(span.without ? [h("h3", "Without it the model writes"), h("blockquote", { dir: "auto" }, span.without)] : []),
      host.toggle ? h("div.row", ...DEEDS.map((deed) => this.deed(span, ...deed))) : "",
    );
  }

  private deed(span: SourceInfo, does: string, undoes: string, of: (places: string) => string): HTMLElement {
    const change = of(places(span));
    const text = this.changes.includes(change) ? undoes : does;
    return h("button.link", { onclick: () => this.host.toggle!(change) }, text);
  }

  private go(span: number): void {
    this.set({ span });
    this.spans.get(span)?.[0]?.scrollIntoView({ block: "nearest" });
  }

  private point(target: EventTarget | null): void {
    const hovered = of(target);
    if (hovered.span === this.hovered.span && hovered.word === this.hovered.word) return;
    this.hovered = hovered;
    this.shade();
  }

  private press(target: EventTarget | null): void {
    const { span, word } = of(target);
    if (span !== undefined) this.set({ span: span === this.state.span ? null : span });
    if (word !== undefined) this.choose(this.state.words?.every((one) => one === word) ? null : [word, word]);
  }

  private choose(words: number[] | null): void {
    this.set({ words, span: null });
  }

  // A selection of text does not say it: where it begins at the edge of what can be focused, Chromium makes none.
  private extend({ target, buttons }: PointerEvent): void {
    const { drag } = this;
    const { word } = of(target);
    if (!(buttons & 1) || !drag || word === undefined) return;
    drag.word ??= word;
    drag.moved ||= word !== drag.word;
    if (drag.moved) this.choose([Math.min(drag.word, word), Math.max(drag.word, word)]);
  }

  // Arrow keys go from part to part: one stop for the Tab key in the prompt, and one in the answer.
  private key(event: KeyboardEvent): void {
    const target = event.target instanceof Element ? event.target : null;
    if (!target?.matches("[data-span], [data-word]") || modified(event)) return;
    const { span } = of(target);
    const all = span === undefined ? [...this.words.values()] : [...this.spans.values()].map(([first]) => first!);
    const at = span === undefined ? all.indexOf(target) : [...this.spans.keys()].indexOf(span);
    const to = { ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1 }[event.key];
    const next = to === undefined ? undefined : (all[to] as HTMLElement | undefined);
    if (event.key === "Enter" || event.key === " ") this.press(target);
    else if (event.key === "Escape") this.set({ span: null, words: null });
    else if (to === undefined || !next) return;
    else {
      if (event.shiftKey && span === undefined) {
        const { words } = this.state;
        const end = words?.includes(at) ? words[0]! + words[1]! - at : at;
        this.choose([Math.min(end, to), Math.max(end, to)]);
      }
      all[at]?.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    }
    answered(event);
  }
}

/** Heads that carry a part: the estimate of each, and what is lost where it alone does not see that; each opens. */
export function headsOf(heads: readonly CarrierInfo[], open?: (head: CarrierInfo) => void): HTMLElement[] {
  const several = heads.some(({ part }) => part !== heads[0]!.part);
  return heads.map((head) => {
    const name = code(head.layer, head.head) + (several ? ` ${head.part}` : "");
    const alone = head.effect === null ? "" : `, masked alone ${signed(head.effect)}`;
    const opened = open && h("button.link", { title: "Open this head", onclick: () => open(head) }, name);
    return h("li", opened ?? h("b", name), ` ${signed(head.estimate ?? NaN)}${alone}`);
  });
}

interface Pointed {
  readonly span?: number;
  readonly word?: number;
}

function of(target: EventTarget | null): Pointed {
  const { span, word } =
    (target instanceof Element ? target.closest<HTMLElement>("[data-span], [data-word]") : null)?.dataset ?? {};
  return { ...(span !== undefined && { span: Number(span) }), ...(word !== undefined && { word: Number(word) }) };
}

function paint(element: Element, { strength, tone }: Shade, on: boolean, marks: Record<string, boolean>): void {
  const { style } = element as HTMLElement;
  style.setProperty("--shade", `${decimal(strength, 1)}%`);
  style.setProperty("--tone", `var(--${tone})`);
  element.setAttribute("aria-pressed", String(on));
  for (const [name, has] of Object.entries(marks)) element.classList.toggle(name, has);
}
