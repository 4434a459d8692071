// A sentence with a head's attention as arcs over its words: figure 5 of Clark et al. 2019.

import "./syntax.css";
import { h, s } from "../../../dom";
import { FONT } from "../../../explorer/canvas";
import type { TreeSentence, TreeShown } from "../../../protocol";
import type { Host } from "../../host";
import { tipOn } from "../../tip";

const GAP = 13;
const EDGE = 8;
const BASE = 6;
const STEP = 9;
const HIGHEST = 96;
/** Attention of the relation is drawn at least so wide. */
const LEAST = 1.3;

export type Kind = "found" | "missed" | "chose";

export interface Arc {
  readonly from: number;
  readonly to: number;
  readonly weight: number;
  /** What it says of the relation; null: nothing. */
  readonly kind: Kind | null;
}

/** Which arcs are of the relation: between its words and their heads, found or missed, or what was chosen instead. */
export function kinds(sentence: TreeSentence, reading: TreeShown, towards: boolean): Arc[] {
  const key = (word: number, other: number): string => (towards ? `${word} ${other}` : `${other} ${word}`);
  const named = new Map<string, Kind>();
  reading.words.forEach((word, i) => {
    if (!reading.right[i]) named.set(key(word, reading.predicted[i]!), "chose");
  });
  reading.words.forEach((word, i) => named.set(key(word, sentence.heads[word]!), reading.right[i] ? "found" : "missed"));
  const arcs = reading.arcs.map(([from, to, weight]) => ({ from: from!, to: to!, weight: weight!, kind: named.get(`${from} ${to}`) ?? null }));
  const order = [null, "missed", "chose", "found"];
  return arcs.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || a.weight - b.weight);
}

let ruler: CanvasRenderingContext2D | null = null;

function widthOf(text: string): number {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (!ruler) return 7 * text.length;
  ruler.font = `600 12px ${FONT}`;
  return ruler.measureText(text).width;
}

/** The picture; an arc of the relation says what it is when it is pointed at. */
export function picture(sentence: TreeSentence, reading: TreeShown, towards: boolean, host: Host): SVGElement {
  const { words } = sentence;
  const middles: number[] = [];
  let right = EDGE;
  for (const word of words) {
    const width = widthOf(word);
    middles.push(right + width / 2);
    right += width + GAP;
  }
  const width = Math.ceil(right - GAP + EDGE);
  const arcs = kinds(sentence, reading, towards);
  const rise = ({ from, to }: Arc): number => Math.min(HIGHEST, BASE + STEP * Math.abs(from - to) + 6);
  const ground = Math.ceil(Math.max(...arcs.map(rise), BASE) * 0.75) + 6;
  const drawn = arcs.flatMap((arc) => {
    const { from, to, weight, kind } = arc;
    const sign = Math.sign(to - from);
    const [x, y] = [middles[from]! + 2.5 * sign, middles[to]! - 2.5 * sign];
    const top = ground - rise(arc);
    const wide = kind ? Math.max(LEAST, 6 * weight) : 6 * weight;
    const line = { d: `M${x} ${ground}C${x} ${top} ${y} ${top} ${y} ${ground}`, class: kind ?? "other", "stroke-width": wide };
    if (!kind) return [s("path", { ...line, "stroke-opacity": "0.28" })];
    const tip = tipOn(host, () => h("div", {}, `${words[from]} → ${words[to]}  ${weight.toFixed(3)}`));
    const half = 2.8 + 0.6 * wide;
    return [s("path", { ...line, ...tip }), s("path", { d: `M${y - half} ${ground - 1.4 * half}h${2 * half}L${y} ${ground + 2}z`, class: `tip-${kind}`, style: "stroke:none" })];
  });
  const texts = words.map((word, i) => s("text", { x: middles[i]!, y: ground + 15, class: reading.words.includes(i) ? "asked" : "" }, word));
  return s("svg", { width, height: ground + 20, viewBox: `0 0 ${width} ${ground + 20}`, class: "arcs", "aria-hidden": "true" }, ...drawn, ...texts);
}

const MEANINGS: readonly (readonly [Kind | "other", string])[] = [
  ["found", "the relation, found"],
  ["missed", "the relation, missed"],
  ["chose", "what the head chose instead"],
  ["other", "other attention"],
];

/** What the colours mean. */
export function key(): HTMLElement {
  const sample = (kind: Kind | "other"): SVGElement =>
    s("svg", { width: 22, height: 10, viewBox: "0 0 22 10", class: "arcs", "aria-hidden": "true" }, s("path", { d: "M2 9C4 1 18 1 20 9", class: kind, "stroke-width": kind === "other" ? 1.5 : 2 }));
  const entries = MEANINGS.map(([kind, text]) => h("span", {}, sample(kind), text));
  return h("div.key", {}, ...entries, h("span.dim", {}, "arrows point to what is looked at; wider is more"));
}
