// Words on the time axis of a sound: those whose times are known, and those that a head looks from, where it looks.

import { textWidth, tokenWidth } from "../draw/ruler";
import type { SpokenInfo } from "../protocol";
import { fixed } from "../scene/format";
import { PEAK_LINE, type Peak, placedPeaks, placedWords } from "../scene/heard";
import type { Scene } from "../scene/scene";
import type { Span } from "../scene/soundlayout";
import { arrange, h } from "./dom";

interface Standing {
  readonly button: HTMLButtonElement;
  readonly stem: HTMLElement;
}

const standing = new WeakMap<HTMLElement, Map<number, Standing>>();

/** The word that is there already, or a new one: one that is pressed or focused must not go before it is let go. */
function wordOf(there: Map<number, Standing>, start: number): Standing {
  let found = there.get(start);
  if (!found) there.set(start, (found = { button: h("button", { "data-start": start }), stem: h("i.stem") }));
  return found;
}

/** Put words where a head's attention peaks; returns how many have no room, null where none stand. */
export function drawPeaks(
  element: HTMLElement,
  found: readonly Peak[],
  span: Span,
  width: number,
  scene: Scene,
): number | null {
  const { placed, height, hidden } = placedPeaks(scene, found, span, width, tokenWidth);
  element.style.height = `${height}px`;
  const there = standing.get(element) ?? new Map<number, Standing>();
  standing.set(element, there);
  const shown = new Set<number>();
  for (const { text, start, time, weight, left, top, middle, chosen } of placed) {
    shown.add(start);
    const { button, stem } = wordOf(there, start);
    if (button.textContent !== text) button.replaceChildren(h("bdi", text));
    button.setAttribute("aria-pressed", String(chosen));
    button.title = `${text}: largest weight ${fixed(weight, 3)} at ${fixed(time, 2)} s`;
    button.style.cssText = `left:${left}px;top:${top}px`;
    const below = top + PEAK_LINE - 2;
    stem.style.cssText = `left:${middle}px;top:${below}px;height:${height - below}px`;
  }
  for (const start of there.keys()) if (!shown.has(start)) there.delete(start);
  // In the order of the text, as the Tab key and the arrow keys go through them.
  const order = [...there].sort(([a], [b]) => a - b);
  arrange(
    element,
    order.flatMap(([, { button, stem }]) => [button, stem]),
  );
  return placed.length > 0 ? hidden : null;
}

/** Put brackets where words are known to sound. */
export function drawSpoken(element: HTMLElement, words: readonly SpokenInfo[], span: Span, width: number): void {
  const { placed, crowded } = placedWords(words, span, width, (text) => textWidth(text, 11));
  element.hidden = words.length === 0;
  const told = placed.map(({ word }) => `${word.text} ${fixed(word.begin, 2)} to ${fixed(word.end, 2)} s`);
  element.setAttribute("aria-label", `Words in the sound: ${told.join(", ")}`);
  element.classList.toggle("crowded", crowded);
  element.replaceChildren(
    ...placed.map(({ word, left, wide, fits }) =>
      h(
        "span",
        {
          style: `left:${left}px;width:${Math.max(1, wide - 1)}px`,
          title: `${word.text}: ${fixed(word.begin, 2)}–${fixed(word.end, 2)} s`,
        },
        fits ? h("bdi", word.text) : null,
      ),
    ),
  );
}
