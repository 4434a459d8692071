// Light, dark, or whatever the reader's system says.

import type { Theme } from "../color";
import type { ThemeChoice } from "./host";

export class ThemeWatch {
  private readonly system = window.matchMedia("(prefers-color-scheme: dark)");
  private readonly paper = window.matchMedia("print");
  private choice: ThemeChoice = "auto";
  private printing = false;

  /** Sets `data-theme` on `root`, and calls `changed` when the theme becomes another. */
  constructor(
    private readonly root: HTMLElement,
    private readonly changed: (theme: Theme) => void,
  ) {
    this.system.addEventListener("change", this.apply);
    this.paper.addEventListener("change", this.onPrint);
    window.addEventListener("beforeprint", this.onPrint);
    window.addEventListener("afterprint", this.onPrint);
    this.apply();
  }

  get theme(): Theme {
    if (this.printing) return "light";
    if (this.choice !== "auto") return this.choice;
    return this.system.matches ? "dark" : "light";
  }

  /** What is made while the theme is light. */
  light<T>(make: () => T): T {
    const before = this.printing;
    this.print(true);
    try {
      return make();
    } finally {
      this.print(before);
    }
  }

  choose(choice: ThemeChoice): void {
    this.choice = choice;
    this.apply();
  }

  destroy(): void {
    this.system.removeEventListener("change", this.apply);
    this.paper.removeEventListener("change", this.onPrint);
    window.removeEventListener("beforeprint", this.onPrint);
    window.removeEventListener("afterprint", this.onPrint);
  }

  private readonly apply = (): void => {
    if (this.root.dataset.theme === this.theme) return;
    this.root.dataset.theme = this.theme;
    this.changed(this.theme);
  };

  // Paper is white: canvases are repainted in the light palette before they are printed.
  private readonly onPrint = (event: Event): void => {
    this.print(event.type === "beforeprint" || (event.type === "change" && this.paper.matches));
  };

  private print(on: boolean): void {
    this.printing = on;
    this.apply();
  }
}
