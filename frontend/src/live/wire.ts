// Questions to a live model and their answers, whatever carries them.

import type { LiveError, LiveInfo, ReadsAnswer, ReadsInfo } from "../protocol";
import { reason } from "../scene/format";
import { h } from "../ui/dom";
import type { Buffers } from "./frames";

export type Message = (content: Record<string, unknown>, buffers: Buffers) => void;
export type Told = (state: Connection) => void;

/** What carries messages: a socket, a notebook's kernel. */
export interface Carrier {
  /** Whether arrays come in gzip. */
  readonly packed: boolean;
  /** Whether what is computed can be stopped. */
  readonly stops?: boolean;
  send(content: object): void;
  /** Hear what comes; called once. */
  hear(message: Message, state: Told): void;
  close(): void;
}

/** `info` comes with a connection: what the model behind it is. */
export type Connection = { readonly up: true; readonly info: LiveInfo } | { readonly up: false; readonly why: string };

export class StaleError extends Error {}

/** A button that asks the model, and a line beside it that says how far that is, or why there is no answer. */
export class Asking {
  readonly about = h("p.about");
  readonly button: HTMLButtonElement;
  private turn = 0;

  /** `rest` is said while nothing is asked, and `waits` until an answer comes; `ask` hears whether it is still wanted. */
  constructor(
    label: string,
    title: string | null,
    private readonly rest: string,
    waits: string,
    ask: (going: () => boolean) => Promise<void>,
  ) {
    this.button = h("button.link", { title, disabled: true, onclick: () => void this.run(waits, ask) }, label);
    this.about.textContent = rest; // nothing is read yet
  }

  /** What would be asked about is another now. */
  clear(): void {
    this.turn++;
    this.button.disabled = false;
    this.about.textContent = this.rest;
  }

  private async run(waits: string, ask: (going: () => boolean) => Promise<void>): Promise<void> {
    const turn = ++this.turn;
    const going = (): boolean => turn === this.turn;
    this.button.disabled = true;
    this.about.textContent = waits;
    try {
      await ask(going);
    } catch (error) {
      if (going()) this.about.textContent = error instanceof StaleError ? this.rest : reason(error);
    } finally {
      if (going()) this.button.disabled = false;
    }
  }
}

interface Waiting {
  readonly kind: string;
  readonly resolve: (answer: Answered<never>) => void;
  readonly reject: (error: Error) => void;
}

interface Answered<T> {
  readonly content: T;
  readonly buffers: Buffers;
}

export class Wire {
  private readonly waiting = new Map<number, Waiting>();
  private asked = 0;

  constructor(
    private readonly carrier: Carrier,
    state: Told,
  ) {
    carrier.hear(
      (content, buffers) => this.answer(content, buffers),
      (now) => {
        if (!now.up) this.lose();
        state(now);
      },
    );
  }

  ask<T>(kind: string, question: object): Promise<Answered<T>> {
    return new Promise((resolve, reject) => {
      const id = ++this.asked;
      this.waiting.set(id, { kind, resolve: resolve as Waiting["resolve"], reject });
      this.carrier.send({ ...question, kind, id });
    });
  }

  /** The exact values of a row. */
  async exact(question: object): Promise<Float32Array> {
    const { buffers } = await this.ask("exact", question);
    return new Float32Array(buffers[0]!.slice().buffer);
  }

  /** Why a line is there. */
  async reads(question: object): Promise<ReadsInfo> {
    return (await this.ask<ReadsAnswer>("reads", question)).content.why;
  }

  /** Nobody waits for what is being computed. */
  stop(): void {
    this.carrier.send({ kind: "stop" });
  }

  close(): void {
    this.carrier.close();
    this.lose();
  }

  private lose(): void {
    for (const { reject } of this.waiting.values()) reject(new StaleError("the connection was lost"));
    this.waiting.clear();
  }

  private answer(content: Record<string, unknown>, buffers: Buffers): void {
    const who = this.waiting.get(Number(content.id));
    if (!who) return;
    this.waiting.delete(Number(content.id));
    if (typeof content.error !== "string") return who.resolve({ content: content as never, buffers });
    const { error, stale } = content as unknown as LiveError;
    who.reject(stale ? new StaleError(error) : new Error(error));
  }
}
