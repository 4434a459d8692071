// The functions of Node that the tests use.
declare module "node:zlib" {
  export function gzipSync(data: Uint8Array): { toString(encoding: "base64"): string };
}
declare module "node:fs" {
  export function readFileSync(path: string | URL, encoding: "utf8"): string;
}
