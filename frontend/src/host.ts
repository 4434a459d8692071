// What a component may ask of the page around it: the same in a saved page, a notebook and a server.

import type { Theme } from "./color";

/** A head by its place along the arrays' axes (not the model's index). */
export interface Cell {
  readonly layer: number;
  readonly head: number;
}

export type ThemeChoice = "auto" | Theme;

export interface State {
  readonly cell: Cell;
  readonly example: number;
  readonly measure: string;
  readonly theme: ThemeChoice;
}

export interface Host {
  /** Change the page's state; every component is then updated. */
  set(change: Partial<State>): void;
  /** Select a head and make its picture visible. */
  open(cell: Cell): void;
  /** Show a tip beside the pointer, or hide it. */
  tip(content: Node | null, x?: number, y?: number): void;
}

/** Every component: built in an element, updated with what changed, taken down again. */
export interface Component<Props> {
  update(props: Partial<Props>): void;
  destroy(): void;
}

export const same = (a: Cell, b: Cell): boolean => a.layer === b.layer && a.head === b.head;
