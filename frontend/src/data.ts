// Arrays as they arrive: base64, gzip, little-endian, with dtype and shape.

import type { ArrayRef } from "./protocol";

export type Numbers = Uint8Array | Int32Array | Float32Array | Float64Array;

const TYPES = { uint8: Uint8Array, int32: Int32Array, float32: Float32Array, float64: Float64Array } as const;

/** w = (b / 255)² for each byte. */
export const SQUARE = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255) ** 2);

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old to unpack the data (it has no DecompressionStream)");
  }
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** The numbers of an array. Throws when they are not as many as its shape says. */
export async function decode(ref: ArrayRef, blob: string | Uint8Array<ArrayBuffer>): Promise<Numbers> {
  const buffer = await gunzip(typeof blob === "string" ? bytesOf(blob) : blob);
  const Type = TYPES[ref.dtype];
  const expected = ref.shape.reduce((a, b) => a * b, 1);
  if (buffer.byteLength !== expected * Type.BYTES_PER_ELEMENT) {
    throw new Error(`array ${ref.data}: expected ${expected} × ${ref.dtype}, found ${buffer.byteLength} bytes`);
  }
  return new Type(buffer);
}

/** Where blobs come from: base64 in a page, one script element each; bytes in a notebook. */
export type Source = (name: string) => string | Uint8Array<ArrayBuffer> | Promise<string>;

/** The text of an array of this page, as soon as the browser has read it: the arrays stand behind the script. */
export const fromPage = (name: string): Promise<string> =>
  new Promise((done, fail) => {
    const look = (): boolean => {
      const element = document.getElementById(`headscope-data-${name}`);
      const read = document.readyState !== "loading";
      // What the browser is reading has nothing behind it yet.
      if (element && (read || element.nextSibling)) done(element.textContent ?? "");
      else if (read) fail(new Error(`array ${name} is missing from this page`));
      else return false;
      return true;
    };
    if (look()) return;
    const again = (): void => {
      if (!look()) return;
      growing.disconnect();
      document.removeEventListener("readystatechange", again);
    };
    const growing = new MutationObserver(again);
    growing.observe(document.body, { childList: true });
    document.addEventListener("readystatechange", again);
  });

/** Decodes each array once, when it is first asked for. */
export class Store {
  private readonly arrays = new Map<string, Promise<Numbers>>();

  constructor(private readonly source: Source) {}

  get(ref: ArrayRef): Promise<Numbers> {
    let array = this.arrays.get(ref.data);
    if (!array) {
      array = Promise.resolve().then(async () => decode(ref, await this.source(ref.data)));
      this.arrays.set(ref.data, array);
    }
    return array;
  }
}
