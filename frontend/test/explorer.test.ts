import { expect, test } from "vitest";
import { paint, signedIndex, whole } from "../src/draw/canvas";
import { stretches } from "../src/draw/headdraw";
import { SvgPen } from "../src/draw/svg";
import type { ArrayRef, AxisInfo, ExplorerPayload, InputInfo, PartInfo } from "../src/protocol";
import { find, hasPair, promptEnd, side } from "../src/scene/axis";
import { combine, cut, difference, fair, fromValues, type Layer, received, type Shown, value } from "../src/scene/cut";
import { Store } from "../src/scene/data";
import { box } from "../src/scene/gridlayout";
import type { HeadBox } from "../src/scene/headlayout";
import { evenCodes, rowCuts, strongest } from "../src/scene/lines";
import { moved, within, zoomed } from "../src/scene/matrixlayout";
import { neuronBox } from "../src/scene/neuronlayout";
import { lineAt, rise } from "../src/scene/pick";
import { type Owner, Scene } from "../src/scene/scene";
import { product, scores, span } from "../src/scene/scores";
import { Data, type LayerNeurons } from "../src/scene/source";
import { changed, DEFAULTS, type Full, read, settle, unequal, unread, write } from "../src/scene/state";
import { lineSegments, pool, poolBytes } from "../src/scene/thumbs";
import { unseenOf } from "../src/ui/toolbar";
import { PART, pack, texts } from "./sample";

const axis: AxisInfo = {
  pieces: ["[CLS]", "cat", "##s", "[SEP]", "dog", "[SEP]"],
  special: [true, false, false, true, false, true],
  sequences: [-1, 0, 0, -1, 1, -1],
  words: { group: [0, 1, 1, 2, 3, 4], texts: ["[CLS]", "cats", "[SEP]", "dog", "[SEP]"] },
};
const all = { sequence: null, special: true, unit: "pieces" } as const;

function layer(weights: number[], heads: number, rows: number, columns: number): Layer {
  const numbers = Uint8Array.from(weights, (w) => Math.round(255 * Math.sqrt(w)));
  return { shape: [heads, rows, columns], numbers, encoding: "sqrt", scale: 1, signed: false };
}

test("an axis is filtered by text and special tokens", () => {
  expect(side(axis, all).items.map((item) => item.mark + item.text)).toEqual(axis.pieces);
  expect(side(axis, { ...all, special: false }).items.map((item) => item.start)).toEqual([1, 2, 4]);
  expect(side(axis, { ...all, sequence: 1 }).items.map((item) => item.text)).toEqual(["dog"]);
  expect([...side(axis, { ...all, sequence: 0 }).of]).toEqual([-1, 0, 1, -1, -1, -1]);
  expect(hasPair(axis)).toBe(true);
  expect(hasPair({ ...axis, sequences: [-1, 0, 0, -1, 0, -1] })).toBe(false);
});

test("words are made of their pieces", () => {
  const words = side(axis, { ...all, unit: "words" });
  expect(words.items.map((item) => item.text)).toEqual(["[CLS]", "cats", "[SEP]", "dog", "[SEP]"]);
  expect([...words.of]).toEqual([0, 1, 1, 2, 3, 4]);
  expect(find(words, "CAT")).toEqual([1]);
  expect(find(words, "  ")).toEqual([]);
});

test("to a word is the sum over its pieces, from it the mean", () => {
  const three: AxisInfo = {
    pieces: ["a", "b", "##c"],
    special: [false, false, false],
    sequences: null,
    words: { group: [0, 1, 1], texts: ["a", "bc"] },
  };
  const words = side(three, { ...all, unit: "words" });
  const map = cut(layer([0.5, 0.25, 0.25, 0.2, 0.4, 0.4, 0.6, 0.1, 0.3], 1, 3, 3), 0, 0, words, words, false);
  expect(map.rows).toBe(2);
  [0.5, 0.5, 0.4, 0.6].forEach((wanted, i) => expect(value(map, i)).toBeCloseTo(wanted, 1.9));
});

