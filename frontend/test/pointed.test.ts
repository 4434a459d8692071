import { expect, test } from "vitest";
import type { PartInfo } from "../src/protocol";
import { answer, plain, pointed } from "../src/scene/answer";
import { side } from "../src/scene/axis";
import { Store } from "../src/scene/data";
import { Heads } from "../src/scene/heads";
import { lineOf, ranking, reading } from "../src/scene/pointed";
import { treated } from "../src/scene/says";
import { type Focus, type Owner, Scene } from "../src/scene/scene";
import { Data } from "../src/scene/source";
import { DEFAULTS } from "../src/scene/state";
import { pack, packPieces, texts } from "./sample";

const axis = {
  pieces: ["[CLS]", "the", "cat", "sat"],
  special: [true, false, false, false],
  sequences: null,
  words: null,
};
const HEADS = [
  [200, 20, 30, 40, 60, 50, 120, 10, 90, 70, 20, 200, 100, 0, 150, 30],
  [250, 0, 0, 0, 250, 0, 0, 0, 250, 0, 0, 0, 250, 0, 0, 0],
].map((codes) => Uint8Array.from(codes));

/** A layer that comes whole, and one that comes a head at a time, with thumbnails of both. */
function scene(pointed: Partial<Focus> | null, over: Partial<typeof DEFAULTS> = {}, more: object = {}): Scene {
  const whole = Uint8Array.from(HEADS.flatMap((head) => [...head]));
  const part = {
    name: "self",
    kind: "self",
    query: axis,
    key: { ...axis, sinks: [0] },
    index: [0, 1],
    heads: [
      [0, 1],
      [0, 1],
    ],
    layers: [pack(whole, [2, 4, 4], "sqrt"), packPieces(HEADS, [2, 4, 4])],
    thumbs: pack(Uint8Array.from([...whole, ...whole]), [4, 4, 4], "sqrt"),
    hidden: null,
    quantities: [],
    measures: [],
    ...more,
  } as unknown as PartInfo;
  const data = new Data(
    { model: "m", inputs: [{ label: "", parts: [part] }] } as never,
    new Store((name) => texts.get(name) ?? ""),
    false,
    0,
  );
  const state = { ...DEFAULTS, part: "self", layer: 0, heads: [0], ...over };
  const made = new Scene(data, 0, { state, theme: "light", printing: false, host: {} } as unknown as Owner);
  made.hovered = pointed && { from: null, to: null, ...pointed };
  return made;
}

const weight = (code: number): number => (code / 255) ** 2;

test("each head has its row, its column, or the weight between two tokens", async () => {
  const one = scene(null);
  await one.data.load(one.part, 0, "weights");
  const line = (from: number | null, to: number | null): number[] =>
    [...lineOf(one, { from, to }, 0, 0)!].map((value) => Math.round(255 * Math.sqrt(value)));
  expect(line(2, null)).toEqual([90, 70, 20, 200]);
  expect(line(null, 2)).toEqual([30, 120, 20, 150]);
  expect(line(1, 2)).toEqual([120]);
  expect(lineOf(one, { from: 2, to: null }, 1, 0)).toBeNull(); // not decoded
});

test("what sinks take is said where they are hidden, and the rest of a row sums to 1", async () => {
  const none = [0, 0, 0, 0];
  const highlights = {
    query: [-1, -1, -1, -1],
    key: none,
    weight: none,
    score: none,
    share: none,
    alike: none,
    near: none,
    evenness: none,
  };
  const one = scene(null, { sinks: false, renormalise: true }, { highlights });
  await one.data.load(one.part, 0, "weights");
  const rows = [0, 4, 8, 12].map((at) => [...HEADS[0]!.subarray(at, at + 4)].map(weight));
  const share = rows.reduce((sum, row) => sum + row[0]! / 4, 0);
  expect(one.leftOut).toBeCloseTo(share, 6);
  const rest = [1, 2, 3].map((to) => rows.reduce((sum, row) => sum + row[to]! / (row[1]! + row[2]! + row[3]!) / 4, 0));
  const best = rest.indexOf(Math.max(...rest));
  const most = `of the rest the most to “${axis.pieces[best + 1]}”.`;
  expect(plain(answer(one))).toBe(`L0H0 gives ${Math.round(100 * share)}% to the hidden sink ([CLS]), and ${most}`);
  expect(treated([one])).toContain(`sinks left out as keys, ${Math.round(100 * share)}% of L0H0's weight`);
  expect(scene(null).leftOut).toBeNull();
});

