// What a part of the report may ask of the page around it.

import type { Theme } from "../color";
import type { Figures, Measure } from "./figures";

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
  /** The explorer fills the window. */
  readonly large: boolean;
}

/** What follows from the state and the size of the page. */
export interface Now {
  readonly cell: Cell;
  readonly measure: Measure;
  readonly theme: Theme;
  readonly width: number;
}

export interface Host {
  readonly figures: Figures;
  readonly now: Now;
  /** Change the page's state; every part is then updated. */
  set(change: Partial<State>): void;
  /** Show a head in the explorer, on the example that is open or on another. */
  open(cell: Cell, example?: number): void;
  /** Show a head's figures: its row in the table. */
  row(cell: Cell): void;
  /** Show a tip beside the pointer, or hide it. */
  tip(content: Node | null, x?: number, y?: number): void;
}

/** Every component: built in an element, updated with what changed, taken down again. */
export interface Component<Props> {
  update(props: Partial<Props>): void;
  destroy(): void;
}

/** A section of the report: fills an element, and returns what follows the state, if anything does. */
export type Section<Info> = (element: HTMLElement, info: Info, host: Host) => Component<Now> | void;

export const same = (a: Cell, b: Cell): boolean => a.layer === b.layer && a.head === b.head;