test("what is cut out keeps its weights, and sums to one when renormalised", () => {
  const rows = side(axis, all);
  const some = side(axis, { ...all, special: false });
  const weights = Array.from({ length: 72 }, (_, i) => (i % 6 === 1 ? 0.5 : 0.1));
  const one = layer(weights, 2, 6, 6);
  const whole = cut(one, 1, 7, rows, rows, false);
  expect(whole.codes.buffer).toBe((one.numbers as Uint8Array).buffer);
  expect(whole.head).toBe(7);
  const raw = cut(one, 1, 7, some, some, false);
  expect(value(raw, 0)).toBeCloseTo(0.5, 2);
  const normal = cut(one, 1, 7, some, some, true);
  for (let a = 0; a < 3; a++)
    expect(value(normal, 3 * a) + value(normal, 3 * a + 1) + value(normal, 3 * a + 2)).toBeCloseTo(1, 5);
});

test("the prompt ends before the first token that the model wrote", () => {
  const told = side({ ...axis, written: 3 }, all);
  expect(promptEnd(told.items)).toBe(3);
  expect(promptEnd(side({ ...axis, written: 0 }, all).items)).toBe(-1); // all of it is written
  expect(promptEnd(side(axis, all).items)).toBe(-1);
});

test("signed matrices keep their sign", () => {
  const axis2 = side({ pieces: ["a", "b"], special: [false, false], sequences: null, words: null }, all);
  const signed: Layer = {
    shape: [1, 2, 2],
    numbers: Uint8Array.from([127, 254, 0, 127 + 64]),
    encoding: "signed",
    scale: 0.01,
    signed: true,
  };
  const map = cut(signed, 0, 0, axis2, axis2, false);
  expect([0, 1, 2].map((i) => value(map, i))).toEqual([0, expect.closeTo(0.01, 6), expect.closeTo(-0.01, 6)]);
  expect([...map.sign!]).toEqual([1, 1, -1, 1]);
});

const made = (values: number[], columns: number, signed = false): Shown =>
  fromValues(0, values.length / columns, columns, Float32Array.from(values), 1, signed);

test("aggregates and differences", () => {
  const [a, b] = [made([0.2, 0.8, 0.5, 0.5], 2), made([0.6, 0.4, 0.1, 0.9], 2)];
  expect([0, 1].map((i) => value(combine([a, b], "mean"), i))).toEqual([expect.closeTo(0.4), expect.closeTo(0.6)]);
  expect([0, 1].map((i) => value(combine([a, b], "max"), i))).toEqual([expect.closeTo(0.6), expect.closeTo(0.8)]);
  const minus = difference(a, b);
  expect([0, 1].map((i) => value(minus, i))).toEqual([expect.closeTo(-0.4), expect.closeTo(0.4)]);
  expect([...minus.sign!.slice(0, 2)]).toEqual([-1, 1]);
  expect(() => difference(a, made([1], 1))).toThrow("as many tokens");
  expect([...received(a)]).toEqual([expect.closeTo(0.35), expect.closeTo(0.65)]);
});

test("the strongest lines are kept, weakest first, and the rest is counted", () => {
  const map = made([0.9, 0.1, 0.5, 0.3, 0.02, 0.7], 3);
  const range = { from: 0, to: 2, least: 1, topK: 0, most: 3 };
  const found = strongest([map], range);
  expect([found.count, found.left]).toEqual([3, 3]);
  const order = Array.from(
    { length: 3 },
    (_, i) => map.codes[found.buffer[3 * i + 1]! * 3 + found.buffer[3 * i + 2]!]!,
  );
  expect(order).toEqual([...order].sort((x, y) => x - y));
  expect([found.buffer[7], found.buffer[8]]).toEqual([0, 0]);
  expect(strongest([map], { ...range, most: 100, topK: 1 }).count).toBe(2);
  expect(strongest([map], { ...range, most: 100, least: 200 }).count).toBe(2);
  expect([...rowCuts(map, 2, 1)]).toEqual([map.codes[2], map.codes[3]]);
});

