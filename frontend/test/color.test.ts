import { expect, test } from "vitest";
import { css, isLight, oklab, PALETTES } from "../src/color";

const lightness = (pixel: number): number =>
  oklab(`#${[pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255].map((c) => c.toString(16).padStart(2, "0")).join("")}`)[0];

test("the palettes begin and end at their stops", () => {
  expect(css(PALETTES.light.sequential[0]!)).toBe("rgb(246 248 248)");
  expect(css(PALETTES.light.sequential[255]!)).toBe("rgb(8 54 61)");
  expect(css(PALETTES.dark.sequential[255]!)).toBe("rgb(239 255 246)");
});

test.each(["light", "dark"] as const)("the sequential palette is monotone in lightness (%s)", (theme) => {
  const steps = [...PALETTES[theme].sequential].map(lightness);
  const sign = theme === "light" ? -1 : 1;
  // Channels are whole numbers, so neighbours may differ by a rounding.
  for (let i = 4; i < 256; i += 4) expect(sign * (steps[i]! - steps[i - 4]!)).toBeGreaterThan(-0.002);
});

test("text on a cell is dark where the cell is light", () => {
  expect(isLight(PALETTES.light.sequential[0]!)).toBe(true);
  expect(isLight(PALETTES.light.sequential[255]!)).toBe(false);
});
