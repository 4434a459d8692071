// Bundles the pages (report, explorer) and the notebook's widget into the Python package: a .js and a .css each (with
// the font), the licences of what is in them, and a stamp of the sources that hatch_build.py reads to know whether the
// bundle is up to date.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import wawoff2 from "wawoff2";

const root = dirname(fileURLToPath(import.meta.url));
const target = join(root, "..", "src", "headscope", "views", "static");
const COLOURS = "../src/headscope/views/colours.json"; // what CSS and TypeScript are coloured with
const watch = process.argv.includes("--watch");

function files(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? files(path) : [path];
  });
}

// The same sum as in hatch_build.py: name, NUL, bytes, NUL of each source, in the order of their names.
function stamp() {
  const names = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json", COLOURS];
  const sources = names.map((name) => join(root, name));
  const named = [...sources, ...files(join(root, "src"))].map((path) => [
    relative(root, path).split(sep).join("/"),
    path,
  ]);
  named.sort(([a], [b]) => (a < b ? -1 : 1));
  const sum = createHash("sha256");
  for (const [name, path] of named) sum.update(`${name}\0`).update(readFileSync(path)).update("\0");
  return sum.digest("hex");
}

// The licence of every package that has a part in the bundle.
function licences(inputs) {
  const packages = new Map();
  for (const input of inputs) {
    const match = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(input);
    if (match) packages.set(match[2], join(root, match[1]));
  }
  const parts = [...packages].sort().map(([name, folder]) => {
    const version = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version;
    const own = join(root, "licences", `${name}.txt`); // of a package that comes without
    const file = [...["LICENSE", "LICENSE.md", "LICENSE.txt", "license"].map((n) => join(folder, n)), own].find(
      existsSync,
    );
    if (!file) throw new Error(`${name} has no licence file`);
    return `${name} ${version}\n\n${readFileSync(file, "utf8").trim()}\n`;
  });
  return `The .js, .css and .wasm files beside this one contain parts of these packages.\n\n${parts.join(`\n${"-".repeat(72)}\n\n`)}`;
}

const shared = {
  absWorkingDir: root,
  outdir: target,
  bundle: true,
  minify: true,
  target: ["es2022", "chrome111", "firefox113", "safari16.4"],
  charset: "ascii",
  legalComments: "none",
  loader: { ".woff2": "dataurl" },
  metafile: true,
  logLevel: "warning",
};
// colours.css: the colours as variables of the page's themes. Lists, of scales and hues, are TypeScript's alone.
const colours = {
  name: "colours",
  setup(build) {
    const path = join(root, COLOURS);
    build.onResolve({ filter: /^colours\.css$/ }, () => ({ path, namespace: "colours" }));
    build.onLoad({ filter: /./, namespace: "colours" }, () => {
      const rules = Object.entries(JSON.parse(readFileSync(path, "utf8"))).map(([theme, own]) => {
        const variables = Object.entries(own).filter(([, value]) => typeof value === "string");
        return `.hs${theme === "dark" ? '[data-theme="dark"]' : ""} { ${variables.map(([name, value]) => `--${name}: ${value};`).join(" ")} }`;
      });
      return { contents: rules.join("\n"), loader: "css", watchFiles: [path] };
    });
  },
};
const seen = new Set(["node_modules/inter-ui/web/Inter-Regular.woff2"]);
const finish = {
  name: "finish",
  setup(build) {
    build.onEnd((result) => {
      if (result.errors.length > 0) return;
      for (const input of Object.keys(result.metafile.inputs)) seen.add(input);
      writeFileSync(join(target, "LICENSES.txt"), licences(seen));
      writeFileSync(join(target, "sources.sha256"), `${stamp()}\n`);
    });
  },
};

mkdirSync(target, { recursive: true });
// What runs a model inside a page.
copyFileSync(
  join(root, "node_modules", "onnxruntime-web", "dist", "ort-wasm-simd-threaded.wasm"),
  join(target, "engine.wasm"),
);
// What pictures that leave the page are lettered with.
for (const style of ["Regular", "Medium", "SemiBold", "Bold"]) {
  const packed = readFileSync(join(root, "node_modules", "inter-ui", "web", `Inter-${style}.woff2`));
  writeFileSync(join(target, `Inter-${style}.ttf`), await wawoff2.decompress(packed));
}
// Pages run a plain script; a notebook imports a module.
const contexts = await Promise.all([
  esbuild.context({
    ...shared,
    entryPoints: {
      report: "src/report/page.ts",
      explorer: "src/ui/page.ts",
      live: "src/live/page.ts",
      standalone: "src/live/standalone/page.ts",
      worker: "src/live/standalone/worker.ts",
    },
    format: "iife",
    plugins: [colours, finish],
  }),
  esbuild.context({
    ...shared,
    entryPoints: { still: "src/still/entry.ts" },
    target: "es2022",
    format: "iife",
    plugins: [colours, finish],
  }),
  esbuild.context({
    ...shared,
    entryPoints: { widget: "src/live/widget.ts", loader: "src/live/loader.ts" },
    format: "esm",
    plugins: [colours, finish],
  }),
]);
for (const context of contexts) {
  if (watch) {
    await context.watch();
  } else {
    await context.rebuild();
    await context.dispose();
  }
}
