// Heads on a picture: where areas stand in a raster, what veils say, and rows and means of maps with masks and blocks.

import { expect, test } from "vitest";
import { onSheet, panesOf } from "../src/draw/panes";
import { repeated, smoothed } from "../src/draw/png";
import { type Raster, rastersOf, veil } from "../src/draw/veils";
import type { AxisInfo, ExplorerPayload, PartInfo } from "../src/protocol";
import { areaAt, type Box, covered, nextTo } from "../src/scene/areas";
import { COLOURS } from "../src/scene/color";
import type { Shown } from "../src/scene/cut";
import { Store } from "../src/scene/data";
import { boardLayout, GAP, SMALL_GAP, STRIP_GAP, smallLayout, stripLayout } from "../src/scene/onpicture";
import { asked, lookers, looks, looksIn, looksOf, mapOf, meansOf, missing, mixed, unseen } from "../src/scene/rows";
import { type Owner, Scene } from "../src/scene/scene";
import { Data } from "../src/scene/source";
import { DEFAULTS, type Full, settle } from "../src/scene/state";
import { PART, pack, texts } from "./sample";

/** A grid of patches of 10 × 10 pixels after some tokens without an area. */
function grid(rows: number, columns: number, prefix = 1, counts?: number[]): AxisInfo {
  const boxes: (number[] | null)[] = Array.from({ length: prefix }, () => null);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      boxes.push([10 * column, 10 * row, 10 * column + 10, 10 * row + 10]);
  return {
    pieces: boxes.map((_, at) => (at < prefix ? "[CLS]" : `patch ${at}`)),
    special: boxes.map((box) => box === null),
    sequences: null,
    words: null,
    boxes,
    ...(counts && { counts }),
  } as AxisInfo;
}

const boxes = (axis: AxisInfo): (Box | null)[] => axis.boxes as unknown as (Box | null)[];
const LOOK = { smooth: false, opacity: 1, signed: false, theme: "light" } as const;
const SEEN = { kind: "picture", src: "", width: 1000, height: 1000, name: "" } as const;
const rasterOf = (boxes: readonly (Box | null)[]): Raster => rastersOf(SEEN, boxes)[0]!;
const veiled = (raster: Raster, shares: number[], look: Parameters<typeof veil>[2]): void =>
  veil([raster], { shares }, look);
const alpha = (raster: Raster): number[] => [...raster.pixels].map((pixel) => pixel >>> 24);

test("each patch is a cell, and a block of patches several", () => {
  const raster = rasterOf(boxes(grid(2, 3)));
  expect([raster.columns, raster.rows, raster.area]).toEqual([3, 2, [0, 0, 30, 20]]);
  veiled(raster, [9, 1, 0, 0, 0, 0, 0.25], LOOK);
  expect(alpha(raster)).toEqual([0, 255, 255, 255, 255, 127]);
  // Two by two, one beside it, and what is left below: smaller at the edge.
  const blocks = rasterOf([[0, 0, 20, 20], [20, 0, 30, 20], null, [0, 20, 20, 30], [20, 20, 30, 30]]);
  expect([blocks.columns, blocks.rows]).toEqual([3, 3]);
  veiled(blocks, [0, 1, 7, 0.25, 0], LOOK);
  expect(alpha(blocks)).toEqual([255, 255, 0, 255, 255, 0, 127, 127, 255]);
});

test("areas that leave a gap, and odd sizes, have their own cells", () => {
  const raster = rasterOf([
    [0, 0, 7.3, 7.3],
    [14.6, 0, 21.9, 7.3],
  ]);
  veiled(raster, [1, 0], LOOK);
  expect([raster.columns, raster.rows, [...raster.pixels].map((pixel) => pixel !== 0)]).toEqual([
    3,
    1,
    [true, false, true],
  ]);
  expect(covered([null, [1, 2, 3, 4], [0, 3, 2, 9]])).toEqual([0, 2, 3, 9]);
  expect([
    areaAt(boxes(grid(2, 3)), 25, 15),
    areaAt(boxes(grid(2, 3)), 30, 15),
    areaAt(boxes(grid(2, 3)), 0, 0),
  ]).toEqual([6, -1, 1]);
});

