// Elements without a framework. Text from data only ever becomes a text node.

export type Child = Node | string | null | undefined | false;

export type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

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
