// What a reader asks of a live model, as a value: it stands in the address, and can be undone.

import type { LiveInfo, LiveInput, Message, Shown } from "../protocol";

export interface Asked {
  readonly input: LiveInput;
  /** Changes of attention, each as its text. */
  readonly changes: readonly string[];
  /** The candidate whose probability is followed; null: the likeliest. */
  readonly chosen: number | null;
}

/** The fragment of what is asked. */
export function write({ input, changes, chosen }: Asked): string {
  const found = new URLSearchParams();
  for (const name of ["text", "pair", "target"] as const) if (input[name]) found.set(name, input[name]);
  if (input.together) found.set("together", "1");
  if (input.messages) found.set("chat", JSON.stringify(input.messages.map(({ role, content }) => [role, content])));
  if (input.written?.length) found.set("written", input.written.join(","));
  for (const change of changes) found.append("change", change);
  if (chosen !== null) found.set("chosen", String(chosen));
  return found.toString();
}

const whole = (text: string): boolean => /^\d{1,9}$/.test(text);

/** What a fragment asks; what makes no sense is left out. */
export function read(hash: string): Asked {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const input: LiveInput = {};
  for (const name of ["text", "pair", "target"] as const) {
    const value = found.get(name);
    if (value) input[name] = value;
  }
  if (found.has("together")) input.together = true;
  const messages = turns(found.get("chat"));
  if (messages.length > 0) input.messages = messages;
  const written = (found.get("written") ?? "").split(",");
  if (written.every(whole)) input.written = written.map(Number);
  const chosen = found.get("chosen") ?? "";
  return { input, changes: found.getAll("change").slice(0, 256), chosen: whole(chosen) ? Number(chosen) : null };
}

function turns(text: string | null): Message[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    if (!Array.isArray(found)) return [];
    const pairs = found.filter(
      (turn): turn is [string, string] =>
        Array.isArray(turn) && turn.length === 2 && turn.every((each) => typeof each === "string"),
    );
    return pairs.map(([role, content]) => ({ role, content }));
  } catch {
    return [];
  }
}

/** What gives the same maps in Python, after the changes that were made; `info` is of the model. */
export function inPython(
  { text, pair, together, target, messages, written = [] }: LiveInput,
  { changes, payload }: Pick<Shown, "changes" | "payload">,
  info: Pick<LiveInfo, "loaded" | "target" | "apart">,
): string {
  const quoted = (value: unknown = ""): string => JSON.stringify(value);
  const ids = payload.inputs[0]!.parts[0]!.query.ids ?? [];
  const read = info.target
    ? `${quoted(text)}, target=${quoted(target)}`
    : written.length > 0
      ? `model.from_ids([${ids.slice(0, -written.length).join(", ")}], written=[${written.join(", ")}])`
      : messages
        ? `model.chat(${quoted(messages)}, add_generation_prompt=True)`
        : quoted(text) + (pair ? `, pair=${quoted(pair)}` : "");
  const apart = info.apart && pair && !together;
  const capture = apart
    ? `found = hs.similar(model, ${quoted(text)}, ${quoted(pair)})`
    : `maps = hs.capture(model, ${read})`;
  const edit = `with hs.edit(model, ${changes.map(quoted).join(", ")}):\n    `;
  const begin = info.loaded ? `import headscope as hs\n\n${info.loaded}\n` : "";
  return begin + (changes.length > 0 ? edit : "") + capture;
}

/** Changes, what was there before, and what was taken back. */
export class History {
  private readonly before: (readonly string[])[] = [];
  private readonly after: (readonly string[])[] = [];

  constructor(public changes: readonly string[]) {}

  get undoable(): boolean {
    return this.before.length > 0;
  }

  get redoable(): boolean {
    return this.after.length > 0;
  }

  set(changes: readonly string[]): void {
    this.before.push(this.changes);
    this.after.length = 0;
    this.changes = changes;
  }

  undo(): void {
    const last = this.before.pop();
    if (!last) return;
    this.after.push(this.changes);
    this.changes = last;
  }

  redo(): void {
    const next = this.after.pop();
    if (!next) return;
    this.before.push(this.changes);
    this.changes = next;
  }
}
