// What is shown stands in the page's address: a reload, or a colleague, sees the same.

const LATER = 120;

export class Fragment {
  private timer = 0;
  private written = window.location.hash;

  /** `now` is what is to stand there; `moved` hears what the reader, or another page, has put there. */
  constructor(
    private readonly now: () => string,
    moved: () => void,
    /** Whether it is another entry of the history: Back leads to the one before. */
    private readonly steps = (): boolean => false,
  ) {
    window.addEventListener("hashchange", () => {
      if (window.location.hash === this.written) return;
      this.written = window.location.hash;
      window.clearTimeout(this.timer);
      moved();
    });
  }

  /** Something else is to stand there. */
  changed(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.keep(), LATER);
  }

  /** The address of what is shown. */
  get address(): string {
    this.keep();
    return window.location.href;
  }

  private keep(): void {
    window.clearTimeout(this.timer);
    const { hash, pathname, search } = window.location;
    if (hash !== this.written) return; // what was put there meanwhile is read first
    const way = this.steps() ? "pushState" : "replaceState";
    const now = this.now();
    const next = now && `#${now}`;
    try {
      if (next !== hash) history[way](null, "", next || pathname + search);
    } catch {
      // A page inside another may not be allowed to change its address.
    }
    this.written = window.location.hash;
  }
}
