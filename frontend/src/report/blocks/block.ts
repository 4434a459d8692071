// What a block of a section is given, and what it returns.

import type { BlocksSection } from "../../protocol";
import type { Drawn, Host } from "../host";

export type Info = BlocksSection["blocks"][number];

/** Where a block stands: `section` is the section's name, `element` holds it. */
export interface Place {
  readonly host: Host;
  readonly section: string;
  readonly element: HTMLElement;
  /** Draw blocks within another one; whether all of them are pictures. */
  within(blocks: readonly Info[]): Drawn & { readonly roots: readonly HTMLElement[]; readonly drawn: boolean };
}

export interface Made extends Drawn {
  readonly root: HTMLElement;
}

/** Draws a block. */
export type Block<Kind> = (info: Kind, place: Place) => Made;
