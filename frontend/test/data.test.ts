import { expect, test } from "vitest";
import { decode, headMap, Store } from "../src/data";
import { pack, texts } from "./sample";

const text = (name: string): string => texts.get(name) ?? "";

test("an array comes back with its values", async () => {
  const ref = pack(Float32Array.from([1, 0.5, NaN]), [3]);
  expect([...(await decode(ref, text(ref.data)))]).toEqual([1, 0.5, NaN]);
});

test("an array that is not as long as its shape says is refused", async () => {
  const ref = { ...pack(Uint8Array.from([1, 2, 3]), [3]), shape: [2, 2] };
  await expect(decode(ref, text(ref.data))).rejects.toThrow("expected 4 × uint8, found 3 bytes");
});

test("bytes of the root stand for the square", async () => {
  const ref = pack(Uint8Array.from([0, 255, 128, 51, 1, 2, 3, 4]), [2, 2, 2], "sqrt");
  const map = headMap(ref, await decode(ref, text(ref.data)), 0);
  expect(map?.weight(0, 1)).toBe(1);
  expect(map?.weight(1, 1)).toBeCloseTo(0.04, 6);
  expect([...(headMap(ref, await decode(ref, text(ref.data)), 1)?.codes ?? [])]).toEqual([1, 2, 3, 4]);
  expect(headMap(ref, new Uint8Array(8), 2)).toBeNull();
});

test("exact maps keep their weights and are painted by the same bytes", async () => {
  const ref = pack(Float32Array.from([0.25, 0.75]), [1, 1, 2]);
  const map = headMap(ref, await decode(ref, text(ref.data)), 0);
  expect(map?.weight(0, 0)).toBe(0.25);
  expect(map?.codes[0]).toBe(Math.round(255 * 0.5));
});

test("an array is decoded once", async () => {
  let asked = 0;
  const ref = pack(Uint8Array.from([7]), [1]);
  const store = new Store((name) => (asked++, text(name)));
  expect(await store.get(ref)).toBe(await store.get(ref));
  expect(asked).toBe(1);
});