test("lines are judged against what a row gives on average to the keys it sees", () => {
  const map = made([1, 0, 0, 0.6, 0.4, 0, 0.2, 0.3, 0.5], 3);
  const seen = [1, 2, 3];
  expect([...fair(map, seen)]).toEqual([1, 1 / 2, 1 / 3].map((share) => expect.closeTo(share, 2)));
  const { count, buffer } = strongest([map], { from: 0, to: 3, least: [evenCodes(map, seen)], topK: 0, most: 100 });
  const pairs = Array.from({ length: count }, (_, line) => `${buffer[3 * line + 1]}${buffer[3 * line + 2]}`);
  expect(pairs.sort()).toEqual(["00", "10", "22"]);
  const signed = fromValues(0, 2, 2, Float32Array.from([0.8, -0.4, 0.1, -0.1]), 1, true);
  expect([...fair(signed, [2, 2])]).toEqual([0, 0].map(() => expect.closeTo(0.35, 2)));
});

test("of equally strong lines an even choice is drawn, however many there are", () => {
  const n = 200;
  const map = made(
    Array.from({ length: n * n }, () => 1 / n),
    n,
  );
  const seen = new Array<number>(n).fill(n);
  const { count, left, buffer } = strongest([map], {
    from: 0,
    to: n,
    least: [evenCodes(map, seen)],
    topK: 0,
    most: 4000,
  });
  expect([count, left]).toEqual([4000, n * n - 4000]);
  const perRow = new Array<number>(n).fill(0);
  for (let line = 0; line < count; line++) perRow[buffer[3 * line + 1]!]!++;
  expect([Math.min(...perRow), Math.max(...perRow)]).toEqual([20, 20]);
});

test("a line is drawn when either end can be seen", () => {
  const map = made(
    Array.from({ length: 16 }, () => 0.25),
    4,
  );
  expect(strongest([map], { from: 0, to: 1, least: 1, topK: 0, most: 100 }).count).toBe(4 + 3);
});

const ref = { dtype: "uint8", shape: [1, 1, 1], encoding: "sqrt", data: "0" } as unknown as ArrayRef;
const part = (over: Partial<PartInfo> = {}): PartInfo => ({
  ...PART,
  query: axis,
  key: axis,
  index: [2, 5],
  heads: [
    [0, 1, 3],
    [0, 1],
  ],
  layers: [ref, ref],
  ...over,
});
const payload = (inputs = 1): ExplorerPayload => ({
  kind: "explorer",
  version: 1,
  title: "",
  model: "m",
  exact: false,
  offers: [],
  state: {},
  inputs: Array.from({ length: inputs }, () => ({ label: "", parts: [part()] })),
});

test("a state settles on what can be shown", () => {
  const state = settle(
    { layer: 9, heads: [7], scale: "neuron", side: "both", quantity: "x", measure: "x", pin: ["from", 99] },
    payload(),
  );
  expect(state).toMatchObject({
    layer: 2,
    heads: [0],
    scale: "head",
    side: "one",
    quantity: "weights",
    measure: "none",
    pin: null,
    part: "self",
  });
  expect(settle({ layer: 5, heads: [3, 1] }, payload()).heads).toEqual([1]);
  expect(settle({ side: "difference" }, payload(2)).side).toBe("difference");
});

test("neurons are shown of the heads whose q and k are there", () => {
  const some = payload();
  const vectors = { codes: ref, low: null, step: null };
  const info = {
    q: vectors,
    k: vectors,
    v: null,
    heads: [1, 3],
    key_head: [0, 0],
    keys: [0],
    groups: 4,
    scaling: 1,
    softcap: null,
    bias: null,
    sinks: null,
  };
  some.inputs[0]!.parts = [part({ neurons: [info, null] })];
  const scale = (layer: number, head: number): string => settle({ layer, heads: [head], scale: "neuron" }, some).scale;
  expect([scale(2, 1), scale(2, 3), scale(2, 0), scale(5, 1)]).toEqual(["neuron", "neuron", "head", "head"]);
  expect(unread(some.inputs[0]!.parts[0]!, 5, 1)).toBe("of this input the page has q and k of L2H1, L2H3");
  expect(unread(part(), 2, 1)).toContain("were not captured");
});

