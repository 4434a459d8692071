// Words on the time axis of a sound: those whose times are known, and those that a head looks from, where it looks.

import { tokenWidth } from "../draw/ruler";
import type { SpokenInfo } from "../protocol";
import { type Shown, value } from "../scene/cut";
import { fixed, piece } from "../scene/format";
import type { Scene } from "../scene/scene";
import { intoLines, type Span, type Times } from "../scene/soundlayout";
import { h } from "./dom";

/** Lines that words may take above the spectrogram. */
export const PEAK_LINES = 3;
const LINE = 20;

/** A word that the model writes, and where in the sound its attention is largest. */
export interface Peak {
  readonly text: string;
  /** The first of its tokens on the axis. */
  readonly start: number;
  /** In seconds, and how much is there. */
  readonly time: number;
  readonly weight: number;
}

/** Where each word of the queries has its largest weight; of several pieces the mean of their rows is looked at. */
export function peaks(map: Shown, scene: Scene, keys: Times): Peak[] {
  const { rows, part } = scene;
  const group = part.query.words?.group;
  const found: Peak[] = [];
  for (let first = 0; first < rows.items.length; ) {
    const { start, special } = rows.items[first]!;
    let after = first + 1;
    if (group) while (after < rows.items.length && group[rows.items[after]!.start] === group[start]) after++;
    if (!special) {
      let [best, most] = [-1, 0];
      for (let key = 0; key < keys.length; key++) {
        if (!keys[key]) continue;
        let sum = 0;
        for (let query = first; query < after; query++) sum += value(map, query * map.columns + key);
        const mean = sum / (after - first);
        if (mean > most) [best, most] = [key, mean];
      }
      const text = group
        ? (part.query.words!.texts[group[start]!] ?? "")
        : rows.items
            .slice(first, after)
            .map((item) => item.text)
            .join("");
      if (best >= 0)
        found.push({ text: piece(text).text, start, time: (keys[best]![0] + keys[best]![1]) / 2, weight: most });
    }
    first = after;
  }
  return found;
}

interface Standing {
  readonly button: HTMLButtonElement;
  readonly stem: HTMLElement;
}

const standing = new WeakMap<HTMLElement, Map<number, Standing>>();

/** The word that is there already, or a new one: one that is pressed or focused must not go before it is let go. */
function wordOf(there: Map<number, Standing>, start: number): Standing {
  let found = there.get(start);
  if (!found)
    there.set(start, (found = { button: h("button", { type: "button", "data-start": start }), stem: h("i.stem") }));
  return found;
}

/** Put words where a head's attention peaks, the pinned one first; returns how many have no room. */
export function drawPeaks(
  element: HTMLElement,
  found: readonly Peak[],
  [begin, end]: Span,
  width: number,
  chosen: number | null,
  scene: Scene,
): number {
  const startOf = (place: number | null | undefined): number =>
    place == null ? -1 : (scene.rows.items[place]?.start ?? -1);
  const [own, pinned] = [startOf(chosen), startOf(scene.pinned?.from)];
  const first = (peak: Peak): number => Number(peak.start !== pinned);
  const order = found
    .filter(({ time }) => time >= begin && time <= end)
    .sort((a, b) => first(a) - first(b) || a.time - b.time);
  const labels = order.map(({ text, time }) => ({
    middle: ((time - begin) / (end - begin)) * width,
    width: tokenWidth(text) + 8,
  }));
  const placed = intoLines(labels, PEAK_LINES, width);
  const lines = Math.max(0, ...placed.map(({ line }) => line + 1));
  element.style.height = `${lines * LINE + 8}px`;
  const there = standing.get(element) ?? new Map<number, Standing>();
  standing.set(element, there);
  const shown = new Set<number>();
  placed.forEach(({ line, left }, at) => {
    if (line < 0) return;
    const { text, start, time, weight } = order[at]!;
    shown.add(start);
    const top = (lines - 1 - line) * LINE;
    const { button, stem } = wordOf(there, start);
    if (button.textContent !== text) button.replaceChildren(h("bdi", {}, text));
    button.setAttribute("aria-pressed", String(start === own));
    button.title = `${text}: largest weight ${fixed(weight, 3)} at ${fixed(time, 2)} s`;
    button.style.cssText = `left:${left}px;top:${top}px`;
    stem.style.cssText = `left:${labels[at]!.middle}px;top:${top + LINE - 2}px;height:${lines * LINE + 8 - top - LINE + 2}px`;
  });
  for (const [start, { button, stem }] of there) {
    if (shown.has(start)) continue;
    button.remove();
    stem.remove();
    there.delete(start);
  }
  // In the order of the text, as the Tab key and the arrow keys go through them.
  let next = element.firstElementChild;
  for (const start of [...shown].sort((a, b) => a - b)) {
    const { button, stem } = there.get(start)!;
    for (const each of [button, stem]) {
      if (each === next) next = next.nextElementSibling;
      else element.insertBefore(each, next);
    }
  }
  return placed.filter(({ line }) => line < 0).length;
}

/** Put brackets where words are known to sound. */
export function drawSpoken(
  element: HTMLElement,
  words: readonly SpokenInfo[],
  [begin, end]: Span,
  width: number,
): void {
  const inside = words.filter((word) => word.end > begin && word.begin < end);
  element.hidden = words.length === 0;
  element.setAttribute(
    "aria-label",
    `Words in the sound: ${inside.map((word) => `${word.text} ${fixed(word.begin, 2)} to ${fixed(word.end, 2)} s`).join(", ")}`,
  );
  const scale = width / (end - begin);
  const placed = inside.map((word) => {
    const left = (Math.max(begin, word.begin) - begin) * scale;
    const wide = (Math.min(end, word.end) - begin) * scale - left;
    return { word, left, wide, fits: tokenWidth(word.text) * 0.85 <= wide + 2 };
  });
  // Where hardly a word has room there are only marks.
  element.classList.toggle("crowded", placed.filter(({ fits }) => fits).length < placed.length / 4);
  element.replaceChildren(
    ...placed.map(({ word, left, wide, fits }) =>
      h(
        "span",
        {
          style: `left:${left}px;width:${Math.max(1, wide - 1)}px`,
          title: `${word.text}: ${fixed(word.begin, 2)}–${fixed(word.end, 2)} s`,
        },
        fits ? h("bdi", {}, word.text) : null,
      ),
    ),
  );
}
