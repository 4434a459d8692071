// What is asked and shown, in the address.

import type { ExplorerState } from "../protocol";
import { DEFAULTS, type Full, read as readState, write as writeState } from "../scene/state";
import { Fragment } from "../ui/fragment";
import { type Asked, read, write } from "./asked";

export class Address {
  private next = window.location.hash.slice(1);
  private readonly fragment: Fragment;

  /** `moved` hears what the reader, or another page, has put there. */
  constructor(moved: (asked: Asked, state: ExplorerState) => void) {
    this.fragment = new Fragment(
      () => this.next,
      () => moved(this.asked, this.state),
    );
  }

  get asked(): Asked {
    return read(window.location.hash);
  }

  get state(): ExplorerState {
    return readState(window.location.hash);
  }

  readonly changed = (asked: Asked, state: Full): void => {
    this.next = [write(asked), writeState(state, DEFAULTS)].filter(Boolean).join("&");
    this.fragment.changed();
  };

  readonly address = (): string => this.fragment.address;
}
