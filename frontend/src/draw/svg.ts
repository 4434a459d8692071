// A pen that writes SVG.

import type { Pen } from "./canvas";

const round = (x: number): string => String(Math.round(x * 100) / 100);

/** Text that may stand in XML. */
const xml = (text: string): string =>
  text
    .replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c)
    .replace(/[^\P{Cc}\t\n]/gu, "�");

const RTL = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc";
const FROM_THE_RIGHT = new RegExp(`[${RTL}]+(?:[\\s\\p{P}]+[${RTL}]+)*`, "gu");

/** Text in which what is read from the right stands for itself: the number after it stays after it. */
const isolated = (text: string): string =>
  text.replace(FROM_THE_RIGHT, (run) => (run === text ? run : `\u2068${run}\u2069`));

/** Stands in names until all is drawn; text has no such character. */
const OWN = "\0";

// FNV-1a: short, and another for whatever differs.
function checksum(text: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return (sum >>> 0).toString(36);
}

export class SvgPen implements Pen {
  globalAlpha = 1;
  fillStyle: string = "#000";
  strokeStyle: string = "#000";
  lineWidth = 1;
  font = "400 13px sans-serif";
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  /** Of lines: how long strokes and gaps are. */
  dash = "";
  /** The row of a table that what follows shows. */
  row: number | null = null;
  private readonly parts: string[] = [];
  private path = "";
  private clips = 0;
  private readonly defined = new Map<string, string>();

  constructor(
    private readonly width: number,
    private readonly height: number,
  ) {}

  /**
   * The whole; `style` is a style sheet, such as the font that the text is in. What is defined has names that another
   * drawing in the same page has not.
   */
  document(title = "", style = ""): string {
    const drawn = this.parts.join("");
    const body = drawn.replaceAll(OWN, `s${checksum(drawn)}-`);
    const named = title && `<title>${xml(title)}</title>`;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">${named}${body}${style && `<style>${style}</style>`}</svg>`;
  }

  /** What follows has its corner here, until `end`; with a size it is cut off at its edges, which takes time. */
  group(x: number, y: number, width?: number, height?: number): void {
    const place = `<g transform="translate(${round(x)} ${round(y)})"`;
    if (width === undefined || height === undefined) return void this.parts.push(`${place}>`);
    const name = `${OWN}c${this.clips++}`;
    this.parts.push(
      `<clipPath id="${name}"><rect width="${round(width)}" height="${round(height)}"/></clipPath>${place} clip-path="url(#${name})">`,
    );
  }

  /** What follows is as one so opaque, until `end`. */
  fade(opacity: number): void {
    this.parts.push(opacity < 1 ? `<g opacity="${round(opacity)}">` : "<g>");
  }

  end(): void {
    this.parts.push("</g>");
  }

  /** A drawing that is SVG already, from this corner. */
  raw(drawing: string, x: number, y: number): void {
    this.parts.push(`<g transform="translate(${round(x)} ${round(y)})">${drawing}</g>`);
  }

  /** `smooth`: pixels run into each other. */
  image(url: string, x: number, y: number, width: number, height: number, smooth = false): void {
    const style = smooth ? "" : ' style="image-rendering:pixelated"';
    this.parts.push(
      `<image href="${url}" x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" preserveAspectRatio="none"${style}/>`,
    );
  }

  /**
   * A part (left, top, right, bottom) of a picture of a size, whose address stands once in the document; `matrix`: its
   * colours through this one, as of feColorMatrix.
   */
  photo(
    url: string,
    [wide, tall]: readonly [number, number],
    [left, top, right, bottom]: readonly [number, number, number, number],
    [x, y, width, height]: readonly [number, number, number, number],
    matrix?: readonly number[],
  ): void {
    const image = this.once(
      url,
      (id) =>
        `<image id="${id}" href="${url}" width="${round(wide)}" height="${round(tall)}" preserveAspectRatio="none"/>`,
    );
    const box = (x: number, y: number, w: number, h: number, view: readonly number[], inside: string): string =>
      `<svg x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" viewBox="${view.map(round).join(" ")}" preserveAspectRatio="none">${inside}</svg>`;
    const view = [left, top, right - left, bottom - top];
    const use = `<use href="#${image}"/>`;
    if (!matrix) return void this.parts.push(box(x, y, width, height, view, use));
    const filter = this.once(
      matrix.join(" "),
      (id) =>
        `<filter id="${id}" x="0" y="0" width="1" height="1" color-interpolation-filters="sRGB"><feColorMatrix values="${matrix.map((each) => Math.round(1e4 * each) / 1e4).join(" ")}"/></filter>`,
    );
    // A PDF has a filtered picture as pixels, three to two of the units that it stands in.
    const fine = [2 * width, 2 * height] as const;
    const inside = `<g filter="url(#${filter})">${box(0, 0, ...fine, view, use)}</g>`;
    this.parts.push(box(x, y, width, height, [0, 0, ...fine], inside));
  }

