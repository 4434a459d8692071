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
  const found = new Uint32Array(wide * height * times);
  for (let y = 0; y < height; y++) {
    const start = y * times * wide;
    for (let x = 0; x < width; x++) found.fill(pixels[y * width + x]!, start + x * times, start + (x + 1) * times);
    for (let line = 1; line < times; line++) found.copyWithin(start + line * wide, start, start + wide);
  }
  return found;
}

/** The same, but pixels run into their neighbours: readers of a PDF do not smooth. */
export function smoothed(pixels: Uint32Array, width: number, height: number, times: number): Uint32Array {
  // The colour of what is clear does not shine through: red, green and blue go with how opaque they are.
  const from = new Float32Array(4 * width * height);
  pixels.forEach((pixel, at) => {
    const alpha = pixel >>> 24;
    for (let part = 0; part < 3; part++) from[4 * at + part] = ((pixel >>> (8 * part)) & 255) * alpha;
    from[4 * at + 3] = alpha;
  });
  const wide = stretched(from, [height, width, 4], times);
  const all = stretched(wide, [1, height, 4 * width * times], times);
  const found = new Uint8ClampedArray(all.length);
  for (let at = 0; at < all.length; at += 4) {
    const alpha = all[at + 3]!;
    if (alpha === 0) continue;
    for (let part = 0; part < 3; part++) found[at + part] = all[at + part]! / alpha;
    found[at + 3] = alpha;
  }
  return new Uint32Array(found.buffer);
}

// Numbers [outer count inner], so many times as many along the middle, evenly from one to the next.
function stretched(
  numbers: Float32Array,
  [outer, count, inner]: readonly [number, number, number],
  times: number,
): Float32Array {
  const found = new Float32Array(numbers.length * times);
  for (let block = 0, to = 0; block < outer; block++) {
    for (let at = 0; at < count * times; at++) {
      const place = Math.min(count - 1, Math.max(0, (at + 0.5) / times - 0.5));
      const first = Math.floor(place);
      const [left, share] = [(block * count + first) * inner, place - first];
      const right = (block * count + Math.min(count - 1, first + 1)) * inner;
      for (let part = 0; part < inner; part++)
        found[to++] = (1 - share) * numbers[left + part]! + share * numbers[right + part]!;
    }
  }
  return found;
}
