// A page that carries its model; what is asked and shown stands in its address.

import "../../ui/theme.css";
import "../../ui/page.css";
import "../../ui/explorer.css";
import "../live.css";
import type { StandalonePayload } from "../../protocol";
import { h } from "../../ui/dom";
import { Address } from "../address";
import { Mounted } from "./mount";

function main(): void {
  const root = document.getElementById("headscope");
  if (!root) return;
  root.setAttribute("role", "main");
  try {
    const payload = JSON.parse(document.getElementById("headscope-payload")?.textContent ?? "") as StandalonePayload;
    const address = new Address((asked, state) => mounted.update(asked, state));
    const { asked } = address;
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const mounted = new Mounted(root, payload, {
      host: address,
      dark: () => system.matches,
      asked: asked.input.text ? asked : null,
      state: address.state,
    });
    system.addEventListener("change", () => mounted.surroundings());
    document.addEventListener("keydown", (event) => {
      if (event.target === document.body) mounted.press(event);
    });
  } catch (error) {
    // Never a blank page: say what is wrong.
    const text = error instanceof Error ? error.message : String(error);
    root.dataset.failed = "";
    root.append(h("p.failure", { role: "alert" }, `This page cannot be shown: ${text}.`));
    throw error;
  }
}

main();
