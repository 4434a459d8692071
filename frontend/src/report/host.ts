// What a part of the report may ask of the page around it.

import type { ExplorerState, Reason } from "../protocol";
import type { Theme } from "../scene/color";
import type { Cell, Figures, Measure } from "./figures";
import type { Table } from "./table";

export type ThemeChoice = "auto" | Theme;

/** How a table stands: a column to sort by, `-column` for the largest first, and what its rows are filtered by. */
export interface Arranged {
  readonly sort: string;
  readonly find: string;
}

export interface State {
  readonly cell: Cell;
  readonly example: number;
  /** Why the head is open; null: for its figure in the measure. */
  readonly reason: Reason | null;
  readonly measure: string;
  readonly theme: ThemeChoice;
  /** The page of the head fills the window. */
  readonly large: boolean;
  /** The section that a link led to; null: none. */
  readonly section: string | null;
  /** Tables that stand otherwise than they came, by `section.table`. */
  readonly arranged: { readonly [table: string]: Arranged };
}

/** What follows from the state and the size of the page. */
export interface Now {
  readonly cell: Cell;
  readonly measure: Measure;
  readonly theme: Theme;
  readonly width: number;
  readonly arranged: State["arranged"];
  /** The page is being printed: nothing can be chosen, folded or scrolled. */
  readonly printing: boolean;
}

export interface Host {
  readonly figures: Figures;
  readonly now: Now;
  /** Change the page's state; every part is then updated. */
  set(change: Partial<State>): void;
  /** Show a head in the explorer for the reason for which it was named, where that is seen. */
  open(cell: Cell, reason: Reason): void;
  /** Show an example in the explorer as it is asked, such as a part of the model that has no figures. */
  look(example: number, state: ExplorerState): void;
  /** Show a head's figures: its row in the table. */
  row(cell: Cell): void;
  /** What is made while the page is in light colours, whatever the reader sees. */
  light<T>(make: () => T): T;
  /** Show a tip beside the pointer, or hide it. */
  tip(content: Node | null, x?: number, y?: number): void;
}

/** What a section returns: what follows the state, and what can be saved of it. */
export interface Drawn {
  /** Called when the section is drawn, and whenever something changed. */
  readonly update?: (now: Now) => void;
  /** Whether all that it shows has been drawn. */
  readonly settled?: () => boolean;
  /** Its data: tables by name, made when they are saved. */
  readonly tables?: { readonly [name: string]: () => Table };
  /** Make the row of a head in its table and unfold it; null where the table has none. */
  readonly row?: (cell: Cell) => HTMLElement | null;
  /** What its picture shows. */
  readonly picture?: HTMLElement;
}

/** A section of the report: fills an element, and returns what follows the state or can be saved, if anything. */
export type Section<Info> = (element: HTMLElement, info: Info, host: Host) => Drawn | void;
