// How wide text is.

import { FONT } from "./canvas";
import widths from "./widths.json";

type Weight = 400 | 500 | 600;

/** How much wider than the regular one a weight is, on average. */
const WIDER = { 400: 1, 500: 1.017, 600: 1.036 } as const;

const advances: ReadonlyMap<string, number> = new Map(
  Object.entries(widths).flatMap(([first, run]) =>
    run.map((advance, at): [string, number] => [String.fromCodePoint(Number(first) + at), advance / 1000]),
  ),
);

/** Marks stand over what is before them; characters of East Asia and emoji are as wide as tall. */
const [MARK, SQUARE] = [
  /\p{M}|\p{Cf}/u,
  /[\u1100-\u115f\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\u{1f000}-\u{1faff}\u{20000}-\u{3ffff}]/u,
];

const guess = (character: string): number => (MARK.test(character) ? 0 : SQUARE.test(character) ? 1 : 0.6);

let ruler: CanvasRenderingContext2D | null = null;

/** Width of a text in pixels: of the page's font by its table, of other characters by the browser, else by their kind. */
export function textWidth(text: string, size = 13, weight: Weight = 400): number {
  let sum = 0;
  for (const character of text) {
    const width = advances.get(character);
    if (width === undefined && typeof document !== "undefined") return measured(text, size, weight);
    sum += width ?? guess(character);
  }
  return sum * size * WIDER[weight];
}

function measured(text: string, size: number, weight: Weight): number {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (!ruler) return 0.6 * size * text.length;
  ruler.font = `${weight} ${size}px ${FONT}`;
  return ruler.measureText(text).width;
}

/** Width of a token's text at 13 px. */
export const tokenWidth = (text: string): number => (text.length > 60 ? 400 : textWidth(text));

/** A text in lines of at most this width, cut between words; a longer word stands on a line of its own. */
export function wrap(text: string, width: number, size = 13, weight: Weight = 400): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && textWidth(`${last} ${word}`, size, weight) <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** A text as far as this width has room, with an ellipsis where it is cut. */
export function cutTo(text: string, width: number, size = 13, weight: Weight = 400): string {
  if (textWidth(text, size, weight) <= width) return text;
  const characters = Array.from(text);
  while (characters.length > 1 && textWidth(`${characters.join("")}…`, size, weight) > width) characters.pop();
  return `${characters.join("")}…`;
}
