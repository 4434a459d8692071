// Arrays as they arrive: base85, gzip, little-endian, with dtype and shape.

import type { ArrayRef } from "../protocol";

export type Numbers = Uint8Array | Int32Array | Float32Array | Float64Array;

const TYPES = { uint8: Uint8Array, int32: Int32Array, float32: Float32Array, float64: Float64Array } as const;

/** w = (b / 255)² for each byte. */
export const SQUARE = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255) ** 2);

export const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;.=>?@^_`{|}~";
const DIGITS = new Uint8Array(128);
for (const [digit, letter] of [...LETTERS].entries()) DIGITS[letter.charCodeAt(0)] = digit;

/** Bytes from base85: five letters are four of them, and ~ fills up the last. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(4 * Math.ceil(text.length / 5));
  const view = new DataView(bytes.buffer);
  for (let at = 0, from = 0; at < bytes.length; at += 4) {
    let word = 0;
    for (const end = from + 5; from < end; from++) word = 85 * word + (DIGITS[text.charCodeAt(from)] ?? 84);
    view.setUint32(at, word);
  }
  return bytes.subarray(0, Math.floor((4 * text.length) / 5));
}

export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old to unpack the data (it has no DecompressionStream)");
  }
  const unpacking = new DecompressionStream("gzip");
  // Straight into the stream: a Blob in between takes as long as the unpacking. What is wrong with the bytes its end
  // says.
  const writer = unpacking.writable.getWriter();
  for (const step of [writer.write(bytes), writer.close()]) step.catch(() => undefined);
  return new Response(unpacking.readable).arrayBuffer();
}

type Packed = string | Uint8Array<ArrayBuffer>;

const length = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/** Numbers of 0 for all of an array. */
export const blank = (ref: ArrayRef): Numbers => new TYPES[ref.dtype](length(ref.shape));

/** How a gzip stream is unpacked; null: arrays come as they are. */
type Unpack = ((bytes: Uint8Array<ArrayBuffer>) => Promise<ArrayBuffer>) | null;

async function unpack(ref: ArrayRef, blob: Packed, expected: number, open: Unpack): Promise<Numbers> {
  const bytes = typeof blob === "string" ? bytesOf(blob) : blob;
  const buffer = open ? await open(bytes) : bytes.slice().buffer;
  const Type = TYPES[ref.dtype];
  if (buffer.byteLength !== expected * Type.BYTES_PER_ELEMENT) {
    throw new Error(`array ${ref.data}: expected ${expected} × ${ref.dtype}, found ${buffer.byteLength} bytes`);
  }
  return new Type(buffer);
}

/** The numbers of one piece of an array that comes in pieces, such as a head of a layer. */
export function decodePiece(ref: ArrayRef, blob: Packed, place: number, open: Unpack = gunzip): Promise<Numbers> {
  const pieces = ref.pieces ?? [];
  const fours = (bytes: number): number => Math.ceil(bytes / 4);
  const start = pieces.slice(0, place).reduce((sum, bytes) => sum + fours(bytes), 0);
  const bytes = pieces[place] ?? 0;
  const part =
    typeof blob === "string" ? bytesOf(blob.slice(5 * start, 5 * (start + fours(bytes)))) : blob.subarray(4 * start);
  return unpack(ref, part.subarray(0, bytes), length(ref.shape.slice(1)), open);
}

/** The numbers of an array. Throws when they are not as many as its shape says. */
export async function decode(ref: ArrayRef, blob: Packed, open: Unpack = gunzip): Promise<Numbers> {
  if (!ref.pieces) return unpack(ref, blob, length(ref.shape), open);
  const numbers = blank(ref);
  for (const place of ref.pieces.keys())
    numbers.set(await decodePiece(ref, blob, place, open), place * length(ref.shape.slice(1)));
  return numbers;
}

/** Where blobs come from: base85 in a page, one script element each; bytes in a notebook. */
export type Source = (name: string) => Packed | Promise<Packed>;

/** Decodes each array once, when it is first asked for. */
export class Store {
  private readonly arrays = new Map<string, Promise<Numbers>>();

  constructor(
    private readonly source: Source,
    private readonly unpack: Unpack = gunzip,
  ) {}

  get(ref: ArrayRef): Promise<Numbers> {
    let array = this.arrays.get(ref.data);
    if (!array) {
      array = Promise.resolve().then(async () => decode(ref, await this.source(ref.data), this.unpack));
      this.arrays.set(ref.data, array);
    }
    return array;
  }

  /** One piece of an array that comes in pieces; it is the asker's to keep. */
  async piece(ref: ArrayRef, place: number): Promise<Numbers> {
    return decodePiece(ref, await this.source(ref.data), place, this.unpack);
  }
}
