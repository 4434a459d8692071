import { expect, test } from "vitest";
import { type Asked, History, inPython, read, write } from "../src/live/asked";
import { pack, unpack } from "../src/live/frames";
import { having, outcome, went } from "../src/live/story";
import { type Carrier, type Connection, StaleError, Wire } from "../src/live/wire";

const NOTHING: Asked = { input: {}, changes: [], chosen: null };

test("what is asked goes into an address and back", () => {
  const asked: Asked = {
    input: { text: "<b>a & b</b> #1 = 100 %\n日本", pair: "c+d", target: "e", written: [3, 0, 17] },
    changes: ["L4H2 off", "all hide >0", "L1H0 temperature 0.5"],
    chosen: 12,
  };
  expect(read(`#${write(asked)}`)).toEqual(asked);
  expect(read(write({ ...NOTHING, input: { messages: [{ role: "user", content: '["a"]' }] } })).input.messages).toEqual(
    [{ role: "user", content: '["a"]' }],
  );
  expect(write(NOTHING)).toBe("");
  expect(read("")).toEqual(NOTHING);
});

test("what is read, and the changes that are made, are told in Python", () => {
  const shown = (...changes: string[]) =>
    ({ changes, payload: { inputs: [{ parts: [{ query: { ids: [7, 8, 9, 3, 4] } }] }] } }) as never;
  const one = { loaded: null, target: false, apart: null };
  const named = { loaded: "model = hs.load()", target: false, apart: null };
  expect(inPython({ text: 'a "b"', pair: "c" }, shown(), one)).toBe('maps = hs.capture(model, "a \\"b\\"", pair="c")');
  expect(inPython({ text: "a" }, shown("L4H2 off", "all hide >0"), named)).toBe(
    'import headscope as hs\n\nmodel = hs.load()\nwith hs.edit(model, "L4H2 off", "all hide >0"):\n    maps = hs.capture(model, "a")',
  );
  expect(inPython({ text: "a", written: [3, 4] }, shown(), one)).toBe(
    "maps = hs.capture(model, model.from_ids([7, 8, 9], written=[3, 4]))",
  );
  expect(inPython({ messages: [{ role: "user", content: "a" }] }, shown(), one)).toBe(
    'maps = hs.capture(model, model.chat([{"role":"user","content":"a"}], add_generation_prompt=True))',
  );
  expect(inPython({ text: "a" }, shown(), { loaded: null, target: true, apart: null })).toBe(
    'maps = hs.capture(model, "a", target="")',
  );
  const sentences = { ...one, apart: "cosine" };
  expect(inPython({ text: "a", pair: "c" }, shown(), sentences)).toBe('found = hs.similar(model, "a", "c")');
  expect(inPython({ text: "a", pair: "c", together: true }, shown(), sentences)).toContain("hs.capture(");
});

test.each([
  "written=1,x",
  "written=-1",
  "chosen=x",
  "chosen=1e3",
  "chat={",
  "chat=[[1,2]]",
  "chat=3",
  "text=",
])("what makes no sense in an address is left out: %s", (hash) => {
  expect(read(hash)).toEqual(NOTHING);
});

test("changes are undone and made again; a new one ends what could be made again", () => {
  const history = new History([]);
  history.set(["a"]);
  history.set(["a", "b"]);
  history.undo();
  expect([history.changes, history.undoable, history.redoable]).toEqual([["a"], true, true]);
  history.redo();
  expect(history.changes).toEqual(["a", "b"]);
  history.undo();
  history.undo();
  history.undo();
  expect([history.changes, history.undoable]).toEqual([[], false]);
  history.set(["c"]);
  expect(history.redoable).toBe(false);
});

