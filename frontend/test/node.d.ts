// The functions of Node that the tests use.
declare module "node:zlib" {
  export function gzipSync(data: Uint8Array): Uint8Array;
}
declare module "node:fs" {
  export function readFileSync(path: string | URL, encoding: "utf8"): string;
  export function readdirSync(path: string, options: { recursive: true }): string[];
}
declare module "node:path" {
  export function dirname(path: string): string;
  export function join(...parts: string[]): string;
  export function relative(from: string, to: string): string;
}
