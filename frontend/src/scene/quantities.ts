// Matrices per pair beside the weights: what they are called, and which can be asked for.

import type { ExplorerPayload, Offer, PartInfo } from "../protocol";

/** What a matrix is called on a button and in a tip. */
export const titleOf = (name: string): string => (name === "norms" ? "‖αvWₒ‖" : name[0]!.toUpperCase() + name.slice(1));

/** What each says, for those who have not met it. */
const SAY: Record<string, string> = {
  weights: "Attention weights: how each query shares itself out over the keys; a row sums to 1",
  gradient:
    "The gradient with respect to each weight: how much a number of the model's output (a loss, a logit) rises as the weight does; below 0 it falls",
  norms:
    "‖α · v · W_O‖: the length of what a key adds to a query, its weight times its value vector through the output matrix. A large weight on a short vector adds little",
  "implicit map":
    "The implicit map M: a layer that does not attend makes y = M v of its values v; below 0 it takes a token's value away",
};
export const about = (name: string): string =>
  SAY[name] ?? `${titleOf(name)}: another number of each pair, in place of the weights`;

/** … and in a row of a tip. */
export const nameOf = (name: string): string =>
  name === "weights" ? "weight" : name === "norms" ? titleOf(name) : name;

export const quantityOf = ({ quantities }: PartInfo, name: string) => quantities.find((each) => each.name === name);

export const has = (part: PartInfo, name: string): boolean =>
  name === "weights" || quantityOf(part, name) !== undefined;

export const offer = (payload: ExplorerPayload, name: string): Offer | undefined =>
  payload.offers.find((each) => each.name === name);

/** All matrices that are here or can be had, the weights first. */
export function names(payload: ExplorerPayload): string[] {
  const here = payload.inputs.flatMap((input) =>
    input.parts.flatMap((part) => part.quantities.map((each) => each.name)),
  );
  return [...new Set(["weights", ...payload.offers.map((each) => each.name), ...here])];
}

/** What the weights of a part are, where they are no attention. */
export const shares = (part: PartInfo): string =>
  part.name === "implicit" ? "shares |M| / Σ|M| of the implicit map" : "";

/** What is drawn in place of the weights, in words. */
export function inWords(part: PartInfo, name: string): string {
  const of = quantityOf(part, name)?.of;
  return `${name === "norms" ? "‖α·v·Wₒ‖" : name}${of ? ` of ${of}` : ""} in place of the weights`;
}

/** Why a matrix that is not here cannot be shown: what adds it. */
export const missing = ({ how }: Offer): string => `not in this page: ${how} adds it`;