test("inputs are subtracted where they show as many tokens", () => {
  const two = payload(2);
  const other: AxisInfo = {
    ...axis,
    pieces: ["[CLS]", "a", "dog", "[SEP]", "ran", "[SEP]"],
    words: { group: [0, 1, 2, 3, 4, 5], texts: ["[CLS]", "a", "dog", "[SEP]", "ran", "[SEP]"] },
  };
  two.inputs[1]!.parts = [part({ query: other, key: other })];
  const why = (asked: Partial<Full>): string | null => unequal(two, { ...settle({}, two), ...asked });
  expect(why({})).toBeNull();
  expect(why({ filter: "ab", special: false })).toBeNull();
  expect(why({ unit: "words" })).toContain("these show 5 words and 6 words");
  expect(why({ unit: "words", filter: "ab" })).toContain("these show 1 word and 2 × 1 words");
  const longer: AxisInfo = {
    ...other,
    pieces: [...other.pieces, "x"],
    special: [...other.special, false],
    sequences: [...other.sequences!, 1],
  };
  two.inputs[1]!.parts = [part({ query: longer, key: longer })];
  expect(why({})).toContain("6 pieces and 7 pieces");
  expect(why({ filter: "aa" })).toBeNull();
});

test("a filter holds for every input that is shown", () => {
  const two = payload(2);
  const single: AxisInfo = { ...axis, sequences: [-1, 0, 0, 0, 0, -1] };
  two.inputs[1]!.parts = [part({ query: single, key: single })];
  expect(settle({ filter: "ab", side: "both" }, two).filter).toBe("all");
  expect(settle({ filter: "ab", side: "one" }, two).filter).toBe("ab");
});

test("a matrix that one of two inputs has is shown, whichever it is", () => {
  const two = payload(2);
  const gradient = { name: "gradient", layers: [ref, ref], signed: true, scale: 1, of: null };
  for (const place of [0, 1]) {
    two.inputs.forEach((input, at) => (input.parts = [part({ quantities: at === place ? [gradient] : [] })]));
    for (const side of ["both", "difference"] as const)
      expect(settle({ quantity: "gradient", side }, two).quantity).toBe("gradient");
    expect(settle({ quantity: "gradient", input: 1 - place }, two).quantity).toBe("weights");
  }
});

test("what is chosen stands where either of two inputs has it", () => {
  const two = payload(2);
  const last = axis.pieces.length - 1;
  const long: AxisInfo = { ...axis, pieces: [...axis.pieces, "x"], special: [...axis.special, false], sequences: null };
  for (const place of [0, 1]) {
    const images = [{ start: 0, end: 2, name: "picture 1" }];
    const [query, key] = [
      { ...long, images },
      { ...long, images },
    ];
    two.inputs.forEach((input, at) => (input.parts = [part(at === place ? { query, key } : {})]));
    const both = settle({ side: "both", pin: ["to", last + 1], unfolded: [0, 1] }, two);
    expect([both.pin, both.unfolded]).toEqual([["to", last + 1], [0]]);
    expect(settle({ side: "both", between: [last + 1, 0] }, two).between).toEqual([last + 1, 0]);
    expect(settle({ side: "both", pin: ["to", last + 2] }, two).pin).toBeNull();
    const other = settle({ input: 1 - place, pin: ["to", last + 1], unfolded: [0] }, two);
    expect([other.pin, other.unfolded]).toEqual([null, []]);
  }
});

test("thumbnails are renormalised as maps are", () => {
  const some = side(axis, { ...all, special: false });
  const weights = Array.from({ length: 36 }, (_, i) => ((i * 7) % 11) / 40);
  const one = layer(weights, 1, 6, 6);
  for (const renormalise of [false, true]) {
    const quick = poolBytes(one, 0, some.items, some.items, renormalise);
    expect([...quick.codes]).toEqual([...pool(cut(one, 0, 0, some, some, renormalise)).codes]);
  }
  expect([...poolBytes(one, 0, some.items, some.items, true).codes]).not.toEqual([
    ...poolBytes(one, 0, some.items, some.items, false).codes,
  ]);
});

