// What an explorer is given, and what it asks of what is around it.

import type { ExplorerPayload, ExplorerState } from "../protocol";
import type { Store } from "../scene/data";
import type { Sides } from "../scene/scene";
import type { Full } from "../scene/state";

/** What an explorer needs of the page, the notebook or the server around it. */
export interface ExplorerHost extends Sides {
  /** The state has changed. */
  changed(state: Full): void;
  /** The address of what is shown, where it has one. */
  address?(): string;
  /** Whether the surroundings are dark: what the theme "auto" follows. */
  dark(): boolean;
  /** Hand a file to the reader. */
  save(name: string, file: Blob): void;
  /** Ask for the exact values of one row, where a kernel can answer. */
  exact?(question: Question): Promise<Float32Array>;
  /** Have an offered matrix computed: it is in the payload and the store when the promise is kept. */
  compute?(name: string): Promise<void>;
}

/** A row ("from") or column ("to") of a head's matrix, by the place of its token. */
export interface Question {
  readonly input: number;
  readonly part: string;
  readonly layer: number;
  readonly head: number;
  readonly quantity: string;
  readonly side: "from" | "to";
  readonly place: number;
}

export interface ExplorerProps {
  readonly payload: ExplorerPayload;
  readonly store: Store;
  /** The state to begin with, in place of the payload's. */
  readonly state?: ExplorerState;
}
