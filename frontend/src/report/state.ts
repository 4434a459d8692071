// The page's state as a fragment: #head=L2H3&example=0&measure=sep&theme=dark&view.filter=ab, and #L2H3 where the page
// of the head fills the window; why the head is open
// stands in reason.says=finds the antecedent&reason.figure=78 %&…, how tables stand in sort.SECTION.TABLE=-q and
// find.SECTION.TABLE=L2.

import type { Reason } from "../protocol";
import { parseCode } from "../scene/format";
import type { Cell, Figures } from "./figures";
import { scores, standings } from "./headpage";
import type { Arranged, State, ThemeChoice } from "./host";
import { because, CORPUS, ofMeasure, placed } from "./reasons";

const THEMES: readonly ThemeChoice[] = ["auto", "light", "dark"];

/** Before the keys of the explorer's own state. */
export const VIEW = "view.";

/** Before those of the reason for which the head is open. */
const WHY = "reason.";

/** What a fragment says that makes sense for these figures; the rest is left out. */
export function readFragment(hash: string, figures: Figures): Partial<State> {
  const entries = new URLSearchParams(hash.replace(/^#/, ""));
  const state: { -readonly [K in keyof State]?: State[K] } = {};
  const [paged = ""] = entries.keys();
  const head = parseCode(paged) ?? parseCode(entries.get("head") ?? "");
  const cell = head && figures.find(head.layer, head.head);
  if (cell) state.cell = cell;
  if (cell && (parseCode(paged) || entries.get("large") === "true"))
    Object.assign(state, entries.has("example") ? { large: true } : page(cell, figures));
  const example = entries.get("example") ?? "";
  if (/^\d+$/.test(example) && Number(example) < figures.payload.examples.length) state.example = Number(example);
  const measure = entries.get("measure");
  if (measure && figures.has(measure)) state.measure = measure;
  const theme = THEMES.find((choice) => choice === entries.get("theme"));
  if (theme) state.theme = theme;
  const section = entries.get("section");
  if (section) state.section = section;
  const arranged = readArranged(entries);
  if (Object.keys(arranged).length > 0) state.arranged = arranged;
  const reason = readReason(entries, figures);
  if (cell && reason) state.reason = reason;
  return state;
}

/** The state in which the page of a head opens: on its first score, or its highest rank, where that is seen. */
export function page(cell: Cell, figures: Figures): Pick<State, "cell" | "example" | "reason" | "large"> {
  const first = (scores(figures, cell)[0] ?? standings(figures, cell)[0])?.reason;
  const reason = first ? placed(first, cell, figures) : null;
  return { cell, reason, example: reason?.example ?? 0, large: true };
}

function readArranged(entries: URLSearchParams): State["arranged"] {
  const found: { [table: string]: Arranged } = {};
  for (const [key, value] of entries) {
    const [, what, table] = /^(sort|find)\.(.+)$/.exec(key) ?? [];
    if (what && table) found[table] = { sort: "", find: "", ...found[table], [what]: value };
  }
  return found;
}

function readReason(entries: URLSearchParams, figures: Figures): Reason | null {
  const read = (key: keyof Reason): string | null => entries.get(WHY + key);
  const keys = ["says", "figure", "over", "measure", "label", "here"] as const;
  const [says, figure, over, measure, label, here] = keys.map(read);
  if (typeof says !== "string" || typeof figure !== "string") return null;
  const example = read("example") ?? "";
  const there = /^\d+$/.test(example) && Number(example) < figures.payload.examples.length;
  const pin = /^(from|to),(\d+)$/.exec(read("pin") ?? "");
  return {
    ...because(says, figure, measure ? { measure } : {}),
    ...(over && { over }),
    ...(there && {
      example: Number(example),
      ...(label && { label }),
      ...(pin && { pin: { side: pin[1] as "from" | "to", place: Number(pin[2]) } }),
      ...(here && { here }),
    }),
  };
}

// What the header says anyway, the figure in the open measure, is left out.
function writeReason(entries: URLSearchParams, reason: Reason, { cell, measure }: State, figures: Figures): void {
  const { pin, over = CORPUS, says, figure, label } = reason;
  const plain = ofMeasure(figures.measure(measure), cell);
  if (says === plain.says && figure === plain.figure && over === CORPUS && !label) return;
  const told = { ...reason, over: over === CORPUS ? null : over, pin: pin && `${pin.side},${pin.place}` };
  for (const [key, value] of Object.entries(told))
    if (value !== null && value !== undefined) entries.set(WHY + key, String(value));
}

/** The fragment of a state: the head and example always, the rest where it differs from the page's defaults. */
export function writeFragment(state: State, defaults: State, figures: Figures, view = ""): string {
  const { large, cell } = state;
  const name = figures.name(cell);
  const entries = new URLSearchParams(large ? {} : { head: name });
  const opens = large ? page(cell, figures) : null;
  const plain = opens?.example === state.example && JSON.stringify(opens.reason) === JSON.stringify(state.reason);
  if (figures.payload.examples.length > 0 && !plain) entries.set("example", String(state.example));
  if (state.measure !== defaults.measure) entries.set("measure", state.measure);
  if (state.theme !== defaults.theme) entries.set("theme", state.theme);
  if (state.section) entries.set("section", state.section);
  for (const [table, arranged] of Object.entries(state.arranged))
    for (const [what, value] of Object.entries(arranged)) if (value) entries.set(`${what}.${table}`, value);
  if (state.reason && !plain) writeReason(entries, state.reason, state, figures);
  return [large && name, String(entries), view].filter(Boolean).join("&");
}
