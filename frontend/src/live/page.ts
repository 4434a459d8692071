// The page of `headscope serve`: what is asked and what is shown stand in its address.

import "../ui/theme.css";
import "../ui/page.css";
import "../ui/explorer.css";
import "./live.css";
import type { LivePayload } from "../protocol";
import { begin } from "../ui/begin";
import { h } from "../ui/dom";
import { Live } from "./live";
import { stand } from "./place";
import { Socket } from "./socket";

void begin<LivePayload>((root, { info }) => {
  const element = h("div");
  root.append(element);
  const { host, protocol, search } = window.location;
  const token = encodeURIComponent(new URLSearchParams(search).get("token") ?? "");
  const socket = new Socket(`${protocol === "https:" ? "wss" : "ws"}://${host}/live?token=${token}`);
  stand(root, (place, dark) => {
    const { changed, address, asked, state } = place;
    return new Live(element, socket, { changed, address, dark }, asked, state, { info });
  });
});
