// The worker of a page that carries its model: it takes questions, and answers one after the other.

import type { ArrayRef, StandalonePayload } from "../../protocol";
import { decode } from "../../scene/data";
import { reason } from "../../scene/format";
import { Answers, StoppedError } from "./answer";
import { Graphs } from "./graphs";
import { Reader } from "./tokens";

/** What a worker says beside answers: how far it is, that it is ready, or why it cannot be. */
export type Word =
  | { readonly word: "loading"; readonly done: number; readonly of: number }
  | { readonly word: "ready" }
  | { readonly word: "failed"; readonly why: string };

interface Boot {
  readonly page: StandalonePayload;
  /** Arrays of the page, in base85. */
  readonly texts: Record<string, string>;
}

interface Scope {
  postMessage(message: unknown, transfer?: Transferable[]): void;
  addEventListener(kind: "message", run: (event: MessageEvent) => void): void;
}

const scope = self as unknown as Scope;
const waiting: Record<string, unknown>[] = [];
let answers: Answers | null = null;
let busy = false;
let stopped = false;

const say = (word: Word): void => scope.postMessage(word);

// What was sent meanwhile is heard before the next layer.
function next(): Promise<void> {
  return new Promise((done, fail) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      if (stopped) fail(new StoppedError("stopped"));
      else done();
    };
    port2.postMessage(null);
  });
}

async function boot({ page, texts }: Boot): Promise<void> {
  try {
    const read = async (ref: ArrayRef) => {
      const numbers = await decode(ref, texts[ref.data] ?? "");
      delete texts[ref.data];
      return numbers;
    };
    const json = JSON.parse(new TextDecoder().decode((await read(page.model.tokenizer.json)) as Uint8Array)) as object;
    const reader = new Reader(page.model.tokenizer, json);
    const why = reader.check();
    if (why !== null) throw new Error(why);
    const graphs = await Graphs.load(page.model, read, next, (done, of) => say({ word: "loading", done, of }));
    answers = new Answers(page, graphs, reader);
    say({ word: "ready" });
    void work();
  } catch (error) {
    say({ word: "failed", why: reason(error) });
  }
}

async function work(): Promise<void> {
  if (busy || !answers) return;
  busy = true;
  for (let asked = waiting.shift(); asked; asked = waiting.shift()) {
    stopped = false;
    const { content, arrays } = await answers.answer(asked);
    // Arrays that the model goes on with stay here: the page gets copies.
    const buffers = arrays.map(
      (array) =>
        new Uint8Array(array.buffer.slice(array.byteOffset, array.byteOffset + array.byteLength) as ArrayBuffer),
    );
    scope.postMessage(
      { content, buffers },
      buffers.map(({ buffer }) => buffer),
    );
  }
  busy = false;
}

scope.addEventListener("message", ({ data }) => {
  const asked = data as Record<string, unknown>;
  if (asked.kind === "boot") return void boot(data as Boot);
  if (asked.kind === "stop") stopped = busy;
  else {
    waiting.push(asked);
    void work();
  }
});
