// The controls of an explorer: switches, choices, sliders. Each shows the state and asks for another.

import type { Theme } from "../scene/color";
import { Of } from "../scene/made";
import { changed, DEFAULTS, type Full } from "../scene/state";
import { h } from "./dom";

export type Setter = (change: Partial<Full>) => void;

/** The theme that is not shown, or whatever the system says where that is it: every press is seen at once. */
export function otherTheme(shown: Theme, systemIsDark: boolean): Full["theme"] {
  const next = shown === "dark" ? "light" : "dark";
  return (next === "dark") === systemIsDark ? "auto" : next;
}

/** What a button opens over the page: nothing moves. */
export class Panel {
  readonly root: HTMLElement;

  constructor(
    private readonly button: HTMLButtonElement,
    label: string,
    ...inside: (Node | null | undefined)[]
  ) {
    this.root = h("div.panel", { role: "group", "aria-label": label }, ...inside);
    this.open(false);
  }

  get opened(): boolean {
    return this.root.classList.contains("open");
  }

  open(open: boolean): void {
    this.root.classList.toggle("open", open);
    this.button.setAttribute("aria-expanded", String(open));
  }
}

/** One of several, side by side. */
export class Segments<K extends keyof Full> {
  readonly root: HTMLElement;

  private readonly titles: ReadonlyMap<string, string>;

  constructor(
    label: string,
    private readonly key: K,
    set: Setter,
    options: readonly (readonly [Full[K], string, string?])[],
    small = false,
  ) {
    this.titles = new Map(options.map(([value, , title]) => [String(value), title ?? ""]));
    const buttons = options.map(([value, text, title]) =>
      h(
        "button",
        {
          role: "radio",
          "data-v": String(value),
          title: title ?? null,
          onclick: () => set({ [key]: value } as Partial<Full>),
        },
        text,
      ),
    );
    this.root = h(small ? "div.seg.small" : "div.seg", { role: "radiogroup", "aria-label": label }, ...buttons);
  }

  show(state: Full, shown?: unknown): void {
    const value = String(shown ?? state[this.key]);
    for (const button of this.root.children as Iterable<HTMLElement>)
      button.setAttribute("aria-checked", String(button.dataset.v === value));
  }

  /** Whether a choice is there at all. */
  offer(value: string, there: boolean): void {
    for (const button of this.root.children as Iterable<HTMLElement>)
      if (button.dataset.v === value) button.hidden = !there;
  }

  disable(value: string, why: string | null): void {
    const button = [...(this.root.children as Iterable<HTMLButtonElement>)].find((each) => each.dataset.v === value);
    if (!button) return;
    button.disabled = why !== null;
    button.title = why ?? this.titles.get(value) ?? "";
  }
}

type Flag = { [K in keyof Full]: Full[K] extends boolean ? K : never }[keyof Full];

/** On or off. */
export class Switch {
  readonly root: HTMLButtonElement;
  private on = false;

  constructor(
    private readonly key: Flag,
    set: Setter,
    label: string,
    private readonly title: string,
    /** It is on where the state is not. */
    private readonly inverse = false,
  ) {
    this.root = h(
      "button.switch",
      { role: "switch", title, onclick: () => set({ [key]: !this.on } as Partial<Full>) },
      h("i"),
      label,
    );
  }

  show(state: Full): void {
    this.on = state[this.key];
    this.root.setAttribute("aria-checked", String(this.on !== this.inverse));
  }

  call(label: string): void {
    this.root.lastChild!.textContent = label;
  }

  disable(why: string | null): void {
    this.root.disabled = why !== null;
    this.root.title = why ?? this.title;
  }
}

/** A number by a slider, with its value beside it. */
export class Slider {
  private readonly input: HTMLInputElement;
  private readonly output = h("output");
  readonly root: HTMLElement;

  constructor(label: string, title: string, steps: number, set: (position: number) => void) {
    this.input = h("input", {
      type: "range",
      min: 0,
      max: steps,
      step: 1,
      "aria-label": label,
      oninput: () => set(Number(this.input.value)),
    });
    this.root = h("label.group.slider", { title }, h("span.cap", label), this.input, this.output);
  }

  show(position: number, text: string, steps?: number): void {
    if (steps !== undefined) this.input.max = String(steps);
    this.input.value = String(position);
    this.output.textContent = text;
  }
}

/** A choice from a list. */
export class Select {
  readonly input: HTMLSelectElement;
  private readonly listed = new Of();

  constructor(label: string, set: (value: string) => void) {
    this.input = h("select", { "aria-label": label, onchange: () => set(this.input.value) });
  }

  show(value: string, options: readonly (readonly [string, string])[]): void {
    if (this.listed.renewed(options))
      this.input.replaceChildren(...options.map(([name, text]) => h("option", { value: name }, text)));
    this.input.value = value;
  }
}

/**
 * Mark the controls that the state has changed: what is set can be found and undone. Returns how many settings the panel
 * has of these; those of the grid have their place, where they stand from when the state first uses them.
 */
export function used(root: HTMLElement, state: Full): number {
  const keys = new Set<string>(changed(DEFAULTS, state).filter((key) => key !== "heads" || state.heads.length > 1));
  const keysOf = (control: HTMLElement): string[] => control.dataset.keys!.split(",").filter((key) => keys.has(key));
  const controls = [...root.querySelectorAll<HTMLElement>("[data-keys]")];
  for (const control of controls) if (keysOf(control).length > 0) control.dataset.used = "";
  return new Set(controls.filter((control) => control.closest(".panel")).flatMap(keysOf)).size;
}
