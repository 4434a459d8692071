import { expect, test } from "vitest";
import { alike, Made, Of } from "../src/scene/made";

test("lists and plain objects are alike by what they hold, all else by being the same", () => {
  expect(alike([1, ["a", null], { from: 2 }], [1, ["a", null], { from: 2 }])).toBe(true);
  expect(alike({ from: 1, to: null }, { to: null, from: 1, neuron: undefined })).toBe(true);
  const others: [unknown, unknown][] = [
    [1, "1"],
    [null, undefined],
    [null, {}],
    [[], {}],
    [[1], [1, undefined]],
    [{ from: 1 }, { from: 2 }],
    [{ from: 1 }, { to: 1 }],
    [new Map(), new Map()],
    [Uint8Array.of(1), Uint8Array.of(1)],
    [() => 1, () => 1],
  ];
  for (const [a, b] of others) expect([alike(a, b), alike(b, a)], String(a)).toEqual([false, false]);
});

test("a drawing is renewed when any of what it is of is another", () => {
  const drawn = new Of();
  expect([drawn.renewed(), drawn.renewed()]).toEqual([true, false]);
  expect([drawn.renewed([1], { a: 2 }), drawn.renewed([1], { a: 2 }), drawn.renewed([1])]).toEqual([true, false, true]);
  expect([drawn.stale([2]), drawn.stale([2]), drawn.stale([1])], "asking changes nothing").toEqual([true, true, false]);
  drawn.forget();
  expect([drawn.renewed([1]), drawn.renewed([1])]).toEqual([true, false]);
});

test("what was made is made once while it is asked for", () => {
  const made = new Made<object>(2);
  const of = (...of: unknown[]): object => made.of(of, () => ({}));
  const [one, two] = [of(1, []), of(2, [])];
  expect([of(1, []), of(2, []), of(1, [])]).toEqual([one, two, one]);
  expect(of(1, [])).toBe(one);
  of(3);
  expect(of(1, []), "it was asked for after the other one").toBe(one);
  expect(of(2, [])).not.toBe(two);
  made.forget();
  expect(of(1, [])).not.toBe(one);
  const last = new Made<number>();
  expect(() => last.of([1], () => expect.fail("no"))).toThrow();
  expect(
    last.of([1], () => 7),
    "what could not be made is not kept",
  ).toBe(7);
});
