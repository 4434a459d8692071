// The explorer in a notebook, as an anywidget: https://anywidget.dev/en/afm/.
//
// Traits: `payload` (ExplorerPayload), `blobs` (a map from an array's name to its gzipped bytes), `state` (both ways).
// The theme "auto" follows the notebook's.
import "../ui/theme.css";
import "../ui/explorer.css";
import "./live.css";
import type { Added, ExplorerPayload, ReadsInfo, SourcesPayload } from "../protocol";
import { Store } from "../scene/data";
import { begins, changed, DEFAULTS, settle } from "../scene/state";
import { Explorer } from "../ui/explorer";
import type { Question } from "../ui/host";
import { download } from "../ui/save";
import { SourcesView } from "../ui/sourcesview";
import { join } from "./added";
import { type Here, renderLive } from "./kernel";
import { darkAround, inBook, onTheme } from "./notebook";
import { type Holder, Shared } from "./shared";

/**
 * What the kernel says: exact values that were asked for (float32 in the first buffer), that a matrix was computed, or
 * what was added to the payload, with its arrays in the buffers.
 */
interface Answer {
  readonly kind: "exact" | "quantity" | "reads" | "arrays" | "added";
  readonly why?: ReadsInfo;
  readonly id?: number;
  readonly error?: string;
  readonly added?: readonly Added[];
  readonly arrays?: readonly string[];
}

interface Waiting {
  readonly resolve: (answer: Answer, bytes: DataView | undefined) => void;
  readonly reject: (reason: Error) => void;
}

/** The part of anywidget's model that is used. */
type Model = Holder & {
  get(name: "payload"): ExplorerPayload | SourcesPayload;
  get(name: "live"): unknown;
  get(name: "blobs"): Record<string, DataView>;
  on(event: "msg:custom", run: (answer: Answer, buffers: DataView[]) => void): void;
  off(event: "msg:custom", run: (answer: Answer, buffers: DataView[]) => void): void;
  send(content: unknown): void;
};

/** Put what the kernel has computed into the payload and the arrays, which all views of a widget share. */
function add(
  payload: ExplorerPayload,
  blobs: Record<string, DataView>,
  { added = [], arrays = [] }: Answer,
  buffers: DataView[],
): void {
  arrays.forEach((name, at) => (blobs[name] = buffers[at]!));
  join(payload, added);
}

function render(here: { model: Model; el: HTMLElement }): () => void {
  // A widget with a model behind it has no payload of its own.
  if (here.model.get("live")) return renderLive(here as unknown as Here);
  const payload = here.model.get("payload");
  return payload.kind === "sources" ? renderSources(here, payload) : renderView(here, payload);
}

/** What is not in the widget is `lacking`: the kernel has it. */
const storeOf = (blobs: Record<string, DataView>, lacking?: (name: string) => Promise<DataView>): Store =>
  new Store(async (name) => {
    const bytes = blobs[name] ?? (await lacking?.(name));
    if (!bytes) throw new Error(`array ${name} is missing from this widget: run the cell again`);
    return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
  });

function renderSources({ model, el }: { model: Model; el: HTMLElement }, payload: SourcesPayload): () => void {
  const [root, leave] = inBook(el);
  const view = new SourcesView(root, payload, storeOf(model.get("blobs")), { dark: darkAround, save: download });
  const left = onTheme(() => view.surroundings());
  return () => {
    left();
    view.destroy();
    leave();
  };
}

/** After so long a kernel that gives no array is gone. */
const GONE = 60_000;

const floats = ({ buffer, byteOffset, byteLength }: DataView): Float32Array =>
  new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength));

function renderView({ model, el }: { model: Model; el: HTMLElement }, payload: ExplorerPayload): () => void {
  const [root, leave] = inBook(el);
  const blobs = model.get("blobs");
  const base = settle(begins(payload.state, payload), payload);
  const waiting = new Map<number, Waiting>();
  let asked = 0;
  const ask = <T>(question: object, read: (answer: Answer, bytes: DataView | undefined) => T): Promise<T> =>
    new Promise((resolve, reject) => {
      const id = ++asked;
      waiting.set(id, { resolve: (answer, bytes) => resolve(read(answer, bytes)), reject });
      model.send({ ...question, id });
    });
  const gone = (): Promise<never> =>
    new Promise((_, fail) =>
      window.setTimeout(
        () => fail(new Error("Python, which has the rest of this view, does not answer; run the cell again")),
        GONE,
      ),
    );
  const store = storeOf(blobs, (name) => Promise.race([ask({ kind: "arrays", name }, (_, bytes) => bytes!), gone()]));
  const answer = (content: Answer, buffers: DataView[]): void => {
    if (content.kind === "added") return add(payload, blobs, content, buffers);
    const who = waiting.get(content.id ?? 0);
    if (!who) return;
    waiting.delete(content.id ?? 0);
    if (content.error !== undefined) return who.reject(new Error(content.error));
    who.resolve(content, buffers[0]);
  };
  model.on("msg:custom", answer);
  // A state from Python is whole: what it leaves out goes back to its default.
  const shared = new Shared(model, (state) => explorer.update({ ...DEFAULTS, ...begins(state, payload) }));
  const explorer = new Explorer(
    root,
    { payload, store, state: { ...payload.state, ...shared.state } },
    {
      changed: (state) => {
        // The open head, what differs from the beginning, and what the payload itself said: it can be pasted back as
        // arguments.
        const differs = Object.fromEntries(changed(base, state).map((key) => [key, state[key]]));
        shared.tell({ ...payload.state, layer: state.layer, heads: state.heads, ...differs });
      },
      dark: darkAround,
      exact: (question: Question) => ask({ kind: "exact", ...question }, (_, bytes) => floats(bytes!)),
      compute: (name: string) => ask({ kind: "quantity", name }, () => undefined),
      ...(payload.explains && {
        why: (input, part, line) => ask({ kind: "reads", input, part, ...line }, ({ why }) => why!),
      }),
      save: download,
    },
  );
  const left = onTheme(() => explorer.surroundings());
  return () => {
    shared.destroy();
    model.off("msg:custom", answer);
    left();
    explorer.destroy();
    leave();
  };
}

export default { render };
