// A sentence with a head's attention as arcs over its words: figure 5 of Clark et al. 2019.

import "./arcs.css";
import { FONT } from "../draw/canvas";
import type { LinkSentence, LinkShown } from "../protocol";
import { fixed } from "../scene/format";
import { h, s } from "../ui/dom";
import { drawing } from "./bars";
import type { Host } from "./host";
import { tipOn } from "./tip";

const GAP = 13;
/** Between texts A and B. */
const BREAK = 40;
const EDGE = 8;
const BASE = 6;
const STEP = 9;
const HIGHEST = 96;
/** Attention of the relation is drawn at least so wide. */
const LEAST = 1.3;

export type Kind = "found" | "missed" | "chose";

interface Arc {
  readonly from: number;
  readonly to: number;
  readonly weight: number;
  /** What it says of the link; null: nothing. */
  readonly kind: Kind | null;
  /** Which of the reading's sources the link is of; -1 for none. */
  readonly source: number;
}

/** Which arcs are of a link: from its source to a target, found or missed, or to what was chosen instead. */
export function kinds(reading: LinkShown, towards: boolean): Arc[] {
  const key = (word: number, other: number): string => (towards ? `${word} ${other}` : `${other} ${word}`);
  const named = new Map<string, { kind: Kind; source: number }>();
  reading.words.forEach((word, i) => {
    if (!reading.right[i]) named.set(key(word, reading.predicted[i]!), { kind: "chose", source: i });
  });
  reading.words.forEach((word, i) => {
    if (reading.right[i]) named.set(key(word, reading.predicted[i]!), { kind: "found", source: i });
    else for (const target of reading.targets[i]!) named.set(key(word, target), { kind: "missed", source: i });
  });
  const arcs = reading.arcs.map(([from, to, weight]) => ({
    from: from!,
    to: to!,
    weight: weight!,
    ...(named.get(`${from} ${to}`) ?? { kind: null, source: -1 }),
  }));
  const order = [null, "missed", "chose", "found"];
  return arcs.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || a.weight - b.weight);
}

/** What a unit says: a word, or a span of several. */
export function saying({ words, spans }: LinkSentence, unit: number): string {
  const span = spans[unit - words.length];
  return span ? words.slice(span[0], span[1]! + 1).join(" ") : (words[unit] ?? "");
}

let ruler: CanvasRenderingContext2D | null = null;

function widthOf(text: string): number {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (!ruler) return 7 * text.length;
  ruler.font = `600 12px ${FONT}`;
  return ruler.measureText(text).width;
}

/** The picture; an arc of a link says what it is when it is pointed at. */
export function picture(sentence: LinkSentence, reading: LinkShown, towards: boolean, host: Host): SVGElement {
  const { words, spans, second } = sentence;
  const middles: number[] = [];
  let right = EDGE;
  words.forEach((word, i) => {
    if (i === second) right += BREAK;
    const width = widthOf(word);
    middles.push(right + width / 2);
    right += width + GAP;
  });
  const width = Math.ceil(right - GAP + EDGE);
  const places = words.map((_, i) => i);
  for (const [first, last] of spans) {
    middles.push((middles[first!]! + middles[last!]!) / 2);
    places.push((first! + last!) / 2);
  }
  const asked = new Set(
    reading.words.flatMap((unit) =>
      unit < words.length
        ? [unit]
        : words
            .map((_, i) => i)
            .filter((i) => i >= spans[unit - words.length]![0]! && i <= spans[unit - words.length]![1]!),
    ),
  );
  const arcs = kinds(reading, towards);
  const rise = ({ from, to }: Arc): number =>
    Math.min(HIGHEST, BASE + STEP * Math.abs(places[from]! - places[to]!) + 6);
  const ground = Math.ceil(Math.max(...arcs.map(rise), BASE) * 0.75) + 6;
  const drawn = arcs.flatMap((arc) => {
    const { from, to, weight, kind, source } = arc;
    const sign = Math.sign(places[to]! - places[from]!);
    const [x, y] = [middles[from]! + 2.5 * sign, middles[to]! - 2.5 * sign];
    const top = ground - rise(arc);
    const wide = kind ? Math.max(LEAST, 6 * weight) : 6 * weight;
    const line = {
      d: `M${x} ${ground}C${x} ${top} ${y} ${top} ${y} ${ground}`,
      class: kind ?? "other",
      "stroke-width": wide,
    };
    if (!kind) return [s("path", { ...line, "stroke-opacity": "0.28" })];
    const tip = tipOn(host, () => h("div", `${saying(sentence, from)} → ${saying(sentence, to)}  ${fixed(weight, 3)}`));
    const half = 2.8 + 0.6 * wide;
    return [
      s("path", { ...line, ...tip, "data-source": source }),
      s("path", {
        d: `M${y - half} ${ground - 1.4 * half}h${2 * half}L${y} ${ground + 2}z`,
        class: `tip-${kind}`,
        style: "stroke:none",
      }),
    ];
  });
  const texts = words.map((word, i) =>
    s("text", { x: middles[i]!, y: ground + 15, class: asked.has(i) ? "asked" : "" }, word),
  );
  return drawing("arcs", width, ground + 20, ...drawn, ...texts);
}

/** What the colours mean; `link` is what is shown, such as "the relation". */
export function key(link: string): HTMLElement {
  const meanings: readonly (readonly [Kind | "other", string])[] = [
    ["found", `${link}, found`],
    ["missed", `${link}, missed`],
    ["chose", "what the head chose instead"],
    ["other", "other attention"],
  ];
  const sample = (kind: Kind | "other"): SVGElement =>
    drawing(
      "arcs",
      22,
      10,
      s("path", { d: "M2 9C4 1 18 1 20 9", class: kind, "stroke-width": kind === "other" ? 1.5 : 2 }),
    );
  const entries = meanings.map(([kind, text]) => h("span", sample(kind), text));
  return h("div.key", ...entries, h("span.dim", "arrows point to what is looked at; wider is more"));
}
