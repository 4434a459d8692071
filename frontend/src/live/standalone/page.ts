// A page that carries its model; what is asked and shown stands in its address.

import "../../ui/theme.css";
import "../../ui/page.css";
import "../../ui/explorer.css";
import "../live.css";
import type { StandalonePayload } from "../../protocol";
import { begin } from "../../ui/begin";
import { stand } from "../place";
import { Mounted } from "./mount";

void begin<StandalonePayload>((root, payload) =>
  stand(root, (host, dark) => {
    const { asked, state } = host;
    return new Mounted(root, payload, { host, dark, asked: asked.input.text ? asked : null, state });
  }),
);
