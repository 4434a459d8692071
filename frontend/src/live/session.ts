// A page's side of a live model: one question for pictures is on its way at a time, and the latest waits behind it.

import type {
  ArraysAnswer,
  ExplorerPayload,
  LiveInfo,
  NearAnswer,
  QuantityAnswer,
  ReadsInfo,
  Shown,
  WithoutAnswer,
} from "../protocol";
import { gunzip, Store } from "../scene/data";
import { reason } from "../scene/format";
import type { Line } from "../scene/scene";
import type { Question } from "../ui/host";
import { join } from "./added";
import type { Asked } from "./asked";
import { type Carrier, StaleError, Wire } from "./wire";

/** After so long what is computed is stopped if something newer waits. */
const PATIENCE = 1000;
/** After so long without a key two texts are compared with unrelated ones. */
const QUIET = 600;

interface Listener {
  info(info: LiveInfo): void;
  /** The connection is lost; null: it is back. */
  lost(why: string | null): void;
  /** Why two texts are near that are read apart; null: that cannot be told. */
  near(answer: NearAnswer | null): void;
  shown(shown: Shown, store: Store, milliseconds: number): void;
  problem(text: string): void;
  /** Whether something is being computed. */
  busy(busy: boolean): void;
}

/** What is asked, where the picture opens. */
interface Wanted extends Asked {
  readonly at: number | null;
  readonly layer: number;
  /** What two texts are cut into that are read apart; null: nothing is. */
  readonly spans: string | null;
}

export class Session {
  private readonly wire: Wire;
  private wanted: Wanted | null = null;
  private running: Wanted | null = null;
  private last: Wanted | null = null;
  private began = 0;
  private turn = 0;
  private payload: ExplorerPayload | null = null;
  private blobs = new Map<string, Uint8Array<ArrayBuffer>>();
  private readonly missing = new Map<
    string,
    { readonly done: (bytes: Uint8Array<ArrayBuffer>) => void; readonly fail: (error: Error) => void }
  >();
  private timer = 0;
  private up = false;
  private compared: Wanted | null = null;
  private comparing = 0;

  constructor(
    private readonly carrier: Carrier,
    private readonly listener: Listener,
  ) {
    this.wire = new Wire(carrier, (state) => {
      this.up = state.up;
      if (!state.up) return listener.lost(state.why);
      listener.lost(null);
      listener.info(state.info);
      // Another server knows nothing of what was shown.
      this.wanted ??= this.last;
      void this.next();
    });
  }

  /** Have an input read and shown, in place of any that waits. */
  show(wanted: Wanted): void {
    this.wanted = this.last = wanted;
    this.hurry();
    if (!this.running) return void this.next();
    this.timer = window.setTimeout(
      () => this.wanted && this.running && this.wire.stop(),
      Math.max(0, PATIENCE - (performance.now() - this.began)),
    );
  }

  /** Nothing is asked any more. */
  clear(): void {
    this.last = null;
    this.stop();
  }

  /** Give up what is being computed. */
  stop(): void {
    this.wanted = null;
    this.wire.stop();
  }

  close(): void {
    window.clearTimeout(this.timer);
    this.wire.close();
  }

  private async next(): Promise<void> {
    if (this.running || !this.wanted || !this.up) return;
    const asked = this.wanted;
    this.running = asked;
    this.wanted = null;
    this.began = performance.now();
    this.listener.busy(true);
    try {
      let problem = "";
      let near: NearAnswer | null = null;
      if (asked.spans) {
        try {
          near = (await this.wire.ask<NearAnswer>("near", asked)).content;
        } catch (error) {
          if (error instanceof StaleError) throw error;
          problem = reason(error);
        }
        if (!this.last) return;
      }
      const answer = this.wanted ? null : this.wire.ask<Shown>("show", asked); // read while what is near is drawn
      if (asked.spans) this.listener.near(near);
      if (!answer) return;
      const { content, buffers } = await answer;
      if (!this.last) return;
      const blobs = new Map(content.arrays.map((name, place) => [name, buffers[place]!]));
      const store = new Store(
        (name) => blobs.get(name) ?? this.fetch(name, blobs),
        this.carrier.packed ? gunzip : null,
      );
      this.turn = content.turn;
      this.payload = content.payload;
      this.blobs = blobs;
      this.listener.shown(content, store, performance.now() - this.began);
      if (problem) this.listener.problem(problem);
    } catch (error) {
      if (!(error instanceof StaleError) && !this.wanted) this.listener.problem(reason(error));
    } finally {
      this.running = null;
      if (this.wanted && this.up) void this.next();
      else {
        this.listener.busy(false);
        this.compareSoon();
      }
    }
  }

  // A key does not wait for what nobody asked for.
  private hurry(): void {
    window.clearTimeout(this.timer);
    if (this.comparing) this.wire.stop();
  }

  private compareSoon(): void {
    if (!this.carrier.stops || !this.last?.spans || this.last === this.compared) return;
    this.timer = window.setTimeout(() => {
      this.compare(false).catch(() => undefined); // what was told stays
    }, QUIET);
  }

  /** Whether two texts are near by chance, and through which heads. */
  async compare(heads: boolean): Promise<void> {
    const asked = this.last;
    this.hurry();
    this.comparing++;
    try {
      const { content } = await this.wire.ask<NearAnswer>("near", { ...asked, chance: true, heads });
      if (asked !== this.last) return;
      this.compared = asked;
      this.listener.near(content);
    } finally {
      this.comparing--;
    }
  }

  /** How near two texts are without some of their words. */
  async without(struck: readonly number[][], del: boolean): Promise<number> {
    this.hurry();
    const { content } = await this.wire.ask<WithoutAnswer>("near", { ...this.last, struck, delete: del });
    this.compareSoon();
    return content.number;
  }

  // Arrays that are asked for at once travel at once.
  private fetch(name: string, blobs: Map<string, Uint8Array<ArrayBuffer>>): Promise<Uint8Array<ArrayBuffer>> {
    if (blobs !== this.blobs) return new Promise(() => undefined); // of a picture that nobody sees any more
    return new Promise((done, fail) => {
      if (this.missing.size === 0) queueMicrotask(() => void this.collect(blobs));
      this.missing.set(name, { done, fail });
    });
  }

  private async collect(blobs: Map<string, Uint8Array<ArrayBuffer>>): Promise<void> {
    const asked = [...this.missing];
    this.missing.clear();
    try {
      const { buffers } = await this.wire.ask<ArraysAnswer>("arrays", {
        turn: this.turn,
        names: asked.map(([name]) => name),
      });
      asked.forEach(([name, { done }], place) => (blobs.set(name, buffers[place]!), done(buffers[place]!)));
    } catch (error) {
      if (!(error instanceof StaleError)) for (const [, { fail }] of asked) fail(error as Error);
    }
  }

  /** The answer to a question about what is shown. */
  async ask<T>(kind: string, question: object): Promise<T> {
    return (await this.wire.ask<T>(kind, { turn: this.turn, ...question })).content;
  }

  exact(question: Question): Promise<Float32Array> {
    return this.wire.exact({ turn: this.turn, ...question });
  }

  async compute(name: string): Promise<void> {
    const { payload, blobs } = this;
    const { content, buffers } = await this.wire.ask<QuantityAnswer>("quantity", { turn: this.turn, name });
    content.arrays.forEach((each, place) => blobs.set(each, buffers[place]!));
    if (payload) join(payload, content.added);
  }

  reads(input: number, part: string, line: Line): Promise<ReadsInfo> {
    return this.wire.reads({ turn: this.turn, input, part, ...line });
  }
}
