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
    /** What the history keeps beside the address. */
    private readonly beside = (): unknown => null,
  ) {
    const heard = (): void => {
      if (window.location.hash === this.written) return;
      this.written = window.location.hash;
      window.clearTimeout(this.timer);
      moved();
    };
    // The first of them comes before the browser scrolls.
    for (const kind of ["popstate", "hashchange"]) window.addEventListener(kind, heard);
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

  /** It stands there at once. */
  keep(): void {
    window.clearTimeout(this.timer);
    const { hash, pathname, search } = window.location;
    if (hash !== this.written) return; // what was put there meanwhile is read first
    const [step, now] = [this.steps(), this.now()];
    const next = now && `#${now}`;
    try {
      history[step && next !== hash ? "pushState" : "replaceState"](this.beside(), "", next || pathname + search);
    } catch {
      // A page inside another may not be allowed to change its address.
    }
    this.written = window.location.hash;
  }
}
