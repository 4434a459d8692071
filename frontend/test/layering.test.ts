import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SRC = fileURLToPath(new URL("../src", import.meta.url));
const ROOM = /^report\/sections\/[^/]+\//;

/** From bottom to top: what a file imports stands in its own layer or below. */
const LAYERS: readonly (readonly [name: string, files: RegExp])[] = [
  ["types of the payload", /^protocol\.ts$/],
  ["scene", /^scene\//],
  ["draw", /^draw\//],
  ["still", /^still\/(?!entry\.ts$)/],
  ["ui", /^ui\/(?!page\.ts$)/],
  ["live", /^live\/(?!((standalone\/)?page|widget)\.ts$)/],
  ["parts of the report", /^report\/(?!(page|draw|headpage|opened|state)\.ts$)[^/]+$/],
  ["blocks of sections", /^report\/blocks\/[^/]+$/],
  ["sections", ROOM],
  ["the open head, and the list of sections", /^report\/(sections\/index|draw|headpage|opened|state)\.ts$/],
  ["pages", /^(still\/entry|report\/page|live\/page|live\/standalone\/page|live\/widget|ui\/page)\.ts$/],
];

/** Imports from one section's folder into another's, each with its reason. */
const ACROSS: readonly string[] = [];

const layerOf = (file: string): number => LAYERS.findIndex(([, files]) => files.test(file));

/** The files that each file imports: types and dynamic imports count. */
function imports(): Map<string, string[]> {
  const files = readdirSync(SRC, { recursive: true }).filter((file) => file.endsWith(".ts"));
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(SRC, file), "utf8");
      const named = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]*)"/g)].map(([, path]) => path!);
      const scripts = named.filter((path) => !/\.(css|json|woff2)$/.test(path));
      return [file, scripts.map((path) => `${relative(SRC, join(SRC, dirname(file), path))}.ts`)];
    }),
  );
}

/** Files that reach one another, as `a b c`. */
function circles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const reach = new Map([...graph.keys()].map((file) => [file, new Set<string>()]));
  for (const [file, seen] of reach) {
    const waiting = [...graph.get(file)!];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      waiting.push(...(graph.get(next) ?? []));
    }
  }
  const together = [...reach].flatMap(([file, seen]) =>
    seen.has(file)
      ? [
          [...seen]
            .filter((other) => reach.get(other)!.has(file))
            .sort()
            .join(" "),
        ]
      : [],
  );
  return [...new Set(together)];
}

const graph = imports();
const edges = [...graph].flatMap(([file, others]) => others.map((other) => [file, other] as const));

test("the imports are read", () => {
  expect(graph.get("report/page.ts")).toContain("report/draw.ts");
  expect(graph.get("report/sections/index.ts")).toContain("report/sections/atlas/atlas.ts");
  expect(edges.filter(([, other]) => !graph.has(other))).toEqual([]);
  expect([...graph.keys()].filter((file) => layerOf(file) < 0)).toEqual([]);
});

test("a circle is seen, whatever its length", () => {
  const parts = [
    ["a", ["b"]],
    ["b", ["c"]],
    ["c", ["a", "d"]],
    ["d", []],
    ["e", ["e"]],
  ] as const;
  expect(circles(new Map(parts.map(([file, others]) => [file, others])))).toEqual(["a b c", "e"]);
});

test("no files import one another in a circle", () => expect(circles(graph)).toEqual([]));

test("nothing imports upward", () => {
  const upward = edges.filter(([file, other]) => layerOf(other) > layerOf(file));
  expect(upward.map((edge) => edge.join(" → "))).toEqual([]);
});

test("no section imports from the folder of another", () => {
  const across = edges.filter(
    ([file, other]) => ROOM.test(file) && ROOM.test(other) && dirname(file) !== dirname(other),
  );
  expect(across.map((edge) => edge.join(" → ")).filter((edge) => !ACROSS.includes(edge))).toEqual([]);
});

test("a scene knows no page", () => {
  const known =
    /\b(document|window|HTML\w*Element|CanvasRenderingContext2D|getComputedStyle|requestAnimationFrame)\b[.(<]\w/;
  const found = [...graph.keys()].filter(
    (file) => file.startsWith("scene/") && known.test(readFileSync(join(SRC, file), "utf8")),
  );
  expect(found).toEqual([]);
});

test("what is drawn anew is decided by values, not by strings made of them", () => {
  const found = [...graph.keys()].filter(
    (file) =>
      /^(scene|draw|still|ui)\//.test(file) &&
      file !== "ui/memory.ts" && // storage takes strings alone
      /JSON\.stringify|\.join\("\|"\)/.test(readFileSync(join(SRC, file), "utf8")),
  );
  expect(found).toEqual([]);
});

test("what the package is built with is installed where it is only built", () => {
  const root = join(SRC, "..");
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const read = [...graph.keys()].map((file) => join(SRC, file)).concat(join(root, "build.mjs"));
  const named = read.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/\bfrom "((?:@[\w-]+\/)?[\w-][\w.:-]*)|"node_modules", "([^"]+)"/g)].map(
      ([, imported, copied]) => imported ?? copied!,
    ),
  );
  const lacking = named.filter((name) => !name.startsWith("node:") && !(name in dependencies));
  expect([...new Set(lacking)]).toEqual([]);
});
