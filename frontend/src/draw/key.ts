// What the colours of a chart mean.

import type { ChartColour } from "../protocol";
import { COLOURS, css, layerHues, PALETTES, rgba, type Theme } from "../scene/color";
import { bare, brief, clamp } from "../scene/format";
import { colourOf, looks } from "../scene/letters";
import { type Block, flow } from "./block";
import { area, lettering, write } from "./canvas";
import { png } from "./png";
import { textWidth } from "./ruler";
import type { SvgPen } from "./svg";

const [WIDE, TALL, SIZE, DISC, SQUARE, SHADES] = [132, 8, 11, 9, 14, 66];

export interface Tick {
  /** From 0 to 1. */
  readonly at: number;
  readonly text: string;
}

/** Where a number stands among its colours, from 0 to 1. */
const share = ({ low = 0, high = 1, root = false }: ChartColour, value: number): number => {
  const most = Math.max(-low, high, 1e-300);
  return clamp(low < 0 ? 0.5 + value / most / 2 : root ? Math.sqrt(Math.max(0, value) / most) : value / most, 0, 1);
};

/** What paints the values of a chart's rows; null is what has no colour. */
export function painted(colour: ChartColour | null, theme: Theme): (value: number | null | undefined) => string | null {
  const { accent, heads } = COLOURS[theme];
  if (!colour) return () => accent;
  if (colour.of === "numbers") {
    const palette = PALETTES[theme][(colour.low ?? 0) < 0 ? "diverging" : "sequential"];
    return (value) =>
      value == null || !Number.isFinite(value) ? null : css(palette[Math.round(255 * share(colour, value))]!);
  }
  const { names = [], lettered } = colour;
  const own = lettered && looks(names).map((look) => colourOf(look, theme));
  const hues = own || (colour.of === "heads" ? heads : layerHues(names.length || 1, theme));
  return (value) => (value == null ? null : (hues[value] ?? null));
}

/** Colours in a row, with what they are of before them and figures below; `exact`: all of them, as an image. */
export function ramp(
  of: string,
  pixels: Uint32Array,
  ticks: readonly Tick[],
  width: number,
  theme: Theme,
  wide = WIDE,
  exact = false,
): Block {
  const left = Math.max(6, Math.min(width - wide - 12, of ? Math.ceil(textWidth(of, SIZE)) + 12 : 6));
  return {
    width,
    height: 26,
    draw(pen) {
      const { ink2, ink3 } = COLOURS[theme];
      pen.globalAlpha = 1;
      lettering(pen, `400 ${SIZE}px`);
      write(pen, ink2, of, 0, TALL / 2 + 1);
      const steps = exact ? 0 : Math.min(pixels.length, SHADES);
      if (exact) pen.image(png(pixels, pixels.length, 1), left, 1, wide, TALL);
      for (let i = 0; i < steps; i++) {
        const from = Math.round((i * wide) / steps);
        const pixel = pixels[Math.floor(((i + 0.5) * pixels.length) / steps)]!;
        area(pen, css(pixel), left + from, 1, Math.round(((i + 1) * wide) / steps) - from, TALL);
      }
      lettering(pen, `400 ${SIZE}px`, "center");
      for (const { at, text } of ticks) write(pen, ink3, text, left + at * wide, TALL + 10);
    },
  };
}

/** The key of some colours, in lines of this width. */
export function key(colour: ChartColour, width: number, theme: Theme): Block {
  const { title, of, names = [], counts, none, low = 0, high = 1, root = false } = colour;
  const hue = painted(colour, theme);
  if (of === "layers") {
    const each = Math.min(22, Math.min(280, 0.8 * width) / names.length);
    const every = Math.ceil(18 / each);
    const ticks = names.flatMap((text, i) => (i % every === 0 ? [{ at: (i + 0.5) / names.length, text }] : []));
    const pixels = Uint32Array.from(names, (_, i) => rgba(hue(i)!));
    return ramp(title, pixels, ticks, width, theme, each * names.length);
  }
  if (of === "numbers") {
    const most = Math.max(-low, high);
    const values =
      low < 0
        ? [-most, 0, most]
        : (root ? (most === 1 ? [0, 0.05, 0.25, 0.5, 1] : [0, 0.25, 1]) : [0, 0.5, 1]).map((x) => x * most);
    const ticks =
      names.length > 0
        ? names.map((text, i) => ({ at: i / (names.length - 1), text }))
        : values.map((value) => ({ at: share(colour, value), text: bare(brief(value, Math.abs(value) < 10 ? 2 : 3)) }));
    return ramp(title, PALETTES[theme][low < 0 ? "diverging" : "sequential"], ticks, width, theme);
  }
  const { ink2, ink3, bg, track } = COLOURS[theme];
  const letters = colour.lettered ? looks(names) : null;
  const size = letters ? SQUARE : DISC;
  const entry = (text: string, fill: string | null, letter = ""): Block => ({
    width: Math.ceil(textWidth(text, SIZE)) + size + 6,
    height: size + 5,
    draw(pen) {
      [pen.globalAlpha, pen.fillStyle, pen.strokeStyle, pen.lineWidth] = [1, fill ?? bg, fill ?? ink3, 1];
      if (letters) lettered(pen, fill ?? track, letter, size / 2, size / 2, size, theme);
      else {
        pen.beginPath();
        pen.arc(DISC / 2, 7, DISC / 2 - 0.5);
        pen.fill();
        pen.stroke();
      }
      lettering(pen, `400 ${SIZE}px`);
      write(pen, ink2, text, size + 6, size / 2 + 3);
    },
  });
  const entries = names.map((name, i) => entry(counts ? `${name} ${counts[i]}` : name, hue(i), letters?.[i]?.letter));
  return flow(none ? [...entries, entry(none, null)] : entries, width, 14, 4);
}

/** A square around its middle, with its letter. */
export function lettered(
  pen: SvgPen,
  fill: string,
  letter: string,
  x: number,
  y: number,
  size: number,
  theme: Theme,
): void {
  area(pen, fill, x - size / 2, y - size / 2, size, size);
  lettering(pen, `600 ${SIZE}px`, "center");
  if (letter) write(pen, COLOURS[theme].bg, letter, x, y + 0.5);
}