test("what several areas cover has the mean of what these have", () => {
  const kmers = rasterOf([0, 1, 2].map((at): Box => [20 * at, 0, 20 * at + 60, 20]));
  expect([kmers.columns, kmers.rows]).toEqual([5, 1]);
  veiled(kmers, [1, 0, NaN], LOOK);
  expect(alpha(kmers)).toEqual([0, 75, 75, 255, 199]); // 1, a half of it twice, 0, and what is not seen
  // Patches of 16 that are 10 apart: every edge is between two cells.
  const patches = rasterOf([0, 1, 2].map((at): Box => [10 * at, 0, 10 * at + 16, 16]));
  expect(patches.columns).toBe(18);
  expect([areaAt([[0, 0, 60, 20], [20, 0, 80, 20], null], 50, 10), areaAt([[0, 0, 60, 20]], 60, 10)]).toEqual([1, -1]);
});

test("a bright spot on one of several pictures is dark on the others, in one scale", () => {
  const media = [0, 1].map(
    (at) => ({ kind: "picture", name: `camera ${at}`, box: [48 * at, 20, 48 * at + 40, 60] }) as const,
  );
  const sheet = { ...SEEN, width: 88, height: 60, media: media.map(({ box, ...one }) => ({ ...one, box: [...box] })) };
  const areas = media.flatMap(({ box: [left, top] }) =>
    [0, 1, 2, 3].map(
      (at): Box => [
        left! + 20 * (at % 2),
        top! + 20 * (at >> 1),
        left! + 20 * (at % 2) + 20,
        top! + 20 * (at >> 1) + 20,
      ],
    ),
  );
  const rasters = rastersOf(sheet, [null, ...areas]);
  veil(rasters, { shares: [3, 0, 0, 0, 0.25, 0, 1, 0, 0] }, LOOK);
  expect(rasters.map(alpha)).toEqual([
    [255, 255, 255, 127],
    [255, 0, 255, 255],
  ]);
  // Each stands on its own, its name above it; a point between them is on none.
  const laid = panesOf(sheet, 400);
  expect(laid.panes.map(({ name }) => name)).toEqual(["camera 0", "camera 1"]);
  const [one, other] = laid.panes.map(({ at }) => at);
  expect(one![2]).toBeLessThan(other![0]);
  expect(onSheet(laid, (one![2] + other![0]) / 2, one![3] - 1)).toBeNull();
  const [x, y] = onSheet(laid, other![2] - 1, one![1] + 1)!;
  expect(areaAt([null, ...areas], x, y)).toBe(6);
  expect(nextTo([null, ...areas], 2, [1, 0])).toBe(5); // from the right edge of one to the left edge of the next
  expect(panesOf(sheet, 400, 1).panes.map(({ at }) => at)).toEqual([[0, 17, 400, 417]]);
  expect(panesOf(sheet, 120).panes.map(({ name }) => name)).toEqual(["", ""]);
});

test("letters stand in lines that can be read, and a series has its channels beside it", () => {
  const text = "ACDEFGHIKLMN".repeat(10);
  const letters = { kind: "letters", src: "", width: 2400, height: 20, name: "" } as const;
  const info = {
    ...letters,
    media: [{ kind: "letters" as const, name: "1UBQ", box: [0, 0, 2400, 20], letters: text }],
  };
  for (const width of [340, 560, 1000, 2400]) {
    const { panes } = panesOf(info, width);
    expect(panes.flatMap(({ letters }) => letters).join("")).toBe(text);
    for (const { at, letters, beside } of panes) {
      expect((at[2] - at[0]) / letters.length).toBeGreaterThanOrEqual(13);
      expect(at[2]).toBeLessThanOrEqual(width);
      if (panes.length > 1) expect(Number(beside[0]) % 10).toBe(1);
    }
    const last = panes.at(-1)!;
    expect(onSheet({ panes, height: 0 }, last.at[2] - 1, last.at[1] + 1)![0]).toBeGreaterThan(2380);
  }
  const channels = ["HUFL", "OT"];
  const series = {
    ...letters,
    kind: "series" as const,
    media: [{ kind: "series" as const, name: "x", box: [0, 0, 960, 144], channels }],
  };
  const [pane] = panesOf(series, 500).panes;
  expect([pane!.beside, pane!.name, pane!.at[2]]).toEqual([channels, "", 500]);
  expect(pane!.at[0]).toBeGreaterThan(20);
});

