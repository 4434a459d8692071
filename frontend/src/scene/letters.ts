// A letter and a colour for what heads do: the same in the grid of one input as in the picture of a whole model.

import { COLOURS, type Theme } from "./color";

export interface Look {
  /** Empty for a quiet one. */
  readonly letter: string;
  /** Its place among the colours of heads; null: a quiet grey. */
  readonly hue: number | null;
}

/** What a head does by the words of the report (headscope.analyses.roles) or of one input. */
const KNOWN: Readonly<Record<string, Look>> = {
  "previous token": { letter: "P", hue: 0 },
  "next token": { letter: "N", hue: 1 },
  itself: { letter: "I", hue: 2 },
  "[CLS]": { letter: "C", hue: 8 },
  separators: { letter: "S", hue: 5 },
  "first token": { letter: "F", hue: 8 },
  sink: { letter: "K", hue: 10 },
  link: { letter: "L", hue: 6 },
  "same word": { letter: "W", hue: 7 },
  part: { letter: "A", hue: 6 },
  broad: { letter: "", hue: null },
  other: { letter: "–", hue: null },
};

/** A look for each name: the known ones have theirs, others the first letter and colour that none has. */
export function looks(names: readonly string[]): Look[] {
  const known = names.flatMap((name) => KNOWN[name] ?? []);
  const letters = new Set(known.map(({ letter }) => letter));
  const hues = new Set(known.map(({ hue }) => hue));
  const many = COLOURS.light.heads.length;
  return names.map((name, at) => {
    const found = KNOWN[name];
    if (found) return found;
    const letter = [...name.toUpperCase().replace(/[^A-Z0-9]/g, ""), ..."123456789"].find((one) => !letters.has(one));
    const hue = Array.from({ length: many }, (_, one) => one).find((one) => !hues.has(one)) ?? at % many;
    letters.add(letter ?? "·");
    hues.add(hue);
    return { letter: letter ?? "·", hue };
  });
}

export const colourOf = ({ hue }: Look, theme: Theme): string =>
  hue === null ? COLOURS[theme].tick : COLOURS[theme].heads[hue]!;
