// A message and its buffers as one binary frame: the length of the JSON (four bytes, little-endian), the JSON, the
// buffers.

export type Buffers = readonly Uint8Array<ArrayBuffer>[];

export function pack(content: object): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(content));
  const frame = new Uint8Array(4 + text.length);
  new DataView(frame.buffer).setUint32(0, text.length, true);
  frame.set(text, 4);
  return frame.buffer;
}

export function unpack(frame: ArrayBuffer): { readonly content: Record<string, unknown>; readonly buffers: Buffers } {
  const size = new DataView(frame).getUint32(0, true);
  const { lengths, ...content } = JSON.parse(new TextDecoder().decode(new Uint8Array(frame, 4, size))) as {
    lengths: number[];
  };
  let at = 4 + size;
  const buffers = lengths.map((length) => new Uint8Array(frame, (at += length) - length, length));
  return { content, buffers };
}
