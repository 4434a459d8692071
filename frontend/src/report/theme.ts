// Light, dark, or whatever the reader's system says; light on paper.

import type { Theme } from "../color";
import type { ThemeChoice } from "./host";

export class ThemeWatch {
  private readonly system = window.matchMedia("(prefers-color-scheme: dark)");
  private readonly paper = window.matchMedia("print");
  private choice: ThemeChoice = "auto";
  private lit = false;
  private onPaper = false;

  /** Sets `data-theme` on `root`, and calls `changed` when the theme becomes another or printing begins or ends. */
  constructor(
    private readonly root: HTMLElement,
    private readonly changed: () => void,
  ) {
    this.system.addEventListener("change", this.apply);
    this.paper.addEventListener("change", this.onPrint);
    window.addEventListener("beforeprint", this.onPrint);
    window.addEventListener("afterprint", this.onPrint);
    this.apply();
  }

  get theme(): Theme {
    if (this.onPaper || this.lit) return "light";
    if (this.choice !== "auto") return this.choice;
    return this.system.matches ? "dark" : "light";
  }

  /** Whether the page is being printed. */
  get printing(): boolean {
    return this.onPaper;
  }

  /** What is made while the theme is light. */
  light<T>(make: () => T): T {
    this.lit = true;
    this.apply();
    try {
      return make();
    } finally {
      this.lit = false;
      this.apply();
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
    this.changed();
  };

  // Paper is white, and has its own width: what is drawn is drawn again for it.
  private readonly onPrint = (event: Event): void => {
    const on = event.type === "beforeprint" || (event.type === "change" && this.paper.matches);
    if (on === this.onPaper) return;
    this.onPaper = on;
    this.apply();
    this.changed();
  };
}
