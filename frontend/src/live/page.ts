// The page of `headscope serve`: what is asked and what is shown stand in its address.

import "../theme.css";
import "../page.css";
import "../explorer/explorer.css";
import "./live.css";
import { h } from "../dom";
import { DEFAULTS, read as readState, write as writeState } from "../explorer/state";
import { read, write } from "./asked";
import { Live } from "./live";
import { Socket } from "./socket";

const LATER = 120;

function main(): void {
  const root = document.getElementById("headscope");
  if (!root) return;
  const element = h("div");
  root.setAttribute("role", "main");
  root.append(element);
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let timer = 0;
  let written = window.location.hash;
  let next = written;
  const keep = (): void => {
    window.clearTimeout(timer);
    if (next !== window.location.hash) history.replaceState(null, "", next || window.location.pathname + window.location.search);
    written = window.location.hash;
  };
  const { host, protocol, search } = window.location;
  const token = new URLSearchParams(search).get("token") ?? "";
  const socket = new Socket(`${protocol === "https:" ? "wss" : "ws"}://${host}/live?token=${encodeURIComponent(token)}`);
  const live = new Live(
    element,
    socket,
    {
      changed: (asked, state) => {
        const fragment = [write(asked), writeState(state, DEFAULTS)].filter(Boolean).join("&");
        next = fragment && `#${fragment}`;
        window.clearTimeout(timer);
        timer = window.setTimeout(keep, LATER);
      },
      address: () => {
        keep();
        return window.location.href;
      },
      dark: () => system.matches,
    },
    read(window.location.hash),
    readState(window.location.hash),
  );
  system.addEventListener("change", () => live.surroundings());
  window.addEventListener("hashchange", () => {
    if (window.location.hash === written) return;
    written = window.location.hash;
    live.update(read(window.location.hash), readState(window.location.hash));
  });
}

main();
