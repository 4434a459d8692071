// What every view of a notebook brings along. The program that draws it is there once: in a widget that holds it, else
// the kernel is asked for it.
//
// Traits: `program`, the identifier of that widget and the version of what it holds.

interface Program {
  readonly script: string;
  readonly style: string;
}

export type Heard<Content> = (content: Content, buffers: DataView[]) => void;

/** The part of anywidget's model that carries messages. */
export interface Messages<Content> {
  on(event: "msg:custom", run: Heard<Content>): void;
  off(event: "msg:custom", run: Heard<Content>): void;
  send(content: unknown): void;
}

/** What messages say that they are. */
interface Kind {
  readonly kind?: string;
}

interface Model extends Messages<Kind> {
  get(name: "program"): { readonly holder: string; readonly version: string };
  readonly widget_manager?: { get_model?(id: string): Promise<{ get(name: keyof Program): string }> };
}

interface Here {
  readonly model: Model;
  readonly el: HTMLElement;
}

interface Loaded {
  readonly style: string;
  render(here: Here): () => void;
}

const page = globalThis as { headscope?: Map<string, Promise<Loaded>> };
page.headscope ??= new Map();
const { headscope: loaded } = page;

/** What a widget of this notebook holds; null where this place has no such widgets. */
async function held({ widget_manager: manager }: Model, holder: string): Promise<Program | null> {
  try {
    const widget = await manager?.get_model?.(holder);
    const script = widget?.get("script");
    return script ? { script, style: widget!.get("style") } : null;
  } catch {
    return null;
  }
}

function asked(model: Model): Promise<Program> {
  return new Promise((done) => {
    const hear: Heard<Kind> = ({ kind }, buffers) => {
      if (kind !== "program") return;
      model.off("msg:custom", hear);
      const [script, style] = buffers.map((each) => new TextDecoder().decode(each));
      done({ script: script!, style: style! });
    };
    model.on("msg:custom", hear);
    model.send({ kind: "program" });
  });
}

async function load(model: Model, holder: string): Promise<Loaded> {
  const { script, style } = (await held(model, holder)) ?? (await asked(model));
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  try {
    const { default: program } = (await import(address)) as { default: Pick<Loaded, "render"> };
    return { style, render: (here) => program.render(here) };
  } finally {
    URL.revokeObjectURL(address);
  }
}

async function render(here: Here): Promise<() => void> {
  const { holder, version } = here.model.get("program");
  let program = loaded.get(version);
  if (!program) {
    program = load(here.model, holder);
    loaded.set(version, program);
    program.catch(() => loaded.delete(version));
  }
  const { style, render: draw } = await program;
  const root = here.el.getRootNode();
  const place = root instanceof ShadowRoot ? root : document.head;
  if (!place.querySelector(`style[data-headscope="${version}"]`)) {
    const element = document.createElement("style");
    element.dataset.headscope = version;
    element.textContent = style;
    place.append(element);
  }
  return draw(here);
}

export default { render };
