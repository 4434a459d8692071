// What is remembered, where the browser lets a page remember anything: whether a reader wants all controls, from page to
// page; and how far they are with a page, as long as its tab is open.

const NAME = "headscope.controls";

/**
 * All controls, or only those that a first look needs. A page in a sandboxed frame, or one that may store nothing,
 * begins with few.
 */
export function wantsAll(): boolean {
  try {
    return window.localStorage.getItem(NAME) === "all";
  } catch {
    return false;
  }
}

export function remember(all: boolean): void {
  try {
    window.localStorage.setItem(NAME, all ? "all" : "few");
  } catch {
    // It is asked again on the next page.
  }
}

/** What `keep` kept under a name; null where there is nothing. */
export function kept(name: string): unknown {
  try {
    return JSON.parse(window.sessionStorage.getItem(`headscope.${name}`) ?? "null");
  } catch {
    return null;
  }
}

export function keep(name: string, value: unknown): void {
  try {
    window.sessionStorage.setItem(`headscope.${name}`, JSON.stringify(value));
  } catch {
    // A reload begins anew.
  }
}
