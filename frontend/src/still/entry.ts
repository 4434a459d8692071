// Stills for a program that runs this script without a page: it hands over what is asked for, gives arrays as they are
// wanted, and takes the SVG.

import { gunzipSync } from "fflate";
import type { ChartsPayload, ExplorerPayload, SimilarPayload, SourcesPayload } from "../protocol";
import { type Source, Store } from "../scene/data";
import { reason } from "../scene/format";
import { Data } from "../scene/source";
import { type Asked, plainStill, still } from "./still";

let waiting = new Map<string, (text: string) => void>();
let outcome: { svg?: string; error?: string } = {};

const headscope = {
  /** Begin a still; `asked` is JSON. */
  begin(payload: string, asked: string): null {
    waiting = new Map();
    const done: typeof outcome = {};
    outcome = done;
    const source: Source = (name) => new Promise((give) => waiting.set(name, give));
    const store = new Store(source, (bytes) => Promise.resolve(gunzipSync(bytes).slice().buffer));
    const shown = JSON.parse(payload) as ExplorerPayload | SourcesPayload | SimilarPayload | ChartsPayload;
    const how = JSON.parse(asked) as Asked;
    const drawn = "inputs" in shown ? still(new Data(shown, store), how) : Promise.resolve(plainStill(shown, how));
    drawn.then(
      (svg) => (done.svg = svg),
      (error: unknown) => (done.error = reason(error)),
    );
    return null;
  },
  /** The names of the arrays that it waits for. */
  wanted: (): string[] => [...waiting.keys()],
  give(name: string, text: string): null {
    const give = waiting.get(name);
    waiting.delete(name);
    give?.(text);
    return null;
  },
  /** The SVG, or why there is none. */
  outcome: (): typeof outcome => outcome,
};

Object.assign(globalThis, { headscope });
