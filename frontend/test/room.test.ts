// Room for labels: nothing lies over its neighbour, at any width.
import { expect, test } from "vitest";
import { box, FIGURED, MEASURES, summaryBox } from "../src/scene/gridlayout";
import { everyNeuron } from "../src/scene/neuronlayout";
import { placed } from "../src/ui/tip";

const LETTER = 7;
const room = { rows: 12, columns: 12, room: 800, noted: true, sorted: true } as const;

test.each([
  400, 440, 500, 580, 800, 1200, 1800,
])("names and figures of a sorted grid of %d pixels do not collide", (width) => {
  for (const [name, figure] of [
    [4, 4],
    [6, 5],
  ] as const) {
    for (const kind of ["beside", "large"] as const) {
      const { cell, gap, down, named } = box({ ...room, width, kind, letters: [name, figure] });
      if (named === "before") expect((name + figure) * LETTER).toBeLessThan(cell);
      if (named === "above") {
        expect(Math.max(name, figure) * LETTER).toBeLessThanOrEqual(cell + gap);
        expect(down).toBeGreaterThanOrEqual(cell + 26);
      }
    }
  }
  expect(box({ ...room, sorted: false, width, kind: "large" }).named).toBe("none");
});

test("on paper every grid fits, and names and figures have their room", () => {
  for (let columns = 1; columns <= 128; columns++) {
    for (const width of [301, 311, 646]) {
      for (const sorted of [true, false]) {
        const paper = { ...room, columns, width, sorted, room: Infinity, kind: "large", paper: true } as const;
        const found = box(paper);
        expect(found.width, `${columns} ${width}`).toBeLessThanOrEqual(Math.max(width, 2 * columns + 42));
        expect(found.down - found.tall - found.gap).toBe(found.cell <= FIGURED ? 5 : found.named === "above" ? 26 : 15);
      }
    }
  }
});

test("a sorted grid in the side pane has its names", () => {
  expect(box({ ...room, width: 580, kind: "beside", letters: [6, 4] }).named).toBe("above");
});

test("strips of measures keep their names and figures beside the matrix", () => {
  // The left column from where there is one, 41 % of at least 976 px, to its most.
  for (let width = 400; width <= 900; width += 5) {
    const { matrix, measures } = summaryBox(width);
    expect(measures, `${width}`).toBeGreaterThanOrEqual(MEASURES);
    expect(matrix).toBeGreaterThan(150);
    expect(matrix + 28 + measures).toBe(width);
  }
});

test.each([
  [4, 1],
  [8, 1],
  [16, 2],
  [32, 4],
  [64, 8],
  [128, 16],
])("of %d neurons each %d-th has a number", (size, every) => {
  expect(everyNeuron(size)).toBe(every);
});

test.each(["left", "right", "pointer"] as const)("a tip (%s) never covers the row that is pointed at", (where) => {
  const frame = { left: 8, right: 992, bottom: 792 };
  for (const width of [60, 140, 320]) {
    for (const [x, middle] of [
      [100, 30],
      [100, 400],
      [100, 780],
      [900, 400],
      [900, 780],
    ] as const) {
      const tip = { width, height: 90 };
      const [left, top] = placed(tip, frame, x, where === "pointer" ? middle : middle - 10, where);
      expect(left).toBeGreaterThanOrEqual(frame.left);
      expect(left + width).toBeLessThanOrEqual(frame.right);
      expect(top + tip.height).toBeLessThanOrEqual(frame.bottom);
      const beside = where === "left" ? left + width <= x : left >= x;
      const apart = top >= middle + 11 || top + tip.height <= middle - 11;
      if (where !== "pointer") expect(beside || apart, `${width} at ${x}, ${middle}`).toBe(true);
      else expect(left > x || left + width < x || top > middle || top + tip.height < middle).toBe(true);
    }
  }
});
