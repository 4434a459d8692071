import { answered, listen, modified } from "./dom";

// Toolbars: one stop for the Tab key, and the arrow keys go from control to control.

/** Controls that have a use of their own for arrow keys keep a stop of their own. */
const CONTROLS = "button, a[href]";

/** Make an element a toolbar; what is returned has to be called whenever its controls have changed. */
export function toolbar(root: HTMLElement, label: string): () => void {
  root.setAttribute("role", "toolbar");
  root.setAttribute("aria-label", label);
  let last: HTMLElement | null = null;
  // A control that was clicked leaves the arrow keys to the picture.
  let byKeys = false;
  const reached = (): HTMLElement[] =>
    [...root.querySelectorAll<HTMLElement>(CONTROLS)].filter(
      (each) => !each.matches(":disabled") && each.checkVisibility(),
    );
  const update = (): void => {
    const there = reached();
    const stop =
      there.find((each) => each === last) ??
      there.find((each) => each.getAttribute("aria-checked") === "true") ??
      there[0];
    for (const each of root.querySelectorAll<HTMLElement>(CONTROLS)) each.tabIndex = each === stop ? 0 : -1;
  };
  listen(root, {
    focusin: (event) => {
      if (!(event.target instanceof HTMLElement) || !event.target.matches(CONTROLS)) return;
      byKeys = event.target.matches(":focus-visible");
      last = event.target;
      update();
    },
    keydown: (event) => {
      const there = reached();
      const at = there.indexOf(event.target as HTMLElement);
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: there.length - 1 }[event.key];
      if (to === undefined || at < 0 || !byKeys || modified(event)) return;
      answered(event);
      there[(to + there.length) % there.length]!.focus();
    },
  });
  return update;
}

/** A link that is seen when it has the focus, and leads past what stands before an element. */
export function skip(text: string, target: () => HTMLElement | null | undefined): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "skip";
  button.textContent = text;
  button.addEventListener("click", () => {
    const element = target();
    if (!element) return;
    if (element.tabIndex < 0 && !element.hasAttribute("tabindex")) element.tabIndex = -1;
    element.focus();
    element.scrollIntoView({ block: "nearest" });
  });
  return button;
}

/** How long a button says that it has copied, in ms. */
const SAID = 1500;

/** What a button that copies says of it for a while: the link is on the clipboard, or why not. */
export function say(button: HTMLElement, said: string): void {
  button.textContent = said === COPIED ? "Copied" : "Link";
  button.title = said;
  window.setTimeout(() => (button.textContent = "Link"), SAID);
}

export const COPIED = "Link copied";

/** Put a link to what is shown on the clipboard; resolves with what to say. */
export async function copyLink(address: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(address);
    return COPIED;
  } catch {
    return "The browser does not let this page copy: take the link from its address bar";
  }
}
