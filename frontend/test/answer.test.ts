import { expect, test } from "vitest";
import type { HighlightsInfo, PartInfo } from "../src/protocol";
import { answer, plain } from "../src/scene/answer";
import { fromValues } from "../src/scene/cut";
import { opening } from "../src/scene/opening";
import { rolesOf } from "../src/scene/roles";
import type { Scene } from "../src/scene/scene";
import { DEFAULTS, type Full } from "../src/scene/state";

/** What a head does: its link and how far it stands out, then its measures. */
interface Does {
  readonly link?: readonly [query: number, key: number, weight: number, score: number];
  readonly share?: number;
  readonly previous?: number;
  readonly first?: number;
  readonly sep?: number;
  readonly evenness?: number;
  readonly moved?: number;
  readonly off?: boolean;
}

const PIECES = ["[CLS]", "the", "animal", "saw", "it", "animal", "[SEP]"];
/** "saw" gets 50% and 70%. */
const ROWS = [0.5, 0, 0, 0.5, 0, 0, 0, 0.1, 0.1, 0.1, 0.7, 0, 0, 0];
const MEASURES = ["previous", "first", "sep"] as const;

/** Layers of heads that do this on `pieces`. */
function part(layers: readonly (readonly Does[])[], over: Partial<PartInfo> = {}, pieces = PIECES): PartInfo {
  const all = layers.flat();
  const of = (at: 0 | 1 | 2 | 3, none: number): number[] => all.map(({ link }) => link?.[at] ?? none);
  const moved = all.flatMap((one) => one.moved ?? []);
  const highlights: HighlightsInfo = {
    query: of(0, -1),
    key: of(1, -1),
    weight: of(2, 0),
    score: of(3, 0),
    share: all.map(({ link, share }) => share ?? (link ? 0.3 : 0)),
    alike: all.map(({ link }) => Number(!!link && pieces[link[0]] === pieces[link[1]])),
    near: all.map(({ previous = 0 }) => previous),
    evenness: all.map(({ evenness = 0 }) => evenness),
    ...(moved.length > 0 && { moved }),
  };
  const axis = { pieces, special: pieces.map((piece) => piece.startsWith("[")) };
  return {
    name: "self",
    kind: "self",
    query: axis,
    key: axis,
    index: layers.map((_, at) => at + 3),
    heads: layers.map((heads) => heads.map((_, at) => at)),
    measures: MEASURES.map((name) => ({ name, of: "input", values: name })),
    quantities: [],
    highlights,
    ...over,
  } as unknown as PartInfo;
}

function scene(layers: readonly (readonly Does[])[], state: Partial<Full> = {}, over: Partial<PartInfo> = {}): Scene {
  const found = part(layers, over);
  const opens = opening(found);
  const full = { ...DEFAULTS, layer: opens.layer, heads: [opens.heads[opens.layer - 3]!], ...state };
  return {
    part: found,
    state: full,
    head: full.heads.at(-1),
    many: full.heads.length > 1,
    aggregated: false,
    against: null,
    quantity: {},
    leftOut: null,
    input: { parts: [found] },
    owner: { host: {} },
    name: () => `L${full.layer}H${full.heads.at(-1)}`,
    columns: { items: PIECES.map((text, start) => ({ text, start })) },
    map: (layer: number, head: number) =>
      fromValues(0, 2, 7, Float32Array.from(layers[layer - 3]![head]!.off ? new Array(14).fill(0) : ROWS), 1, false),
    data: {
      payload: { inputs: (found.highlights?.moved ? ["as it is", "changed"] : ["one"]).map((label) => ({ label })) },
      array: () => [],
      figure: (_: PartInfo, { name }: { name: (typeof MEASURES)[number] }, layer: number, head: number) =>
        layers[layer - 3]![head]![name] ?? 0,
    },
  } as unknown as Scene;
}

const LINK: Does = { link: [4, 2, 0.68, 0.5], first: 0.7 };
const SINK: Does = { first: 0.88 };
const PREVIOUS: Does = { previous: 0.93 };
const BROAD: Does = { evenness: 0.9, first: 0.2 };

