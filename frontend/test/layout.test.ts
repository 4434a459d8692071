import { expect, test } from "vitest";
import { chart, layout } from "../src/draw/chart";
import { placeNames } from "../src/draw/names";
import { textWidth } from "../src/draw/ruler";
import type { Chart } from "../src/protocol";
import { headBox, stripSide } from "../src/scene/headlayout";

test.each([
  [6, 12, 900],
  [24, 16, 340],
  [36, 32, 340],
  [1, 1, 900],
])("%d × %d heads fit in %d pixels", (rows, columns, width) => {
  const { size, gap } = layout(rows, columns, width, 560, 48);
  expect(size).toBeGreaterThanOrEqual(2);
  expect(columns * (size + gap)).toBeLessThanOrEqual(width + 2);
  expect(rows * (size + gap)).toBeLessThanOrEqual(562);
});

test("numbers stand beside what is looked at, or what looks at a key", () => {
  const sides = [null, { from: 1, to: null }, { from: null, to: 2 }, { from: 1, to: 2 }].map(stripSide);
  expect(sides).toEqual(["right", "right", "left", "right"]);
});

test("where both axes are places a step is as long on either, and every head is within", () => {
  const axis = { title: "" };
  const places = [
    [0, 1, 0, 9],
    [-4, 8, 2, 3],
  ] as [number, number, number, number][];
  for (const [x0, x1, y0, y1] of places) {
    const [x, y] = [
      [x0, x1],
      [y0, y1],
    ] as [number[], number[]];
    const info: Chart = { kind: "scatter", title: "", x: axis, y: axis, rows: { x, y }, equal: true };
    const { spots, width, height, unscaled } = chart(info, { width: 400, theme: "light" });
    const [a, b] = spots;
    expect((b!.x - a!.x) / (x1 - x0)).toBeCloseTo((a!.y - b!.y) / (y1 - y0));
    expect(spots.every((at) => at.x > 0 && at.x < width && at.y > 0 && at.y < height)).toBe(true);
    expect(unscaled(b!.x, b!.y).map((value) => Math.round(1e6 * value) / 1e6)).toEqual([x1, y1]);
  }
});

test("names do not cover one another", () => {
  const points = Array.from({ length: 12 }, (_, i) => ({ x: 100 + (i % 3), y: 50 + i, text: "L10H11" }));
  const placed = placeNames(points, 260, 8);
  expect(placed.length).toBeGreaterThan(1);
  expect(placed.length).toBeLessThanOrEqual(8);
  for (const a of placed) {
    for (const b of placed) {
      if (a !== b && a.anchor === b.anchor) expect(Math.abs(a.y - b.y)).toBeGreaterThanOrEqual(12);
    }
  }
});

test("a name ends before another begins, as wide as its letters are", () => {
  const points = ["L0H4", "L1H8", "L11H10"].map((text, i) => ({ x: 40 + 26 * i, y: 50, text }));
  const placed = placeNames(points, 400, 8).filter(({ anchor }) => anchor === "start");
  expect(placed.length).toBeGreaterThan(1);
  for (const a of placed)
    for (const b of placed)
      if (a.x < b.x && Math.abs(a.y - b.y) < 12) expect(a.x + textWidth(a.text, 11, 600)).toBeLessThan(b.x);
});

test("a phone's strips have room for a number, its heading and a bar", () => {
  for (const paired of [false, true]) {
    const box = headBox({
      width: 362,
      rows: 12,
      columns: 12,
      tokens: 12,
      widest: 60,
      maps: 1,
      paired,
      tallest: 600,
      touch: true,
    });
    expect(box.tiny).toBe(true);
    expect(Math.min(box.stripLeft, box.stripRight) - box.rail - 10).toBeGreaterThanOrEqual(36);
    expect(box.x1 - box.x0).toBeGreaterThanOrEqual(60);
    expect(box.row).toBeGreaterThanOrEqual(24);
  }
});
