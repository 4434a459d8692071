// The explorer in a notebook, as an anywidget: https://anywidget.dev/en/afm/.
//
// Traits: `payload` (ExplorerPayload), `blobs` (a map from an array's name to its gzipped bytes), `state` (what is shown,
// Traits: `payload` (ExplorerPayload), `blobs` (a map from an array's name to its gzipped bytes), `state` (both ways). The
// theme "auto" follows the notebook's.
import "../theme.css";
import "./explorer.css";
import { Store } from "../data";
import { h } from "../dom";
import type { ExplorerPayload, ExplorerState } from "../protocol";
import { Explorer } from "./explorer";
import { download } from "./save";
import { changed, settle } from "./state";

/** The part of anywidget's model that is used. */
interface Model {
  get(name: "payload"): ExplorerPayload;
  get(name: "blobs"): Record<string, DataView>;
  get(name: "state"): ExplorerState;
  set(name: "state", value: ExplorerState): void;
  on(event: string, run: () => void): void;
  off(event: string, run: () => void): void;
  save_changes(): void;
}

/** Whether the notebook around an element is dark: JupyterLab, Notebook 7, VS Code, marimo, Colab, or the system. */
export function darkAround(): boolean {
  const { body, documentElement: html } = document;
  const lab = body.dataset.jpThemeLight;
  if (lab !== undefined) return lab === "false";
  const code = body.dataset.vscodeThemeKind;
  if (code !== undefined) return code.includes("dark") || code === "vscode-high-contrast";
  if (html.getAttribute("theme") === "dark" || html.classList.contains("dark") || body.classList.contains("dark")) return true;
  if (html.hasAttribute("theme") || html.classList.contains("light")) return false;
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const root = h("div.inbook", { "data-lm-suppress-shortcuts": "true" });
  el.append(root);
  const payload = model.get("payload");
  const blobs = model.get("blobs");
  const store = new Store((name) => {
    const bytes = blobs[name];
    if (!bytes) throw new Error(`array ${name} is missing from this widget: run the cell again`);
    return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
  });
  const base = settle(payload.state, payload);
  const explorer = new Explorer(root, { payload, store, state: { ...payload.state, ...model.get("state") } }, {
    changed: (state) => {
      // What differs from the beginning, and what the payload itself said: it can be pasted back as arguments.
      const differs = Object.fromEntries(changed(base, state).map((key) => [key, state[key]]));
      model.set("state", { ...payload.state, ...differs });
      model.save_changes();
    },
    dark: darkAround,
    save: download,
  });
  const update = (): void => explorer.update(model.get("state"));
  model.on("change:state", update);
  const around = new MutationObserver(() => explorer.surroundings());
  for (const element of [document.body, document.documentElement]) around.observe(element, { attributes: true, attributeFilter: ["class", "theme", "data-jp-theme-light", "data-vscode-theme-kind"] });
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = (): void => explorer.surroundings();
  system.addEventListener("change", follow);
  return () => {
    model.off("change:state", update);
    around.disconnect();
    system.removeEventListener("change", follow);
    explorer.destroy();
    root.remove();
  };
}

export default { render };
