import { expect, test } from "vitest";
import type { ExplorerPayload, PartInfo } from "../src/protocol";
import { bytesOf, decode, decodePiece, Store } from "../src/scene/data";
import { Data } from "../src/scene/source";
import { pack, packPieces, texts } from "./sample";

const text = (name: string): string => texts.get(name) ?? "";

test("letters are those of Python, of any number of bytes", () => {
  // base64.b85encode(bytes).replace(b"<", b".")
  for (const [letters, bytes] of [
    ["VIXi}XJr", [97, 32, 112, 97, 103, 101]],
    ["|NsC0{r", [255, 255, 255, 255, 254]],
    ["2>.", [9, 0]],
    ["0R", [1]],
  ] as const)
    expect([letters, ...bytesOf(letters)]).toEqual([letters, ...bytes]);
});

test("an array comes back with its values", async () => {
  const ref = pack(Float32Array.from([1, 0.5, NaN]), [3]);
  expect([...(await decode(ref, text(ref.data)))]).toEqual([1, 0.5, NaN]);
});

test("an array that is not as long as its shape says is refused", async () => {
  const ref = { ...pack(Uint8Array.from([1, 2, 3]), [3]), shape: [2, 2] };
  await expect(decode(ref, text(ref.data))).rejects.toThrow("expected 4 × uint8, found 3 bytes");
});

test("an array is decoded once", async () => {
  let asked = 0;
  const ref = pack(Uint8Array.from([7]), [1]);
  const store = new Store((name) => (asked++, text(name)));
  expect(await store.get(ref)).toBe(await store.get(ref));
  expect(asked).toBe(1);
});

const HEADS = [
  [1, 2, 3, 4],
  [5, 6, 7, 8],
  [9, 9, 9, 9],
  [0, 1, 0, 1],
].map((codes) => Uint8Array.from(codes));

test("an array that comes in pieces is read whole, and a piece at a time, of letters and of bytes", async () => {
  const ref = packPieces(HEADS, [4, 2, 2]);
  expect([...(await decode(ref, text(ref.data)))]).toEqual(HEADS.flatMap((head) => [...head]));
  for (const blob of [text(ref.data), bytesOf(text(ref.data))]) {
    for (const [place, head] of HEADS.entries()) expect([...(await decodePiece(ref, blob, place))]).toEqual([...head]);
  }
  await expect(decodePiece({ ...ref, shape: [4, 3, 3] }, text(ref.data), 1)).rejects.toThrow(
    "expected 9 × uint8, found 4 bytes",
  );
});

test("of a layer that comes in pieces only the heads that are asked for are decoded", async () => {
  const part = {
    index: [7],
    heads: [[0, 2, 4, 6]],
    layers: [packPieces(HEADS, [4, 2, 2])],
    query: {},
    quantities: [],
  } as unknown as PartInfo;
  const store = new Store(text);
  const asked: number[] = [];
  const piece = store.piece.bind(store);
  store.piece = (ref, place) => (asked.push(place), piece(ref, place));
  const data = new Data({ inputs: [] } as unknown as ExplorerPayload, store);
  await Promise.all([data.load(part, 7, "weights", [2, 5]), data.load(part, 7, "weights", [2])]);
  expect(asked).toEqual([1]);
  const layer = data.layer(part, 7, "weights", [2]);
  expect([...layer!.numbers.subarray(4, 8)]).toEqual([5, 6, 7, 8]);
  expect(data.layer(part, 7, "weights", [2, 4])).toBeUndefined();
  expect(data.layer(part, 7, "weights")).toBeUndefined();
  await data.load(part, 7, "weights");
  expect(asked).toEqual([1, 0, 2, 3]);
  expect([...data.layer(part, 7, "weights")!.numbers]).toEqual(HEADS.flatMap((head) => [...head]));
});
