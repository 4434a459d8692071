// The socket to the server that a page comes from: it connects again when it is lost.

import type { LiveInfo } from "../protocol";
import { type Buffers, pack, unpack } from "./frames";
import type { Carrier, Connection } from "./wire";

const FIRST = 300;
const LONGEST = 5000;

export class Socket implements Carrier {
  readonly packed = true;
  private socket: WebSocket | null = null;
  private pause = FIRST;
  private timer = 0;
  private closed = false;
  private message!: (content: Record<string, unknown>, buffers: Buffers) => void;
  private state!: (state: Connection) => void;

  constructor(private readonly address: string) {}

  hear(
    message: (content: Record<string, unknown>, buffers: Buffers) => void,
    state: (state: Connection) => void,
  ): void {
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
