// Whether a reader wants all controls: remembered from page to page, where the browser lets a page remember anything.

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
