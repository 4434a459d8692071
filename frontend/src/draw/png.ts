// A PNG of coloured cells, for pictures that are written down and not drawn on a screen.

import { zlibSync } from "fflate";

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

function chunk(type: string, data: Uint8Array): Uint8Array {
  const all = new Uint8Array(12 + data.length);
  const view = new DataView(all.buffer);
  view.setUint32(0, data.length);
  for (let i = 0; i < 4; i++) all[4 + i] = type.charCodeAt(i);
  all.set(data, 8);
  let crc = 0xffffffff;
  for (let i = 4; i < 8 + data.length; i++) crc = CRC[(crc ^ all[i]!) & 255]! ^ (crc >>> 8);
  view.setUint32(8 + data.length, ~crc >>> 0);
  return all;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

export function base64(bytes: Uint8Array): string {
  const found: string[] = [];
  for (let i = 0; i < bytes.length; i += 3) {
    const three = (bytes[i]! << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    const four = [18, 12, 6, 0].map((by) => LETTERS[(three >> by) & 63]!);
    if (i + 1 >= bytes.length) four[2] = "=";
    if (i + 2 >= bytes.length) four[3] = "=";
    found.push(four.join(""));
  }
  return found.join("");
}

/** Pixels, little-endian RGBA, [row column], as the address of a PNG. */
export function png(pixels: Uint32Array, width: number, height: number): string {
  const bytes = new Uint8Array(pixels.buffer, pixels.byteOffset, pixels.byteLength);
  const lines = new Uint8Array(height * (4 * width + 1));
  for (let y = 0; y < height; y++)
    lines.set(bytes.subarray(4 * y * width, 4 * (y + 1) * width), y * (4 * width + 1) + 1);
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([8, 6, 0, 0, 0], 8);
  const parts = [
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk("IHDR", header),
    chunk("IDAT", zlibSync(lines)),
    chunk("IEND", new Uint8Array()),
  ];
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return `data:image/png;base64,${base64(all)}`;
}

/** So many pixels a cell that a reader of files, which smooths what it enlarges, still shows edges. */
export const enlarged = (cells: number, size: number): number => Math.max(1, Math.ceil((2 * size) / cells));

/** Each pixel so many times across and down. */
export function repeated(pixels: Uint32Array, width: number, height: number, times: number): Uint32Array {
  const wide = width * times;
  return Uint32Array.from(
    { length: wide * height * times },
    (_, at) => pixels[Math.floor(at / wide / times) * width + Math.floor((at % wide) / times)]!,
  );
}

/** The same, but pixels run into their neighbours: readers of a PDF do not smooth. */
export function smoothed(pixels: Uint32Array, width: number, height: number, times: number): Uint32Array {
  const [wide, tall] = [width * times, height * times];
  const found = new Uint8ClampedArray(4 * wide * tall);
  const from = new Uint8Array(pixels.buffer, pixels.byteOffset, pixels.byteLength);
  const between = (at: number, count: number): readonly [number, number, number] => {
    const place = Math.min(count - 1, Math.max(0, (at + 0.5) / times - 0.5));
    const first = Math.floor(place);
    return [first, Math.min(count - 1, first + 1), place - first];
  };
  const columns = Array.from({ length: wide }, (_, x) => between(x, width));
  for (let y = 0; y < tall; y++) {
    const [above, below, down] = between(y, height);
    columns.forEach(([left, right, across], x) => {
      const to = 4 * (y * wide + x);
      let [r, g, b, a] = [0, 0, 0, 0];
      for (const [row, share] of [
        [above, 1 - down],
        [below, down],
      ] as const) {
        for (const [column, part] of [
          [left, 1 - across],
          [right, across],
        ] as const) {
          // The colour of what is clear does not shine through.
          const at = 4 * (row * width + column);
          const weight = share * part * from[at + 3]!;
          r += weight * from[at]!;
          g += weight * from[at + 1]!;
          b += weight * from[at + 2]!;
          a += weight;
        }
      }
      if (a > 0) found.set([r / a, g / a, b / a, a], to);
    });
  }
  return new Uint32Array(found.buffer);
}