test("what cannot be seen is grey, and a difference has the colour of its sign", () => {
  const raster = rasterOf(boxes(grid(1, 4, 0)));
  veiled(raster, [NaN, 0.5, -0.5, 0], { ...LOOK, signed: true });
  const hex = (pixel: number): string =>
    `#${[0, 8, 16].map((by) => ((pixel >>> by) & 255).toString(16).padStart(2, "0")).join("")}`;
  const [grey, plus, minus, none] = [...raster.pixels];
  expect([hex(plus!), hex(minus!), none! >>> 24]).toEqual([COLOURS.light.plus, COLOURS.light.minus, 0]);
  expect([hex(grey!), grey! >>> 24]).toEqual(["#868c92", 199]);
  veiled(raster, [NaN, 0.5, 0.125, 0], { ...LOOK, opacity: 0.8 });
  expect(alpha(raster)).toEqual([199, 0, 102, 204]);
});

test("only smooth ones run into each other, and the colour of what is clear does not shine through", () => {
  const clear = 0x00ffffff;
  const dark = (200 << 24) | 0x1e140a;
  const pixels = Uint32Array.from([clear, dark]);
  expect([...repeated(pixels, 2, 1, 2)]).toEqual(
    [clear, clear, dark, dark, clear, clear, dark, dark].map((p) => p >>> 0),
  );
  const soft = [...smoothed(pixels, 2, 1, 4)].slice(0, 8);
  const between = soft.map((pixel) => pixel >>> 24);
  expect(between).toEqual([...between].sort((a, b) => a - b));
  expect(new Set(between).size).toBeGreaterThan(4);
  for (const pixel of soft) if (pixel >>> 24 > 0) expect(pixel & 0xffffff).toBe(0x1e140a);
});

test("pictures have room beside one another", () => {
  const part = { query: grid(2, 2), key: grid(2, 2) } as unknown as PartInfo;
  const info = (width: number, height: number) => ({ kind: "picture", src: "", width, height, name: "" }) as const;
  for (const width of [301, 420, 646, 1200]) {
    for (const rolled of [false, true]) {
      const { each, stacked } = boardLayout(part, info(120, 80), width, rolled);
      expect(each + (stacked ? 0 : GAP + each)).toBeLessThanOrEqual(width);
      expect(boardLayout(part, info(900, 100), width, rolled)).toEqual({ each: width, stacked: true });
    }
    for (const count of [2, 3, 12]) {
      const beside = Math.min(count, Math.max(2, Math.min(6, Math.floor(width / 120))));
      expect(smallLayout(count, width, info(120, 80)) * beside + SMALL_GAP * (beside - 1)).toBeLessThanOrEqual(width);
      const { one, tall } = stripLayout(count, false, [0, 0, 120, 80], width);
      expect(one + (count > 1 ? one + STRIP_GAP : 0)).toBeLessThanOrEqual(width);
      expect(tall).toBe(Math.round((one * 80) / 120));
    }
  }
  // Rollout stands beside both where three have room: on a page of paper too.
  expect(3 * boardLayout(part, info(120, 80), 646, true).each + 2 * GAP).toBeLessThanOrEqual(646);
});

