// Elements without a framework. Text from data only ever becomes a text node.

export type Child = Node | string | null | undefined | false;

type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

function fill(element: Element, attributes: Attributes, children: readonly Child[]): void {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, String(value));
  }
  element.append(
    ...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false),
  );
}

/** An element `tag.class.class` with attributes (`on…` are listeners) and children; strings become text. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K | `${K}.${string}`,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name as K);
  if (classes.length > 0) element.className = classes.join(" ");
  fill(element, attributes, children);
  return element;
}

/** An SVG element, like `h`. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

/** Device pixels a CSS pixel; at least 2, so that a printed canvas is sharp. */
export function pixelRatio(): number {
  return Math.min(3, Math.max(2, window.devicePixelRatio || 1));
}

/** Give a canvas this size in CSS pixels, clear it, and return its context in CSS pixels. */
export function fit(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = pixelRatio();
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser gives no 2D canvas");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Whether what points is a finger: nothing hovers, and what is pressed is as large as one. */
export const touched = (): boolean => window.matchMedia("(pointer: coarse)").matches;
