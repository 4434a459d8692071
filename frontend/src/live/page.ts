// The page of `headscope serve`: what is asked and what is shown stand in its address.

import "../ui/theme.css";
import "../ui/page.css";
import "../ui/explorer.css";
import "./live.css";
import type { LivePayload } from "../protocol";
import { begin } from "../ui/begin";
import { h } from "../ui/dom";
import { Address } from "./address";
import { Live } from "./live";
import { Socket } from "./socket";

void begin<LivePayload>((root, { info }) => {
  const element = h("div");
  root.setAttribute("role", "main");
  root.append(element);
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const { host, protocol, search } = window.location;
  const token = new URLSearchParams(search).get("token") ?? "";
  const socket = new Socket(
    `${protocol === "https:" ? "wss" : "ws"}://${host}/live?token=${encodeURIComponent(token)}`,
  );
  const place = new Address((asked, state) => live.update(asked, state));
  const live = new Live(
    element,
    socket,
    { changed: place.changed, address: place.address, dark: () => system.matches },
    place.asked,
    place.state,
    { info },
  );
  document.addEventListener("keydown", (event) => {
    if (event.target === document.body) live.press(event);
  });
  system.addEventListener("change", () => live.surroundings());
});