  // The name of what is defined once for the document.
  private once(key: string, made: (id: string) => string): string {
    let id = this.defined.get(key);
    if (!id) {
      id = `${OWN}d${this.defined.size}`;
      this.defined.set(key, id);
      this.parts.push(`<defs>${made(id)}</defs>`);
    }
    return id;
  }

  /** What follows is turned by this many degrees about a place, until `end`. */
  turn(degrees: number, x: number, y: number): void {
    this.parts.push(`<g transform="rotate(${degrees} ${round(x)} ${round(y)})">`);
  }

  rounded(
    x: number,
    y: number,
    width: number,
    height: number,
    fill: string | null,
    stroke: string | null,
    radius: number,
  ): void {
    const inset = stroke ? 0.5 : 0;
    const line = stroke ? ` stroke="${stroke}"` : "";
    this.parts.push(
      `<rect x="${round(x + inset)}" y="${round(y + inset)}" width="${round(Math.max(0, width - 2 * inset))}" height="${round(Math.max(0, height - 2 * inset))}" rx="${round(radius)}" fill="${fill ?? "none"}"${line}/>`,
    );
  }

  beginPath(): void {
    this.path = "";
  }

  moveTo(x: number, y: number): void {
    this.path += `M${round(x)} ${round(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `L${round(x)} ${round(y)}`;
  }

  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void {
    this.path += `C${round(x1)} ${round(y1)} ${round(x2)} ${round(y2)} ${round(x)} ${round(y)}`;
  }

  arc(x: number, y: number, radius: number): void {
    const r = round(radius);
    this.path += `M${round(x - radius)} ${round(y)}a${r} ${r} 0 1 0 ${round(2 * radius)} 0a${r} ${r} 0 1 0 ${round(-2 * radius)} 0`;
  }

  fill(): void {
    this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}"${this.alpha("fill")}${this.data()}/>`);
  }

  stroke(): void {
    this.parts.push(
      `<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${round(this.lineWidth)}"${this.alpha("stroke")}${this.dash && ` stroke-dasharray="${this.dash}"`}/>`,
    );
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    if (width < 0) [x, width] = [x + width, -width];
    this.parts.push(
      `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${this.fillStyle}"${this.alpha("fill")}${this.data()}/>`,
    );
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.parts.push(
      `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="none" stroke="${this.strokeStyle}" stroke-width="${round(this.lineWidth)}"${this.alpha("stroke")}/>`,
    );
  }

  fillText(text: string, x: number, y: number): void {
    this.letters(xml(isolated(text)), x, y);
  }

  /** One text whose parts have colours of their own. */
  spans(parts: readonly (readonly [color: string, text: string])[], x: number, y: number): void {
    const some = parts.filter(([, text]) => text);
    this.fillStyle = some[0]?.[0] ?? this.fillStyle;
    const spans = some.map(([color, text]) => `<tspan fill="${color}">${xml(isolated(text))}</tspan>`);
    this.letters(some.length === 1 ? xml(isolated(some[0]![1])) : spans.join(""), x, y);
  }

  private letters(inner: string, x: number, y: number): void {
    const [, weight = "400", size = "13px", family = "sans-serif"] = /^(\S+) (\S+) (.*)$/.exec(this.font) ?? [];
    const anchor = { left: "start", start: "start", center: "middle", right: "end", end: "end" }[this.textAlign];
    const middle = this.textBaseline === "middle" ? ` dy="0.35em"` : "";
    this.parts.push(
      `<text x="${round(x)}" y="${round(y)}"${middle} font-family="${xml(family)}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}" fill="${this.fillStyle}"${this.alpha("fill")}>${inner}</text>`,
    );
  }

  private data(): string {
    return this.row === null ? "" : ` data-row="${this.row}"`;
  }

  // Not `opacity`, for which renderers put every shape on a layer of its own: twenty times slower.
  private alpha(of: "fill" | "stroke"): string {
    return this.globalAlpha < 1 ? ` ${of}-opacity="${round(this.globalAlpha)}"` : "";
  }
}
