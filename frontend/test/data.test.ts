import { expect, test } from "vitest";
import { decode, Store } from "../src/data";
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

test("an array is decoded once", async () => {
  let asked = 0;
  const ref = pack(Uint8Array.from([7]), [1]);
  const store = new Store((name) => (asked++, text(name)));
  expect(await store.get(ref)).toBe(await store.get(ref));
  expect(asked).toBe(1);
});
