// A page that carries its model; what is asked and shown stands in its address.

import "../../ui/theme.css";
import "../../ui/page.css";
import "../../ui/explorer.css";
import "../live.css";
import type { StandalonePayload } from "../../protocol";
import { begin } from "../../ui/begin";
import { Address } from "../address";
import { Mounted } from "./mount";

void begin<StandalonePayload>((root, payload) => {
  root.setAttribute("role", "main");
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
});
