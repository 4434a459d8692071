// The notebook around a widget: its theme, and its keys.

import { h } from "../ui/dom";

/** Whether the notebook around an element is dark: JupyterLab, Notebook 7, VS Code, marimo, Colab, or the system. */
export function darkAround(): boolean {
  const { body, documentElement: html } = document;
  const lab = body.dataset.jpThemeLight;
  if (lab !== undefined) return lab === "false";
  const code = body.dataset.vscodeThemeKind;
  if (code !== undefined) return code.includes("dark") || code === "vscode-high-contrast";
  if (html.getAttribute("theme") === "dark" || html.classList.contains("dark") || body.classList.contains("dark"))
    return true;
  if (html.hasAttribute("theme") || html.classList.contains("light")) return false;
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

/** What stands in a cell's output. */
interface Standing {
  surroundings(): void;
  destroy(): void;
}

// Call when the notebook, or the system, may have become light or dark; returns what ends it.
function onTheme(follow: () => void): () => void {
  const around = new MutationObserver(follow);
  for (const element of [document.body, document.documentElement])
    around.observe(element, {
      attributes: true,
      attributeFilter: ["class", "theme", "data-jp-theme-light", "data-vscode-theme-kind"],
    });
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", follow);
  return () => {
    around.disconnect();
    system.removeEventListener("change", follow);
  };
}

/**
 * Put a view in a cell's output; returns what takes it away. There a letter alone is the view's; what is pressed with
 * Ctrl or ⌘ (save, undo) is the notebook's, which asks before the view is told.
 */
export function inBook(cell: HTMLElement, make: (root: HTMLElement) => Standing): () => void {
  const root = h("div.inbook", { "data-lm-suppress-shortcuts": "true" });
  cell.append(root);
  const share = (event: KeyboardEvent): void =>
    void root.toggleAttribute("data-lm-suppress-shortcuts", !event.ctrlKey && !event.metaKey);
  window.addEventListener("keydown", share, { capture: true });
  const view = make(root);
  const left = onTheme(() => view.surroundings());
  return () => {
    left();
    view.destroy();
    window.removeEventListener("keydown", share, { capture: true });
    root.remove();
  };
}
