// What is asked and shown stands in the address: a reload, or a colleague, sees the same.

import type { ExplorerState } from "../protocol";
import { DEFAULTS, type Full, read as readState, write as writeState } from "../scene/state";
import { type Asked, read, write } from "./asked";

const LATER = 120;

export class Address {
  private timer = 0;
  private written = window.location.hash;
  private next = this.written;

  /** `moved` hears what the reader, or another page, has put there. */
  constructor(moved: (asked: Asked, state: ExplorerState) => void) {
    window.addEventListener("hashchange", () => {
      if (window.location.hash === this.written) return;
      this.written = window.location.hash;
      window.clearTimeout(this.timer);
      moved(this.asked, this.state);
    });
  }

  get asked(): Asked {
    return read(window.location.hash);
  }

  get state(): ExplorerState {
    return readState(window.location.hash);
  }

  readonly changed = (asked: Asked, state: Full): void => {
    const fragment = [write(asked), writeState(state, DEFAULTS)].filter(Boolean).join("&");
    this.next = fragment && `#${fragment}`;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.keep(), LATER);
  };

  readonly address = (): string => {
    this.keep();
    return window.location.href;
  };

  private keep(): void {
    window.clearTimeout(this.timer);
    if (window.location.hash !== this.written) return; // what was put there meanwhile is read first
    try {
      if (this.next !== window.location.hash)
        history.replaceState(null, "", this.next || window.location.pathname + window.location.search);
    } catch {
      // A page inside another may not be allowed to change its address.
    }
    this.written = window.location.hash;
  }
}
