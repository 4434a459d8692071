import { expect, test } from "vitest";
import { contrast, css, inkOn, oklab, PALETTES, rgba } from "../src/scene/color";

const lightness = (pixel: number): number => oklab(css(pixel))[0];

test("the palettes begin and end at their stops", () => {
  expect(css(PALETTES.light.sequential[0]!)).toBe("#f6f8f8");
  expect(css(PALETTES.light.sequential[255]!)).toBe("#08363d");
  expect(css(PALETTES.dark.sequential[255]!)).toBe("#effff6");
});

test.each(["light", "dark"] as const)("the sequential palette is monotone in lightness (%s)", (theme) => {
  const steps = [...PALETTES[theme].sequential].map(lightness);
  const sign = theme === "light" ? -1 : 1;
  // Channels are whole numbers, so neighbours may differ by a rounding.
  for (let i = 4; i < 256; i += 4) expect(sign * (steps[i]! - steps[i - 4]!)).toBeGreaterThan(-0.002);
});

test("contrast is that of WCAG 2", () => {
  const [black, white, grey] = [0xff000000, 0xffffffff, 0xff777777];
  expect(contrast(black, white)).toBeCloseTo(21, 9);
  expect(contrast(white, grey)).toBeCloseTo(4.478, 3);
  expect(contrast(grey, grey)).toBe(1);
});

test("text on a cell is dark where the cell is light", () => {
  expect(inkOn(PALETTES.light.sequential[0]!)).toBe("#0a1e20");
  expect(inkOn(PALETTES.light.sequential[255]!)).toBe("#ffffff");
});

test.each(["light", "dark"] as const)("text can be read on every colour of the palettes (%s)", (theme) => {
  for (const pixel of [...PALETTES[theme].sequential, ...PALETTES[theme].diverging]) {
    expect(contrast(rgba(inkOn(pixel)), pixel)).toBeGreaterThanOrEqual(4.5);
  }
});
