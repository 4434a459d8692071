// How wide each character of the font is, for what measures text without a page: `npm run widths` writes
// src/draw/widths.json, the advances of characters that follow one another, in thousandths of the size, by the first.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import opentype from "opentype.js";
import wawoff2 from "wawoff2";

const root = dirname(fileURLToPath(import.meta.url));
const bytes = await wawoff2.decompress(readFileSync(join(root, "node_modules/inter-ui/web/Inter-Regular.woff2")));
const font = opentype.parse(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
// Latin, Greek and Cyrillic, and what stands between words.
const wanted = (code) => (code >= 32 && code < 0x530) || (code >= 0x2000 && code < 0x2300);
const codes = Object.keys(font.tables.cmap.glyphIndexMap).map(Number).filter(wanted);
codes.sort((a, b) => a - b);
const advance = (code) =>
  Math.round((1000 * font.charToGlyph(String.fromCodePoint(code)).advanceWidth) / font.unitsPerEm);
const content = {};
let first = 0;
for (const [at, code] of codes.entries()) {
  if (code !== codes[at - 1] + 1) content[(first = code)] = [];
  content[first].push(advance(code));
}
writeFileSync(join(root, "src/draw/widths.json"), `${JSON.stringify(content)}\n`);
