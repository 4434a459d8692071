// Elements without a framework. Text from data only ever becomes a text node.

import { clamp } from "../scene/format";

export type Child = Node | string | null | undefined | false;

type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/** Attributes where there are any, and children. */
type Content = readonly [Attributes, ...Child[]] | readonly Child[];

const plain = (first: Attributes | Child): first is Attributes =>
  typeof first === "object" && first !== null && !(first instanceof Node);

function fill(element: Element, content: Content): void {
  const [first, ...rest] = content;
  const attributes = plain(first) ? first : {};
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, String(value));
  }
  const children = attributes === first ? rest : (content as readonly Child[]);
  element.append(...children.filter((child): child is Node | string => child != null && child !== false));
}

/**
 * An element `tag.class.class` with attributes (`on…` are listeners) and children; strings become text. A button submits
 * nothing.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K | `${K}.${string}`,
  ...content: Content
): HTMLElementTagNameMap[K] {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name as K);
  if (classes.length > 0) element.className = classes.join(" ");
  if (name === "button") element.setAttribute("type", "button");
  fill(element, content);
  return element;
}

/** An SVG element, like `h`. */
export function s<K extends keyof SVGElementTagNameMap>(tag: K, ...content: Content): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, content);
  return element;
}

/** Whether what points is a finger: nothing hovers, and what is pressed is as large as one. */
export const touched = (): boolean => window.matchMedia("(pointer: coarse)").matches;

/** The element, of those that a selector names, that an event is on; null where it is on none. */
export const around = ({ target }: Pick<Event, "target">, selector: string): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>(selector) : null;

/** Whether a key is pressed with another that makes it the browser's. */
export const modified = ({ metaKey, ctrlKey, altKey }: KeyboardEvent): boolean => metaKey || ctrlKey || altKey;

/** Where an arrow key leads: rows down and columns to the right. */
export const arrow = ({ key }: KeyboardEvent): readonly [down: number, right: number] | undefined =>
  (({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }) as const)[key as "ArrowUp"];

/** An event has been answered. */
export function answered(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}

/** Hear what happens to an element. */
export function listen(
  element: HTMLElement,
  to: { readonly [Kind in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Kind]) => unknown },
): void {
  for (const [kind, run] of Object.entries(to)) element.addEventListener(kind, run as EventListener);
}

/**
 * Hear the keys of an element that was reached by keyboard: after a click they are the page's. `act` says whether a key was
 * its own; what is returned, whether it hears them now.
 */
export function keyed(element: HTMLElement, act: (event: KeyboardEvent) => boolean): () => boolean {
  let on = false;
  element.addEventListener("focus", () => (on = element.matches(":focus-visible")));
  for (const kind of ["pointerdown", "blur"]) element.addEventListener(kind, () => (on = false));
  element.addEventListener("keydown", (event) => on && !modified(event) && act(event) && answered(event));
  return () => on;
}

/** Have these stand in an element, in this order: what is there already is not taken out, for it may be pressed or focused. */
export function arrange(element: Element, wanted: readonly Element[]): void {
  const kept = new Set(wanted);
  for (const child of [...element.children]) if (!kept.has(child)) child.remove();
  let next = element.firstElementChild;
  for (const each of wanted) {
    if (each === next) next = next.nextElementSibling;
    else element.insertBefore(each, next);
  }
}

/** What makes something smaller, or larger, by a factor. */
export const zooms = (by: number, zoom: (factor: number) => void): HTMLElement =>
  h(
    "div.stepper",
    ...(
      [
        ["−", "Zoom out (−)", by],
        ["+", "Zoom in (+)", 1 / by],
      ] as const
    ).map(([label, title, factor]) => h("button", { title, "aria-label": title, onclick: () => zoom(factor) }, label)),
  );

/** Zoom with Ctrl, or ⌘, and the wheel. */
export function wheeled(element: HTMLElement, zoom: (factor: number, event: WheelEvent) => void): void {
  const turn = (event: WheelEvent): void => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.exp(clamp(event.deltaY, -60, 60) / 120), event);
  };
  element.addEventListener("wheel", turn, { passive: false });
}
