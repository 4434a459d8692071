// Colours as people with protanopia, deuteranopia and tritanopia see them (Machado, Oliveira and Fernandes 2009,
// severity
// 1.0), and how far apart they look (CIEDE2000: 1 can just be told apart side by side).
import { describe, expect, test } from "vitest";
import { stripAlpha } from "../src/draw/headdraw";
import { COLOURS, layerHues } from "../src/scene/color";

type Triple = readonly [number, number, number];
type Matrix = readonly [Triple, Triple, Triple];

const VISIONS: Record<string, Matrix> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
const XYZ: Matrix = [
  [0.4124564, 0.3575761, 0.1804375],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339, 0.119192, 0.9503041],
];

const times = (m: Matrix, v: Triple): Triple =>
  m.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]) as unknown as Triple;
const linear = (hex: string): Triple =>
  [1, 3, 5]
    .map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as unknown as Triple;

function lab(rgb: Triple): Triple {
  const white = times(XYZ, [1, 1, 1]);
  const [x, y, z] = times(XYZ, rgb)
    .map((v, i) => v / white[i]!)
    .map((t) => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116)) as unknown as Triple;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const seen = (hex: string, vision: string): Triple =>
  lab(times(VISIONS[vision]!, linear(hex)).map((c) => Math.min(1, Math.max(0, c))) as unknown as Triple);

/** CIEDE2000 (Sharma, Wu and Dalal 2005). */
function distance([L1, a1, b1]: Triple, [L2, a2, b2]: Triple): number {
  const [rad, deg] = [Math.PI / 180, 180 / Math.PI];
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const G = 0.5 * (1 - Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)));
  const [p1, p2] = [a1 * (1 + G), a2 * (1 + G)];
  const [C1, C2] = [Math.hypot(p1, b1), Math.hypot(p2, b2)];
  const hue = (a: number, b: number): number => (a === 0 && b === 0 ? 0 : (Math.atan2(b, a) * deg + 360) % 360);
  const [h1, h2] = [hue(p1, b1), hue(p2, b2)];
  const turn = C1 * C2 === 0 ? 0 : ((h2 - h1 + 540) % 360) - 180;
  const H = 2 * Math.sqrt(C1 * C2) * Math.sin((turn / 2) * rad);
  const [L, C] = [(L1 + L2) / 2, (C1 + C2) / 2];
  const h =
    C1 * C2 === 0
      ? h1 + h2
      : Math.abs(h1 - h2) <= 180
        ? (h1 + h2) / 2
        : h1 + h2 < 360
          ? (h1 + h2 + 360) / 2
          : (h1 + h2 - 360) / 2;
  const T =
    1 -
    0.17 * Math.cos((h - 30) * rad) +
    0.24 * Math.cos(2 * h * rad) +
    0.32 * Math.cos((3 * h + 6) * rad) -
    0.2 * Math.cos((4 * h - 63) * rad);
  const [SL, SC, SH] = [1 + (0.015 * (L - 50) ** 2) / Math.sqrt(20 + (L - 50) ** 2), 1 + 0.045 * C, 1 + 0.015 * C * T];
  const R = -Math.sin(60 * Math.exp(-(((h - 275) / 25) ** 2)) * rad) * 2 * Math.sqrt(C ** 7 / (C ** 7 + 25 ** 7));
  const [l, c, t] = [(L2 - L1) / SL, (C2 - C1) / SC, H / SH];
  return Math.sqrt(l * l + c * c + t * t + R * c * t);
}

/** Relative luminances as WCAG compares them. */
function contrast(a: string, b: string): number {
  const [one, other] = [a, b].map((hex) => times(XYZ, linear(hex))[1]) as [number, number];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

test("the distance is that of the published test data", () => {
  expect(distance([50, 2.6772, -79.7751], [50, 0, -82.7485])).toBeCloseTo(2.0425, 4);
  expect(distance([50, 2.5, 0], [58, 24, 15])).toBeCloseTo(19.4535, 4);
  expect(distance([22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619])).toBeCloseTo(2.0373, 4);
  expect(distance([2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514])).toBeCloseTo(0.9082, 4);
});

describe.each(["light", "dark"] as const)("on %s paper", (theme) => {
  const heads = COLOURS[theme].heads;

  test.each(Object.keys(VISIONS))("heads differ with %s", (vision) => {
    const looks = heads.map((hex) => seen(hex, vision));
    looks.forEach((one, head) => {
      expect(distance(one, looks[(head + 1) % heads.length]!), `heads ${head} and ${head + 1}`).toBeGreaterThan(16);
      expect(distance(one, seen(COLOURS[theme].bg, vision)), `head ${head} and the paper`).toBeGreaterThan(28);
      looks
        .slice(0, head)
        .forEach((other, before) => expect(distance(one, other), `heads ${before} and ${head}`).toBeGreaterThan(4));
    });
  });

  test.each(Object.keys(VISIONS))("minus and plus differ with %s", (vision) => {
    const { minus, plus } = COLOURS[theme];
    expect(distance(seen(minus, vision), seen(plus, vision))).toBeGreaterThan(45);
    for (const hex of [minus, plus])
      expect(distance(seen(hex, vision), seen(COLOURS[theme].bg, vision))).toBeGreaterThan(28);
  });

  test("colours stand out from the paper, and heads from the accent", () => {
    for (const hex of [...heads, COLOURS[theme].minus, COLOURS[theme].plus])
      expect(contrast(hex, COLOURS[theme].bg), hex).toBeGreaterThan(3);
    for (const hex of heads)
      expect(distance(seen(hex, "normal"), seen(COLOURS[theme].accent, "normal")), hex).toBeGreaterThan(15);
  });
});

const mix = (over: string, under: string, alpha: number): string =>
  `#${[1, 3, 5]
    .map((i) =>
      Math.round(alpha * parseInt(over.slice(i, i + 2), 16) + (1 - alpha) * parseInt(under.slice(i, i + 2), 16))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;

describe.each(["light", "dark"] as const)("layers and strips on %s paper", (theme) => {
  test.each([6, 12])("any two of %d layers differ", (count) => {
    const looks = layerHues(count, theme).map((hex) => seen(hex, "normal"));
    looks.forEach((one, layer) =>
      looks
        .slice(0, layer)
        .forEach((other, before) =>
          expect(distance(one, other), `layers ${before} and ${layer}`).toBeGreaterThan(count === 6 ? 12 : 4.5),
        ),
    );
  });

  test.each([true, false])("a small bar of one of several heads stands out from its track", (faint) => {
    const track = { light: "#f1f3f4", dark: "#1b2024" }[theme];
    for (const head of COLOURS[theme].heads)
      expect(
        distance(seen(mix(head, track, stripAlpha(0.03, faint)), "normal"), seen(track, "normal")),
        head,
      ).toBeGreaterThan(9);
    expect(stripAlpha(0, faint)).toBe(0);
    expect(stripAlpha(1, faint)).toBeGreaterThan(2 * stripAlpha(0.03, faint));
  });
});
