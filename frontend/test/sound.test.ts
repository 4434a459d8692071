import { expect, test } from "vitest";
import { within } from "../src/draw/lanes";
import {
  asState,
  intoLines,
  laneHeight,
  movedSpan,
  onPixels,
  placeAt,
  shownSpan,
  ticks,
  zoomedSpan,
} from "../src/scene/soundlayout";
import { read } from "../src/scene/state";
import { samplesOf } from "../src/ui/player";

test("the shown stretch is the sound, or what is asked for within what the model hears", () => {
  expect(shownSpan(null, 30, 2)).toEqual([0, 2]);
  expect(shownSpan(null, 30, 29)).toEqual([0, 30]);
  expect(shownSpan([28, 33], 30, 2)).toEqual([25, 30]);
  expect(shownSpan([1, 1.01], 30, 2)).toEqual([1, 1.1]);
  expect(shownSpan([0, 99], 30, 2)).toEqual([0, 30]);
});

test("closer and farther keep a time in its place", () => {
  const [begin, end] = zoomedSpan([0, 4], 0.5, 1, 10);
  expect([begin, end]).toEqual([0.5, 2.5]);
  expect((1 - begin) / (end - begin)).toBeCloseTo(1 / 4);
  expect(zoomedSpan([0, 4], 10, 1, 10)).toEqual([0, 10]);
  expect(movedSpan([2, 4], -5, 10)).toEqual([0, 2]);
});

test("a state holds a stretch that is asked for, in milliseconds", () => {
  expect(asState([0, 2], 30, 2)).toBeNull();
  expect(asState([0, 1.23456], 30, 2)).toEqual([0, 1.235]);
  expect(read("#span=0.5,2&time=1.25&follow=true")).toEqual({ span: [0.5, 2], time: 1.25, follow: true });
  expect(read("#span=2,1&time=-1")).toEqual({});
  expect(read("#span=null&time=null")).toEqual({ span: null, time: null });
});

test("ticks are round and within the stretch", () => {
  expect(ticks(0, 8, 4)).toEqual({ at: [0, 2, 4, 6, 8], digits: 0 });
  const { at, digits } = ticks(1.05, 1.5, 5);
  expect(at.map((time) => time.toFixed(digits))).toEqual(["1.1", "1.2", "1.3", "1.4", "1.5"]);
});

test("a time has the place of what sounds then, or nearest", () => {
  const times = [null, [0, 0.5], [0.5, 1], null, [2, 3]] as const;
  expect(placeAt(times, 0.49)).toBe(1);
  expect(placeAt(times, 0.5)).toBe(2);
  expect(placeAt(times, 1.2)).toBe(2);
  expect(placeAt(times, 9)).toBe(4);
  expect(placeAt([null], 1)).toBe(-1);
  expect(within(times, [0.2, 0.7])).toEqual([1, 2]);
  expect(within(times, [1.1, 1.9])).toEqual([0, 0]);
});

test("words that would cover each other go into another line, or have no room", () => {
  const label = (middle: number) => ({ middle, width: 20 });
  expect(intoLines([label(15), label(20), label(50), label(18)], 2, 100)).toEqual([
    { line: 0, left: 5 },
    { line: 1, left: 10 },
    { line: 0, left: 40 },
    { line: -1, left: 8 },
  ]);
  expect(intoLines([label(1), label(99)], 1, 100).map(({ left }) => left)).toEqual([0, 80]);
});

test("a pixel has the largest of what sounds there", () => {
  const times = [
    [0, 1],
    [1, 2],
    [2, 3],
    [3, 4],
  ] as const;
  expect([...onPixels([0.1, 0.4, 0.2, 0.3], times, [0, 4], 2)].map((each) => Number(each.toFixed(2)))).toEqual([
    0.4, 0.3,
  ]);
  expect([...onPixels([1, 2, 3, 4], times, [1, 2], 3)]).toEqual([2, 2, 2]);
  expect([...onPixels([-1, 0.5, 0, 0], times, [0, 4], 2)]).toEqual([-1, 0]);
});

test("samples are 16 bits, the low byte first", () => {
  expect([...samplesOf(Uint8Array.of(0, 0, 0, 64, 0, 192, 0, 128))]).toEqual([0, 0.5, -0.5, -1]);
});

test("lanes share the room", () => {
  expect(laneHeight(4, false)).toBe(30);
  expect(laneHeight(21, false)).toBe(20);
  expect(laneHeight(200, false)).toBe(14);
  expect(laneHeight(200, true)).toBe(24);
});
