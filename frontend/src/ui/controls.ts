// The controls of an explorer: switches, choices, sliders. Each shows the state and asks for another.

import type { Theme } from "../scene/color";
import { Of } from "../scene/made";
import type { Scene } from "../scene/scene";
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

type Options<K extends keyof Full> = readonly (readonly [value: Full[K], text: string, title?: string])[];

/** A control as data: one of several where it has `options`, a slider where it has `steps`, something to press where it has
 * `next`, else on or off. */
interface Spec<K extends keyof Full> {
  /** Its name; by default what stands before it. */
  readonly label?: string | ((scene: Scene) => string);
  readonly title?: string | ((scene: Scene) => string);
  /** What stands before it. */
  readonly cap?: string;
  /** Whether it is there; by default always. */
  when?(scene: Scene): unknown;
  /** What it shows, and what becomes of the state; by default what the key has. */
  of?(scene: Scene): Full[K];
  set?(value: Full[K]): Partial<Full>;
  readonly options?: Options<K> | ((scene: Scene) => Options<K>);
  /** They are many: a list that opens; or small; or the first choice of a page. */
  readonly look?: "list" | "small" | "scale";
  /** Why a choice cannot be taken; false where it is not there at all. */
  choice?(scene: Scene, value: Full[K]): string | false | null | undefined;
  readonly steps?: number | ((scene: Scene) => number);
  /** The step of a value, and what is said of it; the value of a step. */
  step?(value: Full[K], scene: Scene): readonly [at: number, said: string];
  value?(at: number): Full[K];
  /** What the state becomes when it is pressed. */
  next?(scene: Scene): Partial<Full>;
}

/** A control that stands in the page, and shows a scene. */
export interface Control {
  readonly root: HTMLElement;
  show(scene: Scene): void;
}

type Value = Full[keyof Full];
type Any = Spec<keyof Full>;

/** Make the controls of some keys of the state. */
export function controls<K extends keyof Full>(
  set: Setter,
  all: { readonly [Key in K]: Spec<Key> },
): Record<K, Control> {
  const made = Object.entries<Any>(all).map(([key, of]) => {
    const choose = (value: Value): void => set(of.set?.(value) ?? { [key]: value });
    const make = of.look === "list" ? list : of.options ? segments : of.steps ? slider : of.next ? press : toggle;
    const [own, fill] = make(of, choose, set);
    const root = of.cap ? h(make === list ? "label.field" : "div.group", h("span.cap", of.cap), own) : own;
    root.dataset.keys = key;
    const show = (scene: Scene): void => {
      root.hidden = of.when?.(scene) === false;
      if (!root.hidden) fill(scene, of.of?.(scene) ?? scene.state[key as K]);
    };
    return [key, { root, show }];
  });
  return Object.fromEntries(made) as Record<K, Control>;
}

const said = (text: Any["title"] = "", scene?: Scene): string => (typeof text === "string" ? text : text(scene!));

type Make = (
  of: Any,
  choose: (value: Value) => void,
  set: Setter,
) => readonly [root: HTMLElement, fill: (scene: Scene, value: Value) => void];

const optionsOf = ({ options }: Any, scene: Scene): Options<keyof Full> =>
  typeof options === "function" ? options(scene) : options!;

/** One of several, side by side. */
const segments: Make = (of, choose) => {
  const listed = new Of();
  const look = of.look === "scale" ? "scale" : of.look ? "seg.small" : "seg";
  const root = h(`div.${look}`, { role: "radiogroup", "aria-label": said(of.label ?? of.cap) });
  const fill = (scene: Scene, chosen: Value): void => {
    const options = optionsOf(of, scene);
    if (listed.renewed(options)) {
      const held = root.querySelector<HTMLElement>(":focus")?.dataset.v;
      root.replaceChildren(
        ...options.map(([value, text]) =>
          h("button", { role: "radio", "data-v": String(value), onclick: () => choose(value) }, text),
        ),
      );
      [...root.children].find((button): button is HTMLElement => (button as HTMLElement).dataset.v === held)?.focus();
    }
    options.forEach(([value, , title = ""], at) => {
      const button = root.children[at] as HTMLButtonElement;
      const why = of.choice?.(scene, value);
      button.setAttribute("aria-checked", String(value === chosen));
      button.hidden = why === false;
      button.disabled = typeof why === "string";
      button.title = why || title;
    });
  };
  return [root, fill];
};

/** One of many, from a list. */
const list: Make = (of, choose) => {
  const listed = new Of();
  let options: Options<keyof Full> = [];
  const root = h("select", {
    "aria-label": said(of.label ?? of.cap),
    onchange() {
      const found = options.find(([value]) => String(value) === root.value);
      if (found) choose(found[0]);
    },
  });
  const fill = (scene: Scene, chosen: Value): void => {
    options = optionsOf(of, scene);
    if (listed.renewed(options))
      root.replaceChildren(...options.map(([value, text]) => h("option", { value: String(value) }, text)));
    root.value = String(chosen);
  };
  return [root, fill];
};

/** On or off. */
const toggle: Make = (of, choose) => {
  let on = false;
  const label = h("span");
  const root = h("button.switch", { role: "switch", onclick: () => choose(!on) }, h("i"), label);
  const fill = (scene: Scene, value: Value): void => {
    on = value === true;
    const why = of.choice?.(scene, value);
    root.setAttribute("aria-checked", String(on));
    root.disabled = typeof why === "string";
    root.title = why || said(of.title, scene);
    label.textContent = said(of.label, scene);
  };
  return [root, fill];
};

/** A number by a slider, with its value beside it. */
const slider: Make = (of, choose) => {
  const output = h("output");
  const oninput = (): void => choose(of.value!(Number(input.value)));
  const input = h("input", { type: "range", min: 0, step: 1, oninput });
  const cap = h("span.cap");
  const fill = (scene: Scene, value: Value): void => {
    const [at, text] = of.step!(value, scene);
    cap.textContent = input.ariaLabel = said(of.label ?? of.cap, scene);
    input.max = String(typeof of.steps === "function" ? of.steps(scene) : of.steps);
    input.value = String(at);
    output.textContent = text;
  };
  return [h("label.group.slider", { title: said(of.title) }, cap, input, output), fill];
};

/** What is pressed, and says what it does. */
const press: Make = ({ label, title, next }, _, set) => {
  let shown: Scene | undefined;
  const root = h("button.link", { onclick: () => shown && set(next!(shown)) });
  const fill = (scene: Scene): void => {
    shown = scene;
    root.textContent = said(label, scene);
    root.title = said(title, scene);
  };
  return [root, fill];
};

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