test("thumbnails alone are a grid", () => {
  const thumbs = payload(2);
  for (const input of thumbs.inputs) input.parts = [part({ layers: [], thumbs: ref })];
  expect(settle({ scale: "head", side: "difference", unit: "words" }, thumbs)).toMatchObject({
    scale: "model",
    side: "both",
    unit: "pieces",
  });
});

test("a state goes into a fragment and comes back", () => {
  const base = settle({}, payload());
  const state: Full = {
    ...base,
    layer: 5,
    heads: [1, 0],
    filter: "ab",
    special: false,
    threshold: 0.125,
    top_k: 3,
    pin: ["to", 4],
    zoom: [0, 2, 1, 3],
    least: 0.5,
    measure: "corpus:sep",
    theme: "dark",
  };
  const fragment = write(state, base);
  expect(fragment).toContain("heads=1,0");
  expect({ ...base, ...read(`#${fragment}`) }).toEqual(state);
  expect(write(base, base)).toBe("");
  expect(read(`#1.layer=5&layer=2`, "1.")).toEqual({ layer: 5 });
  expect(changed(base, state)).toHaveLength(11);
});

test("nonsense in a fragment is left out", () => {
  expect(read("#layer=x&heads=1,b&special=yes&zoom=1,2&pin=left,2&filter=zz&threshold=-1&unknown=1&scale=")).toEqual(
    {},
  );
  expect(read("#threshold=7&top_k=2.7")).toEqual({ threshold: 1, top_k: 2 });
  expect(read("#threshold=null&sinks=false")).toEqual({ threshold: null, sinks: false });
  expect(Object.keys(DEFAULTS)).toHaveLength(37);
});

test("a large grid of many layers takes its width rather than cells that cannot be read", () => {
  const deep = { rows: 48, columns: 40, room: 740, kind: "large", noted: false, sorted: false } as const;
  const wide = box({ ...deep, width: 1336 });
  expect(wide.cell).toBeGreaterThan(24);
  expect(wide.width).toBeLessThanOrEqual(1336);
  expect(box({ ...deep, rows: 12, columns: 12, width: 1336 }).height).toBeLessThanOrEqual(740 + 34);
  expect(box({ ...deep, width: 362 }).cell).toBe(10);
});

test("the blocks of neurons stand side by side", () => {
  for (const [width, vectors] of [
    [748, false],
    [748, true],
    [640, true],
  ] as const) {
    const found = neuronBox({
      width,
      rows: 12,
      tokens: 12,
      widest: 80,
      size: 32,
      vectors,
      norms: vectors,
      tallest: 700,
    });
    expect(found.q + found.block).toBeLessThanOrEqual(found.k);
    expect(found.k + found.block).toBeLessThanOrEqual(found.product);
    expect(found.soft + found.softWidth).toBeLessThanOrEqual(found.right);
    expect(vectors ? found.norm + found.normWidth : found.right + found.tokens).toBeLessThanOrEqual(width + 1);
  }
});

test("a matrix zooms about a cell and stays within its bounds", () => {
  expect(within(null, 10, 20)).toEqual([0, 10, 0, 20]);
  expect(within([8, 5, -3, 90], 10, 20)).toEqual([5, 5, 0, 20]);
  expect(zoomed([0, 10, 0, 20], 0.5, 5, 10, 10, 20)).toEqual([3, 5, 5, 10]);
  expect(zoomed([2, 5, 5, 10], 4, 5, 10, 10, 20)).toBeNull();
  expect(moved([2, 5, 5, 10], -9, 99, 10, 20)).toEqual([0, 5, 10, 10]);
});

test("texts are stretches, and special tokens belong to the one before", () => {
  expect(stretches([-1, 0, 0, -1, 1, -1])).toEqual([
    { start: 0, end: 4, letter: "A" },
    { start: 4, end: 6, letter: "B" },
  ]);
  expect(stretches([-1, -1])).toEqual([]);
});

