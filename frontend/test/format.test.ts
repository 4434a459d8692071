import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
  bare,
  brief,
  duration,
  errorFigure,
  figure,
  fixed,
  label,
  number,
  parameters,
  parseCode,
  percent,
  piece,
  plural,
  probability,
  share,
  shown,
  significant,
  weight,
} from "../src/scene/format";
import written from "./numbers.json";

type Given = readonly [given: readonly unknown[], text: string];
const formats: Record<string, (...given: never[]) => string> = {
  fixed,
  significant,
  brief,
  bare,
  weight,
  figure,
  share,
  probability,
  number,
  percent,
};

test.each(Object.entries(written))("%s writes numbers as Python writes them", (name, list) => {
  const found = (list as unknown as Given[]).map(([given]) => [given, formats[name]!(...(given as never[]))]);
  expect(found).toEqual(list);
});

test("what is no number is a dash", () =>
  expect([fixed(NaN, 2), significant(Infinity), brief(NaN)]).toEqual(["–", "–", "–"]));

test("numbers are written in one place", () => {
  const src = fileURLToPath(new URL("../src", import.meta.url));
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && file !== "scene/format.ts",
  );
  expect(
    files.filter((file) =>
      /\.to(Precision|Fixed|Exponential|LocaleString)\(/.test(readFileSync(join(src, file), "utf8")),
    ),
  ).toEqual([]);
});

test.each([
  [0.54, ".54"],
  [0.004, "·"],
  [0.997, "1.0"],
])("the weight %d prints as %s", (value, text) => expect(weight(value)).toBe(text));

test("figures have three decimals, and what is small is not 0", () => {
  expect(figure(0.5)).toBe("0.500");
  expect(figure(0)).toBe("0.000");
  expect(figure(0.0001)).toBe("<0.001");
  expect(figure(NaN)).toBe("–");
  expect(figure(-0.25, 2)).toBe("−0.25");
});

test("standard errors", () => {
  expect(errorFigure(0.0123)).toBe(".012");
  expect(errorFigure(0.00071)).toBe(".0007");
  expect(errorFigure(0.00001)).toBe("<.0001");
  expect(errorFigure(NaN)).toBe("–");
});

test("percentages never round to all or nothing", () => {
  expect([0, 0.0001, 0.04, 0.54, 0.9999, 1].map(percent)).toEqual(["0%", "<0.1%", "4.0%", "54%", "99.9%", "100%"]);
});

test("counts and times", () => {
  expect([plural(1, "head"), plural(1152, "head")]).toEqual(["1 head", "1,152 heads"]);
  expect([parameters(22713216), parameters(7.1e9)]).toEqual(["22.7 M", "7.1 B"]);
  expect([duration(3.21), duration(100), duration(201)]).toEqual(["3.2 s", "100 s", "3 min 21 s"]);
});

test("heads are read from their code only", () => {
  expect(parseCode("l7h9")).toEqual({ layer: 7, head: 9 });
  expect(parseCode("8-10")).toBeNull();
});

test("pieces keep their mark apart, and what does not print is shown", () => {
  expect(piece("##ing")).toEqual({ mark: "##", text: "ing" });
  expect(piece("Ġthe")).toEqual({ mark: "␣", text: "the" });
  expect(shown("▁of", false)).toBe("of");
  expect(shown("\u0000")).toBe("␀");
  expect(shown("\n")).toBe("⏎");
  expect(shown("")).toBe("∅");
  expect(shown("\u202eevil")).toBe("�evil");
  expect(shown("\ud800")).toBe("�");
  expect(shown("👩‍👧")).toBe("👩‍👧");
  expect(shown("क्‍ष")).toBe("क्‍ष");
  expect(shown("\u200c")).toBe("ZWNJ");
  expect(shown("\u0301")).toBe("◌\u0301");
  expect(shown("č")).toBe("č");
  expect(shown("</script>")).toBe("</script>");
});

test("bytes of a character are tied to the pieces that have the rest", () => {
  expect(shown("<0xE2><0x80>")).toBe("E280‿");
  expect(shown("Ġ<0xD0>")).toBe("␣D0‿");
  expect(shown("<0x9C>р<0xD0>")).toBe("‿9CрD0‿");
  expect(shown("<0x0A>")).toBe("⏎");
});

test("an input is named by its first words", () => {
  expect(label(["[CLS]", "the", "play", "##ing", "[SEP]"])).toBe("the playing");
  expect(label(["<s>", "▁a", "▁b"])).toBe("a b");
  expect(
    label(
      Array.from({ length: 40 }, () => "word"),
      12,
    ),
  ).toBe("word word w…");
  expect(label(["[CLS]"])).toBe("(no text)");
});
