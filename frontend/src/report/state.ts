// The page's state as a fragment: #head=L2H3&example=0&measure=sep&theme=dark&view.filter=ab.

import { parseCode } from "../format";
import type { Figures } from "./figures";
import type { State, ThemeChoice } from "./host";

const THEMES: readonly ThemeChoice[] = ["auto", "light", "dark"];

/** Before the keys of the explorer's own state. */
export const VIEW = "view.";

/** What a fragment says that makes sense for these figures; the rest is left out. */
export function readFragment(hash: string, figures: Figures): Partial<State> {
  const entries = new URLSearchParams(hash.replace(/^#/, ""));
  const state: { -readonly [K in keyof State]?: State[K] } = {};
  const head = parseCode(entries.get("head") ?? "");
  const cell = head && figures.find(head.layer, head.head);
  if (cell) state.cell = cell;
  const example = entries.get("example") ?? "";
  if (/^\d+$/.test(example) && Number(example) < figures.payload.examples.length) state.example = Number(example);
  const measure = entries.get("measure");
  if (measure && figures.has(measure)) state.measure = measure;
  const theme = THEMES.find((choice) => choice === entries.get("theme"));
  if (theme) state.theme = theme;
  if (entries.get("large") === "true") state.large = true;
  return state;
}

/** The fragment of a state: the head and example always, the rest where it differs from the page's defaults. */
export function writeFragment(state: State, defaults: State, figures: Figures, view = ""): string {
  const entries = new URLSearchParams({ head: figures.name(state.cell) });
  if (figures.payload.examples.length > 0) entries.set("example", String(state.example));
  if (state.measure !== defaults.measure) entries.set("measure", state.measure);
  if (state.theme !== defaults.theme) entries.set("theme", state.theme);
  if (state.large) entries.set("large", "true");
  return `#${entries}${view && `&${view}`}`;
}
