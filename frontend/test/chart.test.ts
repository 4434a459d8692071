import { expect, test } from "vitest";
import { chart } from "../src/draw/chart";
import { SvgPen } from "../src/draw/svg";
import type { Chart } from "../src/protocol";
import { COLOURS, css, PALETTES } from "../src/scene/color";

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i));

function drawn(info: Chart, theme: "light" | "dark" = "light", width = 320) {
  const drawing = chart(info, { width, theme });
  const pen = new SvgPen(width, drawing.height);
  drawing.draw(pen);
  const svg = pen.document();
  const marks = [...svg.matchAll(/fill="(#\w+)"[^>]*data-row="(\d+)"/g)].map(([, fill, row]) => [Number(row), fill!]);
  return { ...drawing, svg, fills: new Map(marks as [number, string][]) };
}

/** Values of so many layers and heads; the first has none. */
function values(layers: number, heads: number): { x: number[]; y: number[]; values: (number | null)[] } {
  const all = Array.from({ length: layers * heads }, (_, i) => [i % heads, Math.floor(i / heads)] as const);
  const value = (i: number): number | null => (i === 0 ? null : ((i * 7) % 11) / 11);
  return { x: all.map(([x]) => x), y: all.map(([, y]) => y), values: all.map((_, i) => value(i)) };
}

const SHAPES = [
  [1, 1],
  [1, 12],
  [6, 12],
  [24, 16],
  [30, 9],
  [12, 64],
] as const;

test.each(SHAPES)("a map of %d × %d has a cell a value, in its place and its colour", (layers, heads) => {
  const { x, y, values: colour } = values(layers, heads);
  const key = { title: "", of: "numbers", low: 0, high: 1, root: true } as const;
  const axes = { x: { title: "head", names: names(heads) }, y: { title: "layer", names: names(layers) } };
  for (const theme of ["light", "dark"] as const) {
    const map = drawn({ kind: "head_map", title: "", ...axes, rows: { x, y, colour }, colour: key }, theme);
    expect(map.spots.length).toBe(layers * heads - 1);
    for (const { row, x: across, y: down, wide } of map.spots) {
      expect(map.unscaled(across - wide / 2, down - wide / 2).map((at) => Math.round(at + 0.5))).toEqual([
        x[row],
        y[row],
      ]);
      const shade = PALETTES[theme].sequential[Math.round(255 * Math.sqrt(colour[row]!))]!;
      expect(map.fills.get(row)).toBe(css(shade));
      expect(across + wide / 2).toBeLessThanOrEqual(320);
    }
  }
});

test.each(SHAPES)("points of %d × %d stand at their values, over their layers", (layers, heads) => {
  const { y: layer, values: y } = values(layers, heads);
  const mean = {
    y: names(layers).map(() => 0.5),
    low: names(layers).map(() => 0.25),
    high: names(layers).map(() => 0.75),
  };
  const axes = { x: { title: "layer", names: names(layers) }, y: { title: "share", low: 0, high: 1 } };
  const { spots, unscaled, fills } = drawn({
    ...{ kind: "layers", title: "", ...axes, rows: { x: layer, y } },
    lines: [{ ...mean, dots: true }],
  });
  expect(spots.length).toBe(layers * heads - 1);
  expect([...fills.values()].every((fill) => fill === COLOURS.light.accent)).toBe(true);
  for (const spot of spots) {
    const [at, value] = unscaled(spot.x, spot.y);
    expect(Math.abs(at - layer[spot.row]!)).toBeLessThan(0.5);
    expect(value).toBeCloseTo(y[spot.row]!, 9);
  }
});

test("strips and bars stand at their values; what is no head is a ring", () => {
  const rows = {
    x: [0.25, 1, null as unknown as number],
    y: [0, 1, 1],
    link: ["L0H0", "", "L0H1"],
    against: [0.5, null, 0],
  };
  const strips = drawn({
    kind: "strips",
    title: "",
    x: { title: "", low: 0, high: 1 },
    y: { title: "", names: ["a", "b"] },
    rows,
  });
  expect(strips.spots.map(({ x, y }) => strips.unscaled(x, y)[0])).toEqual([0.25, 1]);
  expect([strips.fills.get(0), strips.fills.get(1)]).toEqual([COLOURS.light.accent, COLOURS.light.bg]);
  const counted = {
    x: { title: "", names: names(3) },
    y: { title: "", high: 9 },
    rows: { x: [0, 1, 2], y: [9, null, 3] },
  };
  const bars = drawn({ kind: "bars", title: "", ...counted });
  const [most, third] = bars.spots;
  expect([bars.spots.length, most!.tall / third!.tall]).toEqual([2, 3]);
});

test("points without a colour are rings, and long names are cut where they end", () => {
  const axis = { title: "a long title of an axis" };
  const rows = { x: [0, 1, 2], y: [0, 1, 2], colour: [0, null, 1], link: ["L0H0", "L0H1", "L0H2"], marked: [1] };
  const colour = { title: "", of: "heads", names: ["a", "b"] } as const;
  const { fills, svg } = drawn({
    kind: "scatter",
    title: "",
    x: axis,
    y: axis,
    rows,
    colour: { ...colour, names: ["a", "b"] },
  });
  expect([0, 1, 2].map((row) => fills.get(row))).toEqual([
    COLOURS.light.heads[0],
    COLOURS.light.bg,
    COLOURS.light.heads[1],
  ]);
  expect(svg).toContain(">L0H1</text>");
  expect(svg).not.toContain(">L0H0</text>");
  const long = { title: "", names: names(4).map((name) => `a checkpoint with a long name ${name}`) };
  const lines = [{ y: [1, 2, 3, 4], name: "L2H3" }];
  expect(drawn({ kind: "layers", title: "", x: long, y: axis, rows: { x: [], y: [] }, lines }).svg).toMatch(
    />a ch\w*…</,
  );
});
