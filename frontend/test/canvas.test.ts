import { expect, test, vi } from "vitest";
import { paint, signedIndex, type Window } from "../src/draw/canvas";
import { embedded } from "../src/ui/save";

const LUT = Uint32Array.from({ length: 256 }, (_, i) => i);

/** What each pixel must be: the largest of the cells it covers, at least the one under its corner. */
function expected(w: number, h: number, from: Window, sign: Int8Array | null): number[] {
  const found: number[] = [];
  for (let j = 0; j < h; j++) {
    for (let i = 0; i < w; i++) {
      const cells: [number, number][] = [];
      const [r0, c0] = [Math.floor((j * from.rows) / h), Math.floor((i * from.columns) / w)];
      const r1 = from.rows > h ? Math.floor(((j + 1) * from.rows) / h) : r0 + 1;
      const c1 = from.columns > w ? Math.floor(((i + 1) * from.columns) / w) : c0 + 1;
      for (let r = r0; r < Math.max(r1, r0 + 1); r++)
        for (let c = c0; c < Math.max(c1, c0 + 1); c++) cells.push([r + from.row, c + from.column]);
      const places = cells.map(([r, c]) => r * from.width + c);
      const most = places.reduce((best, at) => (from.codes[at]! > from.codes[best]! ? at : best));
      found.push(sign ? signedIndex(from.codes[most]!, sign[most]!) : from.codes[most]!);
    }
  }
  return found;
}

test.each([
  [5, 7, 5, 7],
  [5, 7, 12, 9],
  [9, 8, 4, 3],
  [4, 9, 8, 5],
  [9, 4, 5, 8],
])("%d × %d cells in %d × %d pixels", (rows, columns, h, w) => {
  const width = columns + 3;
  const codes = Uint8Array.from({ length: (rows + 2) * width }, (_, i) => (i * 97 + 13) % 256);
  const sign = Int8Array.from(codes, (code) => (code % 3 === 0 ? -1 : 1));
  const from: Window = { codes, width, row: 1, rows, column: 2, columns };
  for (const signs of [null, sign]) {
    const pixels = { data: new Uint32Array((w + 4) * (h + 1)), stride: w + 4 };
    paint(pixels, 3, 1, w, h, from, LUT, signs);
    const drawn = Array.from({ length: h }, (_, j) => [
      ...pixels.data.slice((j + 1) * (w + 4) + 3, (j + 1) * (w + 4) + 3 + w),
    ]).flat();
    expect(drawn).toEqual(expected(w, h, from, signs));
  }
});

test("the page's font is found beside style sheets of others, which may not be read", () => {
  class Rule {
    cssText = "@font-face { … }";
    style = { getPropertyValue: () => "url(data:font/woff2;base64,)" };
  }
  const others = {
    get cssRules(): never {
      throw new Error("SecurityError");
    },
  };
  vi.stubGlobal("CSSFontFaceRule", Rule);
  vi.stubGlobal("document", { styleSheets: [others, { cssRules: [{}, new Rule()] }] });
  expect(embedded()).toBe("@font-face { … }");
  vi.unstubAllGlobals();
});