const codes = (weights: readonly number[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(weights, (weight) => Math.round(255 * Math.sqrt(weight)));
const exactly = (weights: readonly number[]): number[] => [...codes(weights)].map((code) => (code / 255) ** 2);

/** A scene of one input, with all of it decoded. */
async function sceneOf(part: Partial<PartInfo>, state: Partial<Full> = {}, other?: Partial<PartInfo>): Promise<Scene> {
  const whole = (one: Partial<PartInfo>): PartInfo => ({ ...PART, index: [0], heads: [[0]], ...one }) as PartInfo;
  const inputs = [part, ...(other ? [other] : [])].map((one) => ({ label: "", parts: [whole(one)] }));
  const payload = {
    kind: "explorer",
    version: 1,
    title: "",
    model: "",
    exact: false,
    offers: [],
    state: {},
    inputs,
  } as unknown as ExplorerPayload;
  const data = new Data(payload, new Store((name) => texts.get(name) ?? ""));
  const owner = { state: { ...settle({ ...DEFAULTS, ...state }, payload), ...state } } as unknown as Owner;
  const scene = new Scene(data, 0, owner, other ? new Scene(data, 1, owner) : null);
  await Promise.all(scene.missing());
  return scene;
}

const WEIGHTS = [
  [0.25, 0.25, 0.5, 0, 0],
  [0.04, 0.64, 0.32, 0, 0],
  [0.01, 0.09, 0.4, 0.25, 0.25],
  [0.2, 0.2, 0.2, 0.2, 0.2],
  [0, 0, 0, 0, 1],
];
const small = (): Partial<PartInfo> => ({
  query: grid(2, 2),
  key: grid(2, 2),
  layers: [pack(codes(WEIGHTS.flat()), [1, 5, 5], "sqrt")],
});
const close = (found: ArrayLike<number> | null, expected: readonly number[]): void => {
  expect(found).not.toBeNull();
  expect([...Array.from(found!)]).toEqual(
    expected.map((value) => (Number.isNaN(value) ? NaN : expect.closeTo(value, 6))),
  );
};
const mean = (rows: readonly (readonly number[])[], weights = rows.map(() => 1)): number[] =>
  rows[0]!.map(
    (_, key) => rows.reduce((sum, row, at) => sum + weights[at]! * row[key]!, 0) / weights.reduce((a, b) => a + b),
  );

test("a query's row, and means over all queries or over patches", async () => {
  const scene = await sceneOf(small());
  const [map] = scene.shown();
  const rows = WEIGHTS.map(exactly);
  close(looks(scene, map!, 2, null), rows[2]!);
  close(looks(scene, map!, "all", null), mean(rows));
  close(looks(scene, map!, "patches", null), mean(rows.slice(1)));
  close(
    lookers(scene, map!, 1, null),
    rows.map((row) => row[1]!),
  );
  expect(mixed(scene)).toBe(true);
  expect(
    mixed(
      await sceneOf({
        query: grid(2, 2, 0),
        key: grid(2, 2, 0),
        layers: [pack(codes(Array.from({ length: 16 }, () => 0.25)), [1, 4, 4], "sqrt")],
      }),
    ),
  ).toBe(false);
});

test("who looks: what is pointed at, what is pinned, or the mean that was asked for", async () => {
  const scene = await sceneOf(small(), { queries: "patches" });
  expect(asked(scene)).toBe("patches");
  scene.hovered = { from: 3, to: null };
  expect(asked(scene)).toBe(3);
  expect(asked(await sceneOf(small()))).toBe("all");
  expect(asked(await sceneOf(small(), { queries: "patches", pin: ["from", 2] }))).toBe(2);
  // Where patches are all there is, their mean is that of all.
  expect(asked(await sceneOf(small(), { queries: "patches", special: false }))).toBe("all");
});

test("a row of a block counts as often as it has patches", async () => {
  const part = { ...small(), query: grid(2, 2, 1, [1, 4, 2, 2, 1]) };
  const scene = await sceneOf(part);
  const rows = WEIGHTS.map(exactly);
  close(looks(scene, scene.shown()[0]!, "all", null), mean(rows, [1, 4, 2, 2, 1]));
  close(looks(scene, scene.shown()[0]!, "patches", null), mean(rows.slice(1), [4, 2, 2, 1]));
});

test("what a mask hides is nowhere, and no part of a mean", async () => {
  const hides = [
    [0, 0, 0, 1, 1],
    [0, 0, 0, 1, 1],
    [0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0],
    [1, 1, 1, 1, 0],
  ];
  const part = { ...small(), hidden: [pack(Uint8Array.from(hides.flat()), [1, 5, 5])] };
  const scene = await sceneOf(part);
  const [map] = scene.shown();
  const mask = unseen(scene, [0], [0]);
  const rows = WEIGHTS.map(exactly);
  close(
    looks(scene, map!, 1, mask),
    rows[1]!.map((weight, key) => (hides[1]![key] ? NaN : weight)),
  );
  const seen = rows[0]!.map((_, key) => rows.filter((__, from) => !hides[from]![key]).map((row) => row[key]!));
  close(
    looks(scene, map!, "all", mask),
    seen.map((weights) => weights.reduce((a, b) => a + b, 0) / weights.length),
  );
  close(
    lookers(scene, map!, 3, mask),
    rows.map((row, from) => (hides[from]![3] ? NaN : row[3]!)),
  );
  expect([...scene.seen], "as many as the mask leaves").toEqual([3, 3, 5, 5, 1]);
  // Filtered, the mask is that of the tokens that are left.
  const filtered = await sceneOf(part, { special: false });
  close(looks(filtered, filtered.shown()[0]!, 0, unseen(filtered, [0], [0])), [rows[1]![1]!, rows[1]![2]!, NaN, NaN]);
});

test("masks of several heads and layers hide what all of them hide", async () => {
  const ref = (bytes: number[], heads: number) => pack(Uint8Array.from(bytes), [heads, 2, 2]);
  const hidden = [ref([0, 1, 1, 0, 0, 1, 0, 0], 2), ref([0, 1, 1, 1], 1)];
  const axis = { pieces: ["a", "b"], special: [false, false], sequences: null, words: null };
  const part = {
    causal: false,
    query: axis,
    key: axis,
    index: [4, 6],
    heads: [
      [1, 3],
      [1, 3],
    ],
    hidden,
  } as unknown as PartInfo;
  const data = new Data({ inputs: [] } as unknown as ExplorerPayload, new Store((name) => texts.get(name) ?? ""));
  expect(data.hidden(part, [4], [1]), "not decoded").toBeNull();
  for (const each of hidden) await data.loadArray(each);
  const found = (layers: number[], heads: number[]): number[] => [...data.hidden(part, layers, heads)!];
  expect(found([4], [1])).toEqual([0, 1, 1, 0]);
  expect(found([4], [3])).toEqual([0, 1, 0, 0]);
  expect(found([4], [1, 3])).toEqual([0, 1, 0, 0]);
  expect(found([6], [3])).toEqual([0, 1, 1, 1]);
  expect(found([4, 6], [1])).toEqual([0, 1, 1, 0]);
  expect([...data.hidden({ ...part, hidden: null, causal: true }, [4], [1])!]).toEqual([0, 1, 0, 0]);
  expect(data.hidden({ ...part, hidden: null }, [4], [1])).toBeNull();
});

test("all heads of a layer, rollout, and what came for the grid", async () => {
  const together = pack(codes([0.5, 0.5, 0, 0, 0, ...WEIGHTS.slice(1).flat()]), [1, 5, 5], "sqrt");
  const rolled = pack(codes([...WEIGHTS.slice(1).flat(), 1, 0, 0, 0, 0]), [1, 5, 5], "sqrt");
  const seen = pack(codes([0, 1, 0.25, 0, 0]), [1, 5], "sqrt");
  const peaks = pack(Float32Array.from([0.5]), [1]);
  const hidden = [
    pack(
      Uint8Array.from({ length: 25 }, (_, at) => Number(at === 4)),
      [1, 5, 5],
    ),
  ];
  const scene = await sceneOf({ ...small(), means: [together], rollout: [rolled], looks: seen, peaks, hidden });
  expect([mapOf(scene, 0, "means"), looksIn(scene, 0, "rollout", 0), looksOf(scene, 0, 0)]).toEqual([null, null, null]);
  expect([missing(scene, 0, "means").length, missing(scene, 0, "rollout").length, missing(scene, 0, 0).length]).toEqual(
    [1, 1, 0],
  );
  await Promise.all([
    ...missing(scene, 0, "means"),
    ...missing(scene, 0, "rollout"),
    scene.data.loadArray(seen),
    scene.data.loadArray(peaks),
  ]);
  close(looksIn(scene, 0, "means", 0), [...exactly([0.5, 0.5, 0, 0]), NaN]);
  // Rollout reaches beyond what one layer sees.
  close(looksIn(scene, 0, "rollout", 0), exactly(WEIGHTS[1]!));
  expect([...looksOf(scene, 0, 0)!]).toEqual([0, 255, 128, 0, 0]);
  close(meansOf(scene, 0, 0), [0, 0.5, 0.5 * (128 / 255) ** 2, 0, 0]);
  expect(looksOf(scene, 0, 7)).toBeNull();
});

test("a difference is subtracted before it is averaged", async () => {
  const other = [...WEIGHTS.slice(1), WEIGHTS[0]!];
  const scene = await sceneOf(
    small(),
    {},
    { query: grid(2, 2), key: grid(2, 2), layers: [pack(codes(other.flat()), [1, 5, 5], "sqrt")] },
  );
  const found = mapOf(scene, 0, 0) as Shown;
  const [mine, theirs] = [WEIGHTS.map(exactly), other.map(exactly)];
  close(
    looks(scene, found, 1, null),
    mine[1]!.map((weight, key) => weight - theirs[1]![key]!),
  );
  close(
    looks(scene, found, "all", null),
    mean(mine).map((value, key) => value - mean(theirs)[key]!),
  );
});
