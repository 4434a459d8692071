import { expect, test } from "vitest";
import { painter } from "../src/draw/griddraw";
import { drawHead, drawLines } from "../src/draw/headdraw";
import { drawMarks } from "../src/draw/matrixdraw";
import { SvgPen } from "../src/draw/svg";
import type { ExplorerPayload, PartInfo } from "../src/protocol";
import { answer } from "../src/scene/answer";
import { Store } from "../src/scene/data";
import { ofOpen } from "../src/scene/gold";
import { above, headBoxOf } from "../src/scene/headlayout";
import { Heads } from "../src/scene/heads";
import { linesCaption, linesOf } from "../src/scene/lines";
import { boards, looking, lookOf, rollout, says, strip } from "../src/scene/onpicture";
import { heading, legend } from "../src/scene/says";
import { type Owner, Scene } from "../src/scene/scene";
import { said } from "../src/scene/shaded";
import { Data } from "../src/scene/source";
import { DEFAULTS, type Full, type Heeds } from "../src/scene/state";
import { Grid } from "../src/ui/grid";
import { HeadLines } from "../src/ui/head";
import { Matrix } from "../src/ui/matrix";
import { HEEDS } from "../src/ui/panes";
import { HeadPicture } from "../src/ui/picture";
import { pack, texts } from "./sample";

const { main, rest, focus } = HEEDS;

test("every key of the state is heeded by something that is drawn", () => {
  const heeded = new Set<string>([...main, ...rest, ...focus]);
  expect(Object.keys(DEFAULTS).filter((key) => !heeded.has(key))).toEqual([]);
});

test("what is pointed at is drawn alone, and what only the grid heeds is drawn with it at once", () => {
  const pointed = ["between", "medium", "opacity", "pin", "queries", "rollout", "smooth", "strip", "time"];
  expect([...focus].sort()).toEqual(pointed);
  expect([...focus].filter((key) => main.has(key))).toEqual([]);
  const beside = [...rest].filter((key) => !main.has(key) && !focus.has(key));
  expect(beside.sort()).toEqual(["ascending", "draw", "least", "measure", "sort"]);
});

test("no picture reads a key of the state that it does not say it heeds", async () => {
  const axis = {
    pieces: ["[CLS]", "a", "b"],
    special: [true, false, false],
    sequences: null,
    words: null,
    boxes: [null, [0, 0, 8, 8], [8, 0, 16, 8]],
  };
  const weights = pack(Uint8Array.of(200, 100, 90, 40, 220, 60, 10, 30, 250), [1, 3, 3], "sqrt");
  const entropy = pack(Float64Array.of(0.5), [1, 1]);
  const link = { label: "x", side: "from", source: [1], targets: [[2]], candidates: null, units: "tokens" };
  const part = {
    name: "self",
    kind: "self",
    causal: false,
    query: axis,
    key: axis,
    index: [0],
    heads: [[0]],
    layers: [weights],
    thumbs: null,
    rollout: [weights],
    hidden: null,
    quantities: [],
    measures: [{ name: "entropy", title: "entropy", of: "input", units: "nats", values: entropy }],
    links: [link],
  } as unknown as PartInfo;
  const picture = { src: "", width: 16, height: 8, kind: "picture", name: "" };
  const payload = { model: "m", inputs: [{ label: "", parts: [part], picture }] } as unknown as ExplorerPayload;
  const data = new Data(payload, new Store((name) => texts.get(name) ?? ""));
  const read = new Set<string>();
  const state: Full = { ...DEFAULTS, part: "self", layer: 0, heads: [0], measure: "entropy", sort: true, least: 1 };
  const owner = {
    state: new Proxy(state, { get: (all, key) => (read.add(String(key)), Reflect.get(all, key)) }),
    theme: "light",
    ink: () => "#000",
    host: {},
  } as unknown as Owner;
  const scene = new Scene(data, 0, owner);
  await Promise.all([...scene.missing(), ...scene.unmeasured()]);
  const pen = new SvgPen(400, 400);
  const pictures: [string, readonly Heeds[], () => unknown][] = [
    ["scene", [], () => [scene.refresh(), scene.lacking, scene.focus, scene.pair, scene.seen, scene.hides(0, 1)]],
    ["titles", [], () => [heading(scene), answer(scene), legend(scene), scene.name()]],
    ["text", [], () => said(scene)],
    [
      "lines",
      [HeadLines.heeds],
      () => {
        const [maps, lines] = [scene.shown(), linesOf(scene, 0, 3)];
        const box = headBoxOf(scene, { width: 400, tallest: 400, widest: 60 });
        const view = { pen, scene, box, maps, scrolled: 0 };
        drawLines(view, lines, 0, lines.count - 1);
        drawHead(view);
        return [above(scene, box), linesCaption(scene, lines)];
      },
    ],
    ["matrix", [Matrix.heeds], () => drawMarks(pen, scene, [0, 3, 0, 3], 90, 90, scene.judged().map(ofOpen))],
    [
      "grid",
      [Grid.heeds],
      () => {
        const heads = new Heads(scene);
        heads.lay(400, "large", 400, 1);
        heads.arrange();
        painter(pen, heads, { easel: null, heat: () => undefined, spectrogram: () => undefined })(0);
        return [heads.missing(), heads.needs(0), heads.labels(), heads.notes()];
      },
    ],
    [
      "picture",
      [HeadPicture.heeds],
      () => {
        const found = looking(scene)!;
        return [boards(scene, found), says(scene, found), lookOf(scene, found.maps), rollout(scene), strip(scene, "")];
      },
    ],
  ];
  for (const [name, heeds, draw] of pictures) {
    for (const each of [state.scale, "model" as const]) {
      state.scale = each;
      read.clear();
      draw();
      const heeded = new Set<string>(
        [Scene.heeds, ...heeds].flatMap(({ update = [], focus = [] }: Heeds) => [...update, ...focus]),
      );
      expect(
        [...read].filter((key) => !heeded.has(key)),
        name,
      ).toEqual([]);
    }
    state.scale = "head";
  }
  expect(pen.document()).toContain("<path");
});