test("scores are scaled, biased, capped and masked", () => {
  const neurons: LayerNeurons = {
    info: {
      key_head: [0],
      keys: [0],
      groups: 2,
      scaling: 0.5,
      softcap: 2,
      sinks: null,
    } as unknown as LayerNeurons["info"],
    q: { numbers: Float32Array.from([1, 2, 3, 4]), shape: [1, 2, 2] },
    k: { numbers: Float32Array.from([1, 0, 0, 1]), shape: [1, 2, 2] },
    v: null,
    bias: { numbers: Float32Array.from([0, 0, 1, -1]), shape: [1, 2, 2] },
  };
  const found = scores(neurons, 0, 1, () => false);
  expect([...found.dots]).toEqual([3, 4]);
  expect([...found.bias!]).toEqual([1, -1]);
  expect([...found.scores]).toEqual([expect.closeTo(2 * Math.tanh(2.5 / 2)), expect.closeTo(2 * Math.tanh(1 / 2))]);
  expect([...found.masked]).toEqual([0, 0]);
  expect([...scores(neurons, 0, 0, (key) => key > 0).masked]).toEqual([0, 1]);
  // A bias of minus infinity, which comes as -1e9, hides a key as a mask does.
  const hiding = { ...neurons, bias: { ...neurons.bias!, numbers: Float32Array.from([0, -1e9, 0, 0]) } };
  expect([...scores(hiding, 0, 0, () => false).masked]).toEqual([0, 1]);
  expect([...product(Float32Array.from([1, -2]), Float32Array.from([3, 4]))]).toEqual([3, -8]);
  expect(span([Float32Array.from({ length: 1000 }, (_, i) => i)])).toBeCloseTo(985, -1);
});

test("a query cannot see what its layer's mask hides, or what comes later in a causal part", async () => {
  // Layer 3 has a window of 1 in its second head, layer 5 none; head 0 is not shown.
  const hidden = [
    pack(Uint8Array.from([0, 1, 0, 0, 0, 1, 1, 0]), [2, 2, 2]),
    pack(Uint8Array.from([0, 1, 0, 0]), [1, 2, 2]),
  ];
  const ab = { pieces: ["a", "b"], special: [false, false], sequences: null, words: null };
  const part = {
    causal: true,
    query: ab,
    key: ab,
    index: [3, 5],
    heads: [
      [1, 2],
      [1, 2],
    ],
    hidden,
  } as unknown as PartInfo;
  const data = new Data({ inputs: [] } as unknown as ExplorerPayload, new Store((name) => texts.get(name) ?? ""));
  for (const ref of hidden) await data.loadArray(ref);
  const unseen = (layer: number, head: number, of = part): boolean[] =>
    [0, 1].flatMap((query) => [0, 1].map((key) => data.unseen(of, layer, head, query, key)));
  expect(unseen(3, 1)).toEqual([false, true, false, false]);
  expect(unseen(3, 2)).toEqual([false, true, true, false]);
  expect(unseen(5, 2)).toEqual([false, true, false, false]);
  expect(unseen(3, 2, { ...part, hidden: null })).toEqual([false, true, false, false]);
  expect(unseen(3, 2, { ...part, hidden: null, causal: false })).toEqual([false, false, false, false]);
});

test("what is pointed at while a head is decoded is no reason to show nothing of it later", async () => {
  const ab = { pieces: ["a", "b"], special: [false, false], sequences: null, words: null };
  const weights = pack(Uint8Array.from([255, 0, 128, 128]), [1, 2, 2], "sqrt");
  const hidden = pack(Uint8Array.from([0, 1, 0, 0]), [1, 2, 2]);
  const part = {
    name: "self",
    causal: true,
    query: ab,
    key: ab,
    index: [0],
    heads: [[0]],
    layers: [weights],
    hidden: [hidden],
    quantities: [],
  } as unknown as PartInfo;
  const payload = { inputs: [{ parts: [part] }] } as unknown as ExplorerPayload;
  const data = new Data(payload, new Store((name) => texts.get(name) ?? ""));
  const scene = new Scene(data, 0, { state: { ...DEFAULTS, part: "self", layer: 0, heads: [0] } } as unknown as Owner);
  expect([scene.shown().length, [...scene.seen]]).toEqual([0, [1, 2]]);
  const before = scene.shown();
  await Promise.all(scene.missing());
  expect(scene.shown()).toHaveLength(1);
  expect(scene.shown()).not.toBe(before);
  expect(scene.shown()).toBe(scene.shown());
});

