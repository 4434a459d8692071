// What the inputs of a page are called.

import type { InputInfo } from "../protocol";
import { label, shortened } from "./format";

/** What an input is called but for its label: the first of its text. */
export const beginsOf = (input: InputInfo): string =>
  shortened(textOf(input)) || label(input.parts[0]?.query.pieces ?? []);

export const nameOf = (input: InputInfo): string => input.label || beginsOf(input);

export const textOf = (input: InputInfo): string => (input.text ?? []).map((run) => run.text).join("");

/** Inputs as a sentence names them: by letters where there are, by what they are called where that is short. */
export function namesOf(inputs: readonly InputInfo[], letters?: readonly string[]): readonly string[] {
  const names = inputs.map(nameOf);
  return (
    letters ??
    (names.every(({ length }) => length <= 16) ? names.map((one) => `“${one}”`) : ["the first", "the second"])
  );
}