test.each([
  [
    "a link that stands out",
    [
      [SINK, PREVIOUS],
      [SINK, LINK],
    ],
    [4, [0, 1]],
  ],
  ["a faint link before the previous token", [[PREVIOUS], [PREVIOUS, { link: [4, 2, 0.2, 0.05] }]], [4, [0, 1]]],
  ["a link of many words before one of few", [[{ ...LINK, share: 0.01 }], [{ ...LINK, share: 0.1 }]], [4, [0, 0]]],
  ["a sharp link before a vague one", [[{ link: [4, 2, 0.4, 0.35] }], [{ link: [4, 2, 0.9, 0.34] }]], [4, [0, 0]]],
  ["a head that looks beside each token is not chosen for a link", [[{ ...PREVIOUS, ...LINK }, LINK]], [3, [1]]],
  ["of equal ones the first", [[SINK, SINK], [SINK]], [3, [0, 0]]],
  ["of two inputs what moves", [[{ ...LINK, moved: 0.1 }], [{ ...SINK, moved: 0.4 }]], [4, [0, 0]]],
] as [string, Does[][], [number, number[]]][])("the head that opens: %s", (_, layers, [layer, heads]) => {
  expect(opening(part(layers))).toEqual({ layer, heads });
});

test("of a gradient the head of its largest number opens", () => {
  const quantities = [{ name: "gradient", largest: [0.1, 0.3, 0.2] }] as PartInfo["quantities"];
  const found = part([[LINK, SINK], [PREVIOUS]], { quantities });
  expect(opening(found, "gradient")).toEqual({ layer: 3, heads: [1, 0] });
  expect(opening(found)).toEqual({ layer: 3, heads: [0, 0] });
});

const said = (layers: Does[][], state: Partial<Full> = {}, over: Partial<PartInfo> = {}): string =>
  plain(answer(scene(layers, state, over)));

test("the sentence says what the open head does, and what most heads do", () => {
  const rest = [SINK, SINK, PREVIOUS];
  expect(said([[LINK, ...rest]])).toBe(
    "L3H0 looks from “it” to “animal” (word 2), 68%; 2 of 4 heads look mostly at [CLS].",
  );
  expect(said([[LINK, ...rest]], { heads: [1] })).toBe(
    "L3H1 looks mostly at [CLS], 88% on average, as 2 of 4 heads do.",
  );
  expect(said([[LINK, ...rest]], { heads: [3] })).toMatch(/^L3H3 looks mostly at the previous token, 93% on average; /);
  expect(said([[BROAD, BROAD]])).toBe("L3H0 looks at most tokens alike.");
  expect(said([[LINK, ...rest]], { scale: "neuron" })).toBe(said([[LINK, ...rest]]));
  expect(said([[{ first: 0.3, sep: 0.4 }]])).toBe("L3H0 gives the most to “saw”, 60% on average.");
  expect(said([[{ off: true }]])).toBe("L3H0 is switched off: its weights are 0.");
  const others: Does[] = [{ off: true, moved: -1 }, { moved: 0.1 }, { moved: 0.2 }];
  expect(said([others], { heads: [0] })).toBe(
    "L3H0 is switched off: its weights are 0; L3H2 changes most, 20% of its attention.",
  );
});

test("a link to the same word, or to what followed it, is said to be one", () => {
  expect(said([[{ link: [5, 2, 0.9, 0.8] }]])).toBe("L3H0 looks from “animal” to the other “animal”, 90%.");
  expect(said([[{ link: [5, 3, 0.9, 0.8] }]])).toBe(
    "L3H0 looks from “animal” (word 5) to “saw”, which came after the same word before, 90%.",
  );
  expect(said([[{ link: [5, 3, 0.9, 0.8] }]], {}, { kind: "cross" })).toBe(
    "L3H0 looks from “animal” (word 5) to “saw”, 90%.",
  );
});

test("words are named whole, and with their place where several are written alike", () => {
  const pieces = ["[CLS]", "foot", "##bridge", "bridge", "and", "bridge", "[SEP]"];
  const words = { group: [0, 1, 1, 2, 3, 4, 5], texts: ["[CLS]", "Footbridge", "bridge", "and", "Bridge", "[SEP]"] };
  const axis = { ...part([[]], {}, pieces).key, words };
  const one = (query: number, key: number, more: Partial<PartInfo> = {}): string =>
    said([[{ link: [query, key, 0.9, 0.8] }]], {}, { query: axis, key: axis, ...more });
  expect(one(5, 1)).toBe("L3H0 looks from “Bridge” (word 4) to “Footbridge”, 90%.");
  expect(one(5, 3)).toBe("L3H0 looks from “Bridge” to the other “bridge”, 90%.");
  const third = { ...words, texts: ["[CLS]", "bridge", "bridge", "and", "Bridge", "[SEP]"] };
  const three = { ...axis, words: third };
  expect(one(5, 3, { query: three, key: three })).toBe(
    "L3H0 looks from “Bridge” (word 4) to another “bridge” (word 2), 90%.",
  );
});