test("a written token was chosen by the row of the token before it", async () => {
  const query = { ...axis, written: 2 };
  const said = async (from: number): Promise<string> => {
    const one = scene({ from }, {}, { query, key: query });
    await one.data.load(one.part, 0, "weights");
    return plain(pointed(one));
  };
  expect(await said(2)).toMatch(/\. “cat” was chosen by the row of “the”, the token before it$/);
  expect(await said(3)).toContain("“sat” was chosen by the row of “cat”");
  expect(await said(1)).not.toContain("chosen");
});

test("a large layer is read in passing, and until then its thumbnail shows what it knows", async () => {
  const one = scene({ from: 2 });
  const heads = new Heads(one);
  await Promise.all(heads.missing());
  expect([...heads.along(1, 0)!.codes]).toEqual([90, 70, 20, 200]);
  expect(lineOf(one, one.pointed!, 1, 0)).toBeNull();
  await reading(one, one.pointed!, 1);
  expect(one.data.layer(one.part, 1, "weights", [0])).toBeUndefined(); // nothing but the line is kept
  expect(lineOf(one, one.pointed!, 1, 0)![3]).toBeCloseTo(weight(200), 6);
  expect(reading(one, one.pointed!, 1)).toBeNull();
});

test("heads are ranked by their largest weight on another token than a sink, or between two", async () => {
  const one = scene({ from: 2 });
  await one.data.load(one.part, 0, "weights");
  const short = (): unknown => ranking(one, one.pointed!).map(({ layer, head, place }) => [layer, head, place]);
  expect(short()).toEqual([
    [0, 0, 3],
    [0, 1, 1],
  ]);
  expect(plain(pointed(one))).toBe("Most from “cat”: L0H0 62% to “sat”, L0H1 0% to “the”; 2 of 4 heads are read");
  await reading(one, one.pointed!, 1);
  expect(plain(pointed(one))).toBe(
    "Most from “cat”: L0H0 62% to “sat”, L1H0 62% to “sat”, L0H1 0% to “the”, L1H1 0% to “the”",
  );
  one.hovered = { from: null, to: 0 };
  expect(plain(pointed(one))).toMatch(/^Most to “\[CLS\]”: L0H1 96% from “the”, L0H0 /);
  one.hovered = { from: null, to: 1 };
  expect(plain(pointed(one))).toMatch(/^Most to “the”: L0H0 7.5% from “cat”, L0H1 0% from “cat”; /); // not from [CLS]
  one.hovered = { from: 3, to: 2 };
  expect(plain(pointed(one))).toMatch(/^From “sat” to “cat”: L0H0 35%, L0H1 0%; /);
  one.hovered = null;
  expect(pointed(one)).toEqual([]);
});

test("a causal model's first token is set aside, though too few tokens follow for it to be a sink", async () => {
  const one = scene({ from: 3 }, {}, { causal: true, key: { ...axis, special: axis.special.map(() => false) } });
  await one.data.load(one.part, 0, "weights");
  expect(ranking(one, one.pointed!).map(({ place }) => place)).not.toContain(0);
});

test("words and hidden tokens are rows and columns as they are shown", async () => {
  const one = scene(null, { special: false });
  await one.data.load(one.part, 0, "weights");
  const line = lineOf(one, { from: 1, to: null }, 0, 0)!;
  expect(line).toHaveLength(side(one.part.key, { sequence: null, special: false, unit: "pieces" }).items.length);
  expect(line[2]).toBeCloseTo(weight(200), 6);
});
