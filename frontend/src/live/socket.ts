// The socket to the server that a page comes from: it connects again when it is lost.

import type { LiveInfo } from "../protocol";
import { pack, unpack } from "./frames";
import type { Carrier, Message, Told } from "./wire";

const FIRST = 300;
const LONGEST = 5000;

export class Socket implements Carrier {
  readonly packed = true;
  readonly stops = true;
  private socket: WebSocket | null = null;
  private pause = FIRST;
  private timer = 0;
  private closed = false;
  private message!: Message;
  private state!: Told;

  constructor(private readonly address: string) {}

  hear(message: Message, state: Told): void {
    this.message = message;
    this.state = state;
    this.open();
  }

  send(content: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(pack(content));
  }

  close(): void {
    this.closed = true;
    window.clearTimeout(this.timer);
    this.socket?.close();
  }

  private open(): void {
    const socket = new WebSocket(this.address);
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }) => {
      const { content, buffers } = unpack(data as ArrayBuffer);
      if (content.kind !== "info") return this.message(content, buffers);
      this.pause = FIRST;
      this.state({ up: true, info: content.info as LiveInfo });
    });
    socket.addEventListener("close", ({ code, reason }) => {
      if (this.closed) return;
      this.state({
        up: false,
        why: (code === 1008 || code === 1011) && reason ? reason : "The connection to the model is lost. Trying again…",
      });
      this.timer = window.setTimeout(() => this.open(), this.pause);
      this.pause = Math.min(LONGEST, this.pause * 1.6);
    });
  }
}
