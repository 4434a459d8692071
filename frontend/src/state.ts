// The page's state as a fragment: #head=L2H3&example=0&measure=sep&theme=dark.

import type { Figures } from "./figures";
import { parseCode } from "./format";
import type { State, ThemeChoice } from "./host";

const THEMES: readonly ThemeChoice[] = ["auto", "light", "dark"];

/** What a fragment says that makes sense for these figures; the rest is left out. */
export function readFragment(hash: string, figures: Figures, examples: number): Partial<State> {
  const entries = new URLSearchParams(hash.replace(/^#/, ""));
  const found: { -readonly [K in keyof State]?: State[K] } = {};
  const head = parseCode(entries.get("head") ?? "");
  const cell = head && figures.find(head.layer, head.head);
  if (cell) found.cell = cell;
  const example = entries.get("example") ?? "";
  if (/^\d+$/.test(example) && Number(example) < examples) found.example = Number(example);
  const measure = entries.get("measure");
  if (measure && figures.has(measure)) found.measure = measure;
  const theme = THEMES.find((choice) => choice === entries.get("theme"));
  if (theme) found.theme = theme;
  return found;
}

/** The fragment of a state: the head and example always, the rest where it differs from the page's defaults. */
export function writeFragment(state: State, defaults: State, figures: Figures, examples: number): string {
  const entries = new URLSearchParams({ head: figures.name(state.cell) });
  if (examples > 0) entries.set("example", String(state.example));
  if (state.measure !== defaults.measure) entries.set("measure", state.measure);
  if (state.theme !== defaults.theme) entries.set("theme", state.theme);
  return `#${entries}`;
}
