// What the inputs of a page are called.

import type { InputInfo } from "../protocol";
import { label, shortened } from "./format";

/** What an input is called but for its label: the first of its text. */
export const beginsOf = (input: InputInfo): string =>
  shortened(textOf(input)) || label(input.parts[0]?.query.pieces ?? []);

export const nameOf = (input: InputInfo): string => input.label || beginsOf(input);

export const textOf = (input: InputInfo): string => (input.text ?? []).map((run) => run.text).join("");

/** Inputs as a sentence names them: by letters where there are, else by how they are called. */
export const namesOf = (inputs: readonly InputInfo[], letters?: readonly string[]): readonly string[] =>
  letters ?? inputs.map((input) => `“${shortened(nameOf(input), 24)}”`);