test("a line is where its curve is drawn", () => {
  expect([rise(0), rise(0.5), rise(1)]).toEqual([expect.closeTo(0, 5), expect.closeTo(0.5, 5), expect.closeTo(1, 5)]);
  const box = { x0: 0, x1: 100, row: 20 } as unknown as HeadBox;
  const lines = { buffer: Uint32Array.from([0, 0, 0, 0, 2, 0]), count: 2, left: 0 };
  expect(lineAt(box, lines, 0, 50, 31)).toEqual({ from: 2, to: 0 });
  expect(lineAt(box, lines, 0, 50, 12)).toEqual({ from: 0, to: 0 });
  expect(lineAt(box, lines, 0, 50, 20)).toBe(null);
  expect(lineAt(box, lines, 20, 50, 11), "scrolled").toEqual({ from: 2, to: 0 });
  expect(lineAt(box, lines, 0, 120, 31)).toBe(null);
});

test("pictures keep the strongest of what they cover", () => {
  const map = made(
    Array.from({ length: 130 * 130 }, (_, i) => (i === 130 * 129 + 1 ? 1 : 0)),
    130,
  );
  const thumb = pool(map);
  expect([thumb.rows, thumb.columns]).toEqual([64, 64]);
  expect(thumb.codes[63 * 64]).toBe(255);
  const pixels = { data: new Uint32Array(4), stride: 2 };
  paint(
    pixels,
    0,
    0,
    2,
    2,
    whole(Uint8Array.from([1, 2, 3, 9, 4, 5, 6, 7, 8]), 3, 3),
    Uint32Array.from({ length: 256 }, (_, i) => i),
  );
  expect(Math.max(...pixels.data)).toBe(9);
  expect([signedIndex(0, 1), signedIndex(255, 1), signedIndex(255, -1)]).toEqual([128, 255, 0]);
  expect(
    lineSegments({ rows: 1, columns: 4, codes: Uint8Array.from([255, 200, 100, 90]), sign: null }).flat(),
  ).toHaveLength(4);
  expect(lineSegments({ rows: 1, columns: 4, codes: new Uint8Array(4).fill(16), sign: null }).flat()).toHaveLength(8);
});

test("what is read from the right keeps its place among numbers", () => {
  const pen = new SvgPen(10, 10);
  for (const text of ["שלום, עולם 12 tokens", "cat 12", "שלום"]) pen.fillText(text, 0, 0);
  pen.spans([["#000", "סלאם 3"]], 0, 0);
  const said = [...pen.document().matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
  expect(said).toEqual(["\u2068שלום, עולם\u2069 12 tokens", "cat 12", "שלום", "\u2068סלאם\u2069 3"]);
});

test("SVG text cannot become markup", () => {
  const pen = new SvgPen(10, 10);
  pen.fillText("</text><script>\u0000", 1, 2);
  expect(pen.document()).toContain("&lt;/text&gt;&lt;script&gt;�");
  expect(pen.document()).not.toContain("<script>");
});

test("what has no attention map is said once, and of two models whose it is", () => {
  const input = (label: string, unseen?: string): InputInfo => ({ label, parts: [part()], ...(unseen && { unseen }) });
  expect(unseenOf([input("a")])).toEqual([]);
  expect(unseenOf([input("a", "Layer 0."), input("b", "Layer 0.")])).toEqual(["Layer 0."]);
  expect(unseenOf([input("a", "Layer 0."), input("b")])).toEqual(["a: Layer 0."]);
});

test("a shape of SVG has an opacity of its own, and is no layer", () => {
  const pen = new SvgPen(10, 10);
  pen.globalAlpha = 0.25;
  pen.fillRect(0, 0, 1, 1);
  pen.beginPath();
  pen.stroke();
  pen.fillText("a", 0, 0);
  expect(pen.document().match(/ [\w-]*opacity="[^"]*"/g)).toEqual([
    ' fill-opacity="0.25"',
    ' stroke-opacity="0.25"',
    ' fill-opacity="0.25"',
  ]);
});
