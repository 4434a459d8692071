import { expect, test } from "vitest";
import { queue } from "../src/scene/gridlayout";
import { inSlices, SLICE, type Work } from "../src/ui/slices";

/** Work on numbers that takes 5 ms each, by a clock that only the work moves; `frames` tells what each frame did. */
function bench(over: Partial<Work<number>> = {}) {
  let time = 0;
  const frames: number[][] = [[]];
  const clock = { now: () => time, frame: async () => void frames.push([]) };
  const work: Work<number> = {
    needs: () => null,
    one: (item) => {
      frames.at(-1)!.push(item);
      time += 5;
    },
    going: () => true,
    ...over,
  };
  return { frames, clock, work };
}

const items = Array.from({ length: 10 }, (_, i) => i);

test("slices cover every item once, in order, and none is much longer than it should be", async () => {
  const { frames, clock, work } = bench();
  const all = inSlices(items, work, clock);
  expect(frames.flat()).toEqual([0, 1, 2]); // the first slice is done at once
  expect(await all).toBe(true);
  expect(frames.flat()).toEqual(items);
  for (const slice of frames) expect((slice.length - 1) * 5).toBeLessThan(SLICE);
});

test("an item waits for what it needs, and what was there is not waited for", async () => {
  const there = new Set<boolean>();
  const asked: number[] = [];
  const { frames, clock, work } = bench({
    needs: (item) => {
      if (item < 2 || there.has(item < 6)) return null;
      asked.push(item);
      return Promise.resolve().then(() => there.add(item < 6));
    },
  });
  expect(await inSlices(items, work, clock)).toBe(true);
  expect(asked).toEqual([2, 6]);
  expect(frames.flat()).toEqual(items);
});

test("what is no longer wanted stops before its next item, also while it waits", async () => {
  let going = true;
  const first = bench({ going: () => going });
  const all = inSlices(items, first.work, { ...first.clock, frame: async () => void (going = false) });
  expect(await all).toBe(false);
  expect(first.frames.flat()).toEqual([0, 1, 2]);

  going = true;
  const second = bench({
    going: () => going,
    needs: (item) => (item === 1 ? Promise.resolve().then(() => (going = false)) : null),
  });
  expect(await inSlices(items, second.work, second.clock)).toBe(false);
  expect(second.frames.flat()).toEqual([0]);
});

test("what fails is told", async () => {
  const { clock, work } = bench({
    needs: (item) => (item === 1 ? Promise.reject(new Error("array 7 is missing")) : null),
  });
  await expect(inSlices(items, work, clock)).rejects.toThrow("array 7 is missing");
});

test("first what costs nothing, then what is in sight, then the others; no cell without a head", () => {
  const order = [0, 1, 2, 3].flatMap((layer) =>
    [0, 1].map((head) => ({ layer, head: layer === 2 && head === 1 ? -1 : head })),
  );
  expect(queue(order, [4, 7], ({ layer, head }) => layer === 1 && head === 1)).toEqual([3, 4, 6, 7, 0, 1, 2]);
});