test("of two inputs it says what moves", () => {
  const layers = [
    [
      { ...LINK, moved: 0.4 },
      { ...SINK, moved: 0.1 },
    ],
  ];
  expect(said(layers)).toMatch(
    /^L3H0 changes 40% of its attention between “as it is” and “changed”, more than any other head; here it looks from “it” to “animal” \(word 2\), 68%\.$/,
  );
  expect(said(layers, { heads: [1] })).toMatch(
    /^L3H1 changes 10% of its attention between “as it is” and “changed”; here it looks mostly/,
  );
});

test("a part of a picture, or seconds of a sound", () => {
  const boxes = PIECES.map(() => [0, 0, 1, 1]);
  const medium = (name: string, left: number, kind = "picture") => ({ kind, name, box: [left, 0, left + 2, 2] });
  const sheet = (...media: object[]) => ({ picture: { kind: "picture", width: 9, height: 9, media } });
  const axis = { ...part([]).key, boxes };
  const one = (key: number, input: object): string => {
    const found = scene([[{ link: [-1, key, 0.41, 0.3] }]], {}, { query: axis, key: axis });
    return plain(answer(Object.assign(found, { input })));
  };
  expect(one(0, {})).toBe("L3H0 gives the top left of the picture 41% of its attention.");
  expect(one(4, {})).toBe("L3H0 gives the centre of the picture 41% of its attention.");
  // Keys are on one of two.
  expect(one(1, sheet(medium("a", 0), medium("b", 4)))).toBe("L3H0 gives the top centre of a 41% of its attention.");
  expect(one(1, sheet(medium("a", 0, "series")))).toContain("what lies from 10 to 20% of");
  expect(one(2, { sound: { heard: 5 } })).toBe("L3H0 gives what sounds from 1.0 to 1.5 s 41% of its attention.");
});

test("a key that takes much of all heads' attention is called a sink", () => {
  const key = { pieces: PIECES, special: PIECES.map((piece) => piece.startsWith("[")) };
  const over = (...sinks: number[]) => ({ key: { ...key, sinks } }) as unknown as Partial<PartInfo>;
  expect(said([[SINK, SINK]], {}, over(0))).toBe("L3H0 looks mostly at [CLS] (a sink), 88% on average.");
  const few = [{ sep: 0.9 }, { sep: 0.8 }];
  expect(said([few], {}, over(6))).toBe("L3H0 looks mostly at separators (sinks), 90% on average.");
  expect(said([few], {}, over(0))).toContain("looks mostly at separators, 90%");
  expect(said([[{}]], {}, over(3))).toBe("L3H0 gives the most to “saw” (a sink), 60% on average.");
});

test("nothing is said of other numbers than one head's raw weights", () => {
  expect(said([[LINK]], { quantity: "gradient" }, { quantities: [] })).toBe("");
  expect(said([[LINK]], { renormalise: true })).toBe("");
  expect(said([[SINK, SINK]], { heads: [0, 1] })).toBe("all 2 heads look mostly at [CLS].");
  expect(said([[LINK]], {}, { highlights: undefined } as unknown as Partial<PartInfo>)).toBe("");
});

test("each head is counted once, for the most telling of what it does", () => {
  const roles = rolesOf(scene([[LINK, { ...SINK, evenness: 0.8 }, PREVIOUS, BROAD, {}]]));
  expect(roles.map(({ name, look, heads }) => [name, look.letter, look.hue, heads])).toEqual([
    ["previous token", "P", 0, ["L3H2"]],
    ["a link between words", "L", 6, ["L3H0"]],
    ["[CLS]", "C", 8, ["L3H1"]],
    ["broad", "", null, ["L3H3"]],
    ["none of these", "–", null, ["L3H4"]],
  ]);
});
