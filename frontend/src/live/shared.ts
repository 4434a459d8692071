// The state that a page shares with its kernel.
//
// A kernel says back what it was told, and a busy one says it late: by then the reader may have gone on. What a page
// tells has a number, and what comes back with a smaller one than its latest is passed over. A state from Python has
// none, and is taken.
import type { ExplorerState } from "../protocol";

/** A state on its way: `sent` is the page that told it and the number there. */
export type Sent = ExplorerState & { readonly sent?: readonly [page: string, turn: number] };

/** The part of a notebook's model that holds the state. */
export interface Holder {
  get(name: "state"): Sent;
  set(name: "state", value: Sent): void;
  on(event: "change:state", run: () => void): void;
  off(event: "change:state", run: () => void): void;
  save_changes(): void;
}

/** This page among all that show the same widget. */
const PAGE = Math.random().toString(36).slice(2);

let turns = 0;

export class Shared {
  private latest = 0;

  constructor(
    private readonly model: Holder,
    private readonly changed: (state: ExplorerState) => void,
  ) {
    model.on("change:state", this.hear);
  }

  get state(): ExplorerState {
    const { sent: _, ...state } = this.model.get("state");
    return state;
  }

  tell(state: ExplorerState): void {
    this.model.set("state", { ...state, sent: [PAGE, ++turns] });
    this.model.save_changes();
  }

  destroy(): void {
    this.model.off("change:state", this.hear);
  }

  // Also called for what this page has set itself, in this view or another of the same widget.
  private readonly hear = (): void => {
    const [page, turn] = this.model.get("state").sent ?? [];
    if (page === PAGE && turn !== undefined) {
      if (turn < this.latest) return;
      this.latest = turn;
    }
    this.changed(this.state);
  };
}
