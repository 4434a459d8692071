// The explorer in a notebook, as an anywidget: https://anywidget.dev/en/afm/.
//
// Traits: `payload` (ExplorerPayload), `blobs` (a map from an array's name to its gzipped bytes), `state` (both ways).
// The theme "auto" follows the notebook's.
import "../ui/theme.css";
import "../ui/explorer.css";
import "./live.css";
import type { Added, ExplorerPayload, SimilarPayload, SourcesPayload } from "../protocol";
import { Store } from "../scene/data";
import { begins, changed, DEFAULTS, settle } from "../scene/state";
import { Explorer } from "../ui/explorer";
import type { ExplorerHost } from "../ui/host";
import { NearView } from "../ui/nearview";
import { download } from "../ui/save";
import { SourcesView } from "../ui/sourcesview";
import { join } from "./added";
import { type Channel, type Here, Kernel, renderLive } from "./kernel";
import { darkAround, inBook } from "./notebook";
import { type Holder, Shared } from "./shared";
import { Wire } from "./wire";

/** The part of anywidget's model that is used. */
type Model = Holder &
  Channel & { get(name: "payload"): ExplorerPayload | SourcesPayload | SimilarPayload; get(name: "blobs"): Blobs };

type Blobs = Record<string, ArrayBufferView>;

function render(here: { model: Model; el: HTMLElement }): () => void {
  // A widget with a model behind it has no payload of its own.
  if (here.model.get("live")) return renderLive(here as unknown as Here);
  const payload = here.model.get("payload");
  if (payload.kind === "similar") return inBook(here.el, (root) => new NearView(root, payload, { dark: darkAround }));
  return payload.kind === "sources" ? renderSources(here, payload) : renderView(here, payload);
}

/** What is not in the widget is `lacking`: the kernel has it. */
const storeOf = (blobs: Blobs, lacking?: (name: string) => Promise<ArrayBufferView>): Store =>
  new Store(async (name) => {
    const bytes = blobs[name] ?? (await lacking?.(name));
    if (!bytes) throw new Error(`array ${name} is missing from this widget: run the cell again`);
    return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
  });

function renderSources({ model, el }: { model: Model; el: HTMLElement }, payload: SourcesPayload): () => void {
  const host = { dark: darkAround, save: download };
  return inBook(el, (root) => new SourcesView(root, payload, storeOf(model.get("blobs")), host));
}

/** After so long a kernel that gives no array is gone. */
const GONE = 60_000;

function renderView({ model, el }: { model: Model; el: HTMLElement }, payload: ExplorerPayload): () => void {
  const blobs = model.get("blobs");
  const base = settle(begins(payload.state, payload), payload);
  const wire = new Wire(new Kernel(model), () => undefined);
  const gone = (): Promise<never> =>
    new Promise((_, fail) =>
      window.setTimeout(
        () => fail(new Error("Python, which has the rest of this view, does not answer; run the cell again")),
        GONE,
      ),
    );
  const store = storeOf(blobs, async (name) => {
    const { buffers } = await Promise.race([wire.ask("arrays", { name }), gone()]);
    return buffers[0]!;
  });
  // What the kernel has computed is put into the payload and the arrays, which all views of a widget share.
  const hear = ({ kind, added, arrays }: Record<string, unknown>, buffers: DataView[]): void => {
    if (kind !== "added") return;
    (arrays as string[]).forEach((name, at) => (blobs[name] = buffers[at]!));
    join(payload, added as Added[]);
  };
  model.on("msg:custom", hear);
  const host: ExplorerHost = {
    changed: (state) => {
      // The open head, what differs from the beginning, and what the payload itself said: it can be pasted back as
      // arguments.
      const differs = Object.fromEntries(changed(base, state).map((key) => [key, state[key]]));
      shared.tell({ ...payload.state, layer: state.layer, heads: state.heads, ...differs });
    },
    dark: darkAround,
    exact: (question) => wire.exact(question),
    compute: async (name) => void (await wire.ask("quantity", { name })),
    ...(payload.explains && { why: (input, part, line) => wire.reads({ input, part, ...line }) }),
    save: download,
  };
  // A state from Python is whole: what it leaves out goes back to its default.
  let explorer: Explorer;
  const shared = new Shared(model, (state) => explorer.update({ ...DEFAULTS, ...begins(state, payload) }));
  const state = { ...payload.state, ...shared.state };
  const leave = inBook(el, (root) => (explorer = new Explorer(root, { payload, store, state }, host)));
  return () => {
    shared.destroy();
    model.off("msg:custom", hear);
    wire.close();
    leave();
  };
}

export default { render };
