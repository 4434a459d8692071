// Light, dark, or whatever the reader's system says; light on paper.

import type { Theme } from "../scene/color";
import { otherTheme } from "../ui/controls";
import type { ThemeChoice } from "./host";

export class ThemeWatch {
  private readonly system = window.matchMedia("(prefers-color-scheme: dark)");
  private readonly paper = window.matchMedia("print");
  private choice: ThemeChoice = "auto";
  private lit = false;
  /** Whether the page is being printed. */
  printing = false;

  /** Sets `data-theme` on `root`, and calls `changed` when the theme becomes another or printing begins or ends. */
  constructor(
    private readonly root: HTMLElement,
    private readonly changed: () => void,
  ) {
    this.system.addEventListener("change", () => this.apply());
    // Paper is white, and has its own width: what is drawn is drawn again for it.
    this.paper.addEventListener("change", () => this.print(this.paper.matches));
    window.addEventListener("beforeprint", () => this.print(true));
    window.addEventListener("afterprint", () => this.print(false));
    this.apply();
  }

  get theme(): Theme {
    if (this.printing || this.lit) return "light";
    if (this.choice !== "auto") return this.choice;
    return this.system.matches ? "dark" : "light";
  }

  /** What a press on the button asks for. */
  get other(): ThemeChoice {
    return otherTheme(this.theme, this.system.matches);
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

  private apply(): void {
    if (this.root.dataset.theme === this.theme) return;
    this.root.dataset.theme = this.theme;
    this.changed();
  }

  private print(printing: boolean): void {
    if (printing === this.printing) return;
    this.printing = printing;
    this.apply();
    this.changed();
  }
}
