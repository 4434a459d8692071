// Something is made, or drawn, anew when any of what it was last made of is another now.

/** One and the same, or two lists or plain objects of what is alike. */
export function alike(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, at) => alike(each, b[at]));
  return plain(a) && plain(b) && Object.keys({ ...a, ...b }).every((key) => alike(a[key], b[key]));
}

const plain = (thing: unknown): thing is Readonly<Record<string, unknown>> =>
  typeof thing === "object" && thing !== null && Object.getPrototypeOf(thing) === Object.prototype;

/** What something was last made of: values and objects that nobody changes in place. */
export class Of {
  private was: readonly unknown[] | null = null;

  /** Whether any of it is another now. */
  stale(...now: readonly unknown[]): boolean {
    return !alike(this.was, now);
  }

  /** The same, and remembered: the caller makes it. */
  renewed(...now: readonly unknown[]): boolean {
    const stale = this.stale(...now);
    this.was = now;
    return stale;
  }

  /** It is made anew next time, whatever it is of. */
  forget(): void {
    this.was = null;
  }
}

/** Things, each made once for what it is of; those that were asked for last are kept. */
export class Made<T> {
  private kept: { readonly of: readonly unknown[]; readonly thing: T }[] = [];

  constructor(private readonly most = 1) {}

  of(of: readonly unknown[], make: () => T): T {
    const found = this.kept.find((each) => alike(each.of, of)) ?? { of, thing: make() };
    if (found !== this.kept[0]) this.kept = [found, ...this.kept.filter((each) => each !== found)].slice(0, this.most);
    return found.thing;
  }

  forget(): void {
    this.kept = [];
  }
}
