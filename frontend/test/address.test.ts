import { afterEach, expect, test, vi } from "vitest";
import { Address } from "../src/live/address";
import { read } from "../src/live/asked";
import { DEFAULTS } from "../src/scene/state";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("an address that is put there before the last one is written stays", () => {
  vi.useFakeTimers();
  const location = { hash: "" };
  const replaceState = vi.fn((_: unknown, __: string, hash: string) => {
    location.hash = hash;
  });
  vi.stubGlobal("history", { replaceState });
  vi.stubGlobal("window", { location, addEventListener: vi.fn(), setTimeout, clearTimeout });
  const address = new Address(vi.fn());
  address.changed({ ...read(""), input: { text: "one" } }, DEFAULTS);
  vi.runAllTimers();
  expect(location.hash).toBe("#text=one");
  address.changed({ ...read(""), input: { text: "two" } }, DEFAULTS);
  location.hash = "#text=three";
  vi.runAllTimers();
  expect(location.hash).toBe("#text=three");
});
