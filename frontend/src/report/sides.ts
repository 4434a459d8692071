// An example with the maps of two models: which of them is shown, and what stays when another example is opened.

import type { ExplorerPayload, ExplorerState } from "../protocol";
import type { Full } from "../scene/state";

export interface Side {
  readonly text: string;
  readonly state: ExplorerState;
  on(state: Full): boolean;
}

/** The switch of an example of two models. */
export const SIDES: readonly Side[] = [
  { text: "A", state: { side: "one", input: 0 }, on: ({ side, input }) => side === "one" && input === 0 },
  { text: "B", state: { side: "one", input: 1 }, on: ({ side, input }) => side === "one" && input === 1 },
  { text: "A beside B", state: { side: "both" }, on: ({ side }) => side === "both" },
  { text: "A − B", state: { side: "difference" }, on: ({ side }) => side === "difference" },
];

/**
 * What an explorer's state keeps on another example: between one model, two, and two groups each begins as it is made
 * to.
 */
export function kept(
  state: ExplorerState,
  from: ExplorerPayload | undefined,
  to: ExplorerPayload | undefined,
): ExplorerState {
  if (!from || !to || (from.inputs.length === to.inputs.length && from.state.side === to.state.side)) return state;
  const initial = new Set([...Object.keys(from.state), ...Object.keys(to.state), "side", "input"]);
  return Object.fromEntries(Object.entries(state).filter(([key]) => !initial.has(key)));
}
