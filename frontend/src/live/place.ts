// A page that follows its address, the reader's keys and the system's theme.

import type { ExplorerState } from "../protocol";
import { Address } from "./address";
import type { Asked } from "./asked";

/** What stands in such a page. */
interface Standing {
  update(asked: Asked, state: ExplorerState): void;
  surroundings(): void;
  press(event: KeyboardEvent): void;
}

/** Put in the page what is made for its address. */
export function stand(root: HTMLElement, make: (address: Address, dark: () => boolean) => Standing): void {
  root.setAttribute("role", "main");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const shown = make(new Address((asked, state) => shown.update(asked, state)), () => system.matches);
  system.addEventListener("change", () => shown.surroundings());
  document.addEventListener("keydown", (event) => {
    if (event.target === document.body) shown.press(event);
  });
}