test("frames are those of Python", () => {
  const asked = new Uint8Array(pack({ kind: "é" }));
  expect([...asked.subarray(0, 4)]).toEqual([13, 0, 0, 0]);
  const text = new TextEncoder().encode('{"kind":"arrays","lengths":[2,0,1]}');
  const frame = new Uint8Array([text.length, 0, 0, 0, ...text, 7, 8, 9]);
  const { content, buffers } = unpack(frame.buffer);
  expect(content).toEqual({ kind: "arrays" });
  expect(buffers.map((buffer) => [...buffer])).toEqual([[7, 8], [], [9]]);
});

class Loop implements Carrier {
  readonly packed = true;
  readonly sent: Record<string, unknown>[] = [];
  answer!: (content: Record<string, unknown>) => void;
  state!: (state: Connection) => void;

  hear(message: (content: Record<string, unknown>, buffers: []) => void, state: (state: Connection) => void): void {
    this.answer = (content) => message(content, []);
    this.state = state;
  }

  send(content: object): void {
    this.sent.push(content as Record<string, unknown>);
  }

  close(): void {}
}

test("answers find their questions; what is stale or lost is told apart from what is wrong", async () => {
  const loop = new Loop();
  const wire = new Wire(loop, () => undefined);
  const [first, second, third, lost] = [
    wire.ask("says", {}),
    wire.ask("who", { at: 1 }),
    wire.ask("show", {}),
    wire.ask("arrays", {}),
  ];
  expect(loop.sent[1]).toEqual({ kind: "who", id: 2, at: 1 });
  loop.answer({ kind: "who", id: 2, of: "x" });
  loop.answer({ kind: "error", id: 1, error: "no", stale: false });
  loop.answer({ kind: "error", id: 3, error: "old", stale: true });
  loop.answer({ kind: "error", id: 99, error: "of nobody", stale: true });
  loop.state({ up: false, why: "gone" });
  await expect(second).resolves.toMatchObject({ content: { of: "x" } });
  const failed = await Promise.allSettled([first, third, lost]);
  expect(failed.map((each) => each.status === "rejected" && each.reason instanceof StaleError)).toEqual([
    false,
    true,
    true,
  ]);
});

test("what became of the answer is said of what was followed, and of two models not as before and after", () => {
  const says = (...top: [number, string, number][]) =>
    ({
      kind: "next",
      after: " of",
      number: null,
      chosen: null,
      top: top.map(([id, text, p]) => ({ id, text, p })),
    }) as never;
  const before = says([1, " Italy", 0.48], [2, " the", 0.37]);
  const after = says([2, " the", 0.53], [1, " Italy", 0.3]);
  const pieces = ["Paris", "Ġis", "Ġthe"];
  expect(outcome(["L23H5 off"], [before, after], pieces)).toBe(
    "Without L23H5 “Italy” goes from 48% to 30%, and “the” is the likeliest, with 53%.",
  );
  expect(outcome(["all hide >0-1"], [before, says([1, " Italy", 0.2])], pieces)).toBe(
    "Without “Paris is” “Italy” goes from 48% to 20%.",
  );
  expect(outcome(["all hide >0"], [before, after], ["[CLS]", ...pieces])).toContain("Without “[CLS]” ");
  const near = (number: number) => ({ ...(before as object), kind: "cosine", number }) as never;
  expect(outcome(["L1H0 off"], [near(0.5), near(0.4)], pieces)).toBe(
    "Without L1H0 the cosine goes from 0.500 to 0.400.",
  );
  expect(went(having(["all hide >1"], null), "cosine", 0.5, 0.4)).toBe(
    "With all hide >1 the cosine goes from 0.500 to 0.400.",
  );
  expect(outcome(["all scale >0-1 2.0"], [before, after], pieces)).toMatch(/^With the odds of “.+ .+” × 2 “/);
  expect(went("Without “a”", "distance", -1, -2)).toBe("Without “a” the distance goes from 1.000 to 2.000.");
  expect(outcome(["L1H0 mean"], [before], pieces)).toBe("With L1H0 mean, in both models.");
});
