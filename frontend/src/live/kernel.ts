// A live model in a notebook: the kernel answers, over the widget's own channel.
//
// Traits: `live` (LiveInfo), `asked` (what is read, and the changes) and `state`, which the page sets.

import type { ExplorerState, LiveInfo } from "../protocol";
import type { Asked } from "./asked";
import { Live } from "./live";
import type { Heard, Messages } from "./loader";
import { darkAround, inBook } from "./notebook";
import type { Carrier, Message, Told } from "./wire";

/** The part of anywidget's model that carries messages, and what of it stands before any is answered. */
export interface Channel extends Messages<Record<string, unknown>> {
  get(name: "live"): LiveInfo;
}

interface Model extends Channel {
  get(name: "live"): LiveInfo;
  get(name: "asked"): Asked;
  get(name: "state"): ExplorerState;
  set(name: "asked" | "state", value: unknown): void;
  save_changes(): void;
}

export interface Here {
  readonly model: Model;
  readonly el: HTMLElement;
}

export class Kernel implements Carrier {
  readonly packed = true;
  private heard: Heard<Record<string, unknown>> | null = null;

  constructor(private readonly model: Channel) {}

  hear(message: Message, state: Told): void {
    this.heard = (content, buffers) =>
      message(
        content,
        buffers.map(
          ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength),
        ),
      );
    this.model.on("msg:custom", this.heard);
    // Not before the one who made this has it.
    queueMicrotask(() => state({ up: true, info: this.model.get("live") }));
  }

  send(content: object): void {
    this.model.send(content);
  }

  close(): void {
    if (this.heard) this.model.off("msg:custom", this.heard);
  }
}

export function renderLive({ model, el }: Here): () => void {
  const { input = {}, changes = [], chosen = null } = model.get("asked");
  const changed = (asked: Asked, state: ExplorerState): void => {
    model.set("asked", asked);
    model.set("state", state);
    model.save_changes();
  };
  const host = { changed, dark: darkAround };
  const asked = { input, changes, chosen };
  return inBook(
    el,
    (root) => new Live(root, new Kernel(model), host, asked, model.get("state"), { info: model.get("live") }),
  );
}
