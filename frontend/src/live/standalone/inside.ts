// A model that stands in the page, in a worker of its own.

import type { ArrayRef, StandalonePayload } from "../../protocol";
import { bytesOf, gunzip } from "../../scene/data";
import { reason } from "../../scene/format";
import { fromPage } from "../../ui/embedded";
import type { Carrier, Message, Told } from "../wire";
import type { Word } from "./worker";

/** A WebAssembly module of one SIMD instruction: i8x16.popcnt of i8x16.splat. */
const SIMD = bytesOf("0AX`&0RR910R;hI00Dag0s#OD3IPZJK>+;^{bCC");

/** Why this browser cannot run the model; null where it can. */
function unable(): string | null {
  if (typeof Worker === "undefined") return "this browser has no workers";
  if (typeof WebAssembly === "undefined") return "this browser has no WebAssembly";
  return WebAssembly.validate(SIMD) ? null : "this browser's WebAssembly has no SIMD instructions";
}

export class Inside implements Carrier {
  readonly packed = false;
  private worker: Worker | null = null;

  /** `failed` hears that this browser cannot run the model. */
  constructor(
    private readonly page: StandalonePayload,
    private readonly failed: () => void,
  ) {}

  // Start the worker and load the model. Rejects where it cannot be; `said` is told how far it is, from 0 to 1.
  private async start(said: (share: number) => void): Promise<Worker> {
    const { page } = this;
    const why = unable();
    if (why !== null) throw new Error(why);
    const source = await gunzip(bytesOf(await fromPage(page.model.worker.data)));
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const worker = new Worker(address);
    const { model } = page;
    const refs: ArrayRef[] = [
      model.engine,
      model.tokenizer.json,
      ...model.segments.map(({ graph }) => graph),
      ...model.weights.flatMap(({ codes, scale }) => (scale ? [codes, scale] : [codes])),
    ];
    const texts: Record<string, string> = {};
    for (const { data } of refs) {
      texts[data] = await fromPage(data);
      document.getElementById(`headscope-data-${data}`)?.remove(); // the worker has it now
    }
    await new Promise<void>((done, fail) => {
      worker.onerror = (event) => fail(new Error(event.message || "the worker could not be started"));
      worker.onmessage = ({ data }: MessageEvent<Word>) => {
        if (data.word === "loading") said(data.done / data.of);
        else if (data.word === "ready") done();
        else fail(new Error(data.why));
      };
      worker.postMessage({ kind: "boot", page, texts });
    }).finally(() => URL.revokeObjectURL(address));
    return worker;
  }

  hear(message: Message, state: Told): void {
    const down = (why: string): void => state({ up: false, why });
    const begin = async (): Promise<void> => {
      down("Unpacking the model…");
      try {
        const worker = await this.start((share) => down(`Unpacking the model… ${Math.round(100 * share)} %`));
        this.worker = worker;
        worker.onmessage = ({ data: { content, buffers } }) => message(content, buffers);
        worker.onerror = (event) => down(`The model in this page has failed (${event.message}): load the page again.`);
        state({ up: true, info: this.page.model.info });
      } catch (error) {
        const why = reason(error);
        down(
          `The model in this page cannot run here: ${why}. The picture below is of the text that the page was written with.`,
        );
        this.failed();
      }
    };
    // Not before the one who made this has it.
    queueMicrotask(() => void begin());
  }

  send(content: object): void {
    this.worker?.postMessage(content);
  }

  close(): void {
    this.worker?.terminate();
  }
}
