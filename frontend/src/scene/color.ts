// The palettes, interpolated in OKLab. Sequential: teal, monotone in lightness, indexed by √weight.

import colours from "../../../src/headscope/views/colours.json";

export type Theme = "light" | "dark";

/** Every colour, by theme: what CSS has as variables, and the lists of scales and hues. Neighbouring heads differ in
 * every colour vision: test/vision.test.ts measures how much. */
export const COLOURS: Record<Theme, typeof colours.light> = colours;

type Triple = readonly [number, number, number];

const linear = (c: number): number => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const gamma = (c: number): number => (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055);

/** OKLab of a colour such as `#0f7b78`. */
export function oklab(hex: string): Triple {
  const [r, g, b] = [1, 3, 5].map((i) => linear(parseInt(hex.slice(i, i + 2), 16) / 255)) as unknown as Triple;
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function rgb([L, a, b]: Triple): Triple {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channels = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return channels.map((c) => Math.round(255 * gamma(Math.min(1, Math.max(0, c))))) as unknown as Triple;
}

/** A colour such as `#0f7b78` as a little-endian RGBA pixel. */
export function rgba(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)) as unknown as Triple;
  return pixel(r, g, b);
}

const pixel = (r: number, g: number, b: number): number => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** 256 colours between the stops, as little-endian RGBA pixels. */
export function ramp(stops: readonly string[]): Uint32Array {
  const labs = stops.map(oklab);
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const x = (i / 255) * (labs.length - 1);
    const k = Math.min(labs.length - 2, Math.floor(x));
    const [from, to] = [labs[k]!, labs[k + 1]!];
    const mixed = from.map((v, c) => v + (x - k) * (to[c]! - v)) as unknown as Triple;
    const [r, g, b] = rgb(mixed);
    return pixel(r, g, b);
  });
}

interface Palette {
  readonly sequential: Uint32Array;
  readonly diverging: Uint32Array;
}

export const PALETTES: Record<Theme, Palette> = {
  light: { sequential: ramp(COLOURS.light.sequential), diverging: ramp(COLOURS.light.diverging) },
  dark: { sequential: ramp(COLOURS.dark.sequential), diverging: ramp(COLOURS.dark.diverging) },
};

/** A pixel of a palette as a colour that CSS and every reader of SVG knows. */
export const css = (pixel: number): string =>
  `#${[0, 8, 16].map((by) => ((pixel >>> by) & 255).toString(16).padStart(2, "0")).join("")}`;

/** From blue for the first layer to orange for the last, as in the printed figure, and as far from each other as there is
 * room: equal steps of the way through the stops, not of their number. */
export function layerHues(count: number, theme: Theme): string[] {
  const stops = COLOURS[theme].layers;
  const labs = stops.map(oklab);
  const ends = [0];
  for (let i = 1; i < labs.length; i++)
    ends.push(ends[i - 1]! + Math.hypot(...labs[i]!.map((x, c) => x - labs[i - 1]![c]!)));
  const all = ramp(stops);
  return Array.from({ length: count }, (_, layer) => {
    const way = count > 1 ? (ends.at(-1)! * layer) / (count - 1) : 0;
    const after = Math.max(
      1,
      ends.findIndex((end) => end >= way - 1e-9),
    );
    const place = after - 1 + (way - ends[after - 1]!) / (ends[after]! - ends[after - 1]!);
    return css(all[Math.round((255 * place) / (stops.length - 1))]!);
  });
}

/** The luminance of WCAG 2, of a pixel. */
function luminance(pixel: number): number {
  const [r, g, b] = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
  return 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
}

/** The contrast of WCAG 2 between two pixels, 1 to 21. */
export function contrast(a: number, b: number): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** Small text can be read from this contrast on. */
const READABLE = 4.5;
/** What can be written with, in the order of preference: on any colour white or black is readable. */
const INKS = [0xff201e0a, 0xffffffff, 0xff000000];

/** The colour of text on a pixel, as CSS: its contrast is 4.5 or more. */
export const inkOn = (pixel: number): string => css(INKS.find((ink) => contrast(ink, pixel) >= READABLE)!);

/** So much of a colour on another, as CSS's `color-mix` in sRGB has it. */
export function mixed(color: string, ground: string, share: number): string {
  const parts = [1, 3, 5].map((i) => {
    const [one, other] = [color, ground].map((hex) => parseInt(hex.slice(i, i + 2), 16)) as [number, number];
    return Math.round(other + share * (one - other))
      .toString(16)
      .padStart(2, "0");
  });
  return `#${parts.join("")}`;
}

/** How strongly a share shades its token, by the root of its part of the largest: ink can be read on the strongest. */
export const strength = (share: number, most: number): number => 0.52 * Math.sqrt(Math.min(1, Math.abs(share) / most));
