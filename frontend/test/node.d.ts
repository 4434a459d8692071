// The one function of Node that the tests use.
declare module "node:zlib" {
  export function gzipSync(data: Uint8Array): { toString(encoding: "base64"): string };
}
