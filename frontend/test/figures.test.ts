import { expect, test } from "vitest";
import { Figures, Measure, scaleOf, tidy } from "../src/report/figures";
import { allHeads, parseFilter } from "../src/report/filter";
import { scores, standings } from "../src/report/headpage";
import { readFragment, writeFragment } from "../src/report/state";
import { csv } from "../src/report/table";
import { looks } from "../src/scene/letters";
import { figures } from "./sample";

const at = (layer: number, head: number) => ({ layer, head });

test("heads carry the model's own indices, and those without figures are left out", async () => {
  const f = await figures();
  expect(f.cells.map((cell) => f.name(cell))).toEqual(["L3H0", "L3H1", "L3H2", "L5H0", "L5H1"]);
  expect(f.paper(at(1, 0))).toBe("6-1");
  expect(f.find(5, 2)).toBeNull();
  expect(f.find(5, 1)).toEqual(at(1, 1));
});

test("measures that are the same figure in every head are told once, by both names", async () => {
  const { payload } = await figures();
  const measure = (name: string, ...values: number[]): Measure => {
    const blank = new Float64Array(6);
    return new Measure(
      { ...payload.measures[0]!, name, title: name },
      3,
      Float64Array.from(values),
      blank,
      blank,
      blank,
    );
  };
  const all = [
    measure("first", 0.1, 0.9, 0.2, 0.6, 0.4, NaN),
    measure("cls", 0.1, 0.9, 0.2, 0.6, 0.4, NaN),
    measure("sep", 0.1, 0.9, 0.2, 0.6, 0.5, NaN),
  ];
  const f = new Figures(payload, all);
  expect(f.told.map(({ info }) => info.title)).toEqual(["first (cls)", "sep"]);
  expect(f.measure("cls").info.title).toBe("cls");
  expect(tidy(f).rows).toHaveLength(15);
});

test("each name has a letter of its own", () => {
  expect(looks(["previous token", "punctuation", "[CLS]", "pieces"]).map(({ letter }) => letter)).toEqual([
    "P",
    "U",
    "C",
    "I",
  ]);
  const many = looks(Array.from({ length: 12 }, () => "ab"));
  expect(new Set(many.slice(0, 11).map(({ letter }) => letter)).size).toBe(11);
  expect(new Set(many.map(({ hue }) => hue)).size).toBe(12);
});

test("a head's page says its rank among all, and each figure that a table names it for with how sure it is", async () => {
  const { payload, measures } = await figures();
  const reason = { says: "previous token", figure: "0.900" };
  const columns = ["score", "low", "high"].map((name) => ({ name, format: "share" as const }));
  const table = {
    ...{ kind: "table" as const, name: "roles", title: "", columns, more: [] },
    values: {
      ...{ layer: [3, 3, 5], head: [1, 1, 0], score: [0.9, 0.8, 0.7], low: [0.85, null, 0.6], high: [0.95, null, 0.8] },
      ...{ n: [1234, 5, 6], documents: [60, null, 3], q: [1e-9, 0.0412, 0.5] },
    },
    cells: [{ of: "score", low: "low", high: "high" }],
    reasons: [reason, { ...reason, says: "b" }, null],
  };
  const section = { kind: "blocks" as const, title: "", about: "", blocks: [table], notes: [], command: null };
  const told = (name: string) =>
    new Figures({ ...payload, sections: [{ ...section, name }] } as typeof payload, measures);
  expect(scores(told("roles"), at(0, 1)).map(({ reason, sure }) => `${reason.says} ${sure}`)).toEqual([
    "previous token .850 – .950, n 1,234, 60 documents, q < .001",
    "b n 5, q .041",
  ]);
  expect(scores(told("roles"), at(1, 0)), "no reason to name it").toEqual([]);
  expect(scores(told("compare"), at(0, 1)), "about two models").toEqual([]);
  const f = told("roles");
  const ranks = f.cells.map((cell) => f.rank(measures[0]!, cell).place);
  expect(ranks.toSorted()).toEqual([1, 2, 3, 4, 5]);
  expect(f.rank(measures[0]!, f.ranked(measures[0]!)[1]!)).toEqual({ place: 2, of: 5 });
  expect(f.rank(measures[0]!, at(1, 2)).place).toBe(0);
  const equal = { value: (cell: { head: number }) => Math.min(1, cell.head) };
  expect(
    f.cells.map((cell) => f.rank(equal, cell).place),
    "equal heads are of one rank",
  ).toEqual([4, 1, 1, 4, 1]);
  expect(standings(f, f.ranked(measures[0]!)[0]!)[0]!.sure).toMatch(/^1 of 5/);
});

test("steps stay inside", async () => {
  const f = await figures();
  expect(f.step(at(0, 2), 1, 0)).toEqual(at(0, 2));
  expect(f.step(at(0, 1), 1, 0)).toEqual(at(1, 1));
});

test("the page opens at the head that stands out", async () => expect((await figures()).opening).toEqual(at(0, 1)));

test.each([
  ["", 5],
  ["L3", 3],
  ["h1", 2],
  ["l3h1", 1],
  ["4-2", 1],
  ["previous > .5", 2],
  ["prev>.5 entropy<3", 1],
  ["previous>=0.9", 1],
])("the filter %j keeps %d heads", async (query, kept) => {
  const f = await figures();
  const test = parseFilter(query, allHeads(f));
  expect(test && f.cells.filter(test)).toHaveLength(kept);
});

test("a filter on a measure that is not there is none", async () =>
  expect(parseFilter("nonsense>1", allHeads(await figures()))).toBeNull());

test("the tidy table has the command's columns and no rows without a value", async () => {
  const lines = csv(tidy(await figures()))
    .trimEnd()
    .split("\n");
  expect(lines).toHaveLength(1 + 10);
  expect(lines.slice(0, 2)).toEqual([
    "layer,head,paper,measure,value,se,n,chance",
    "3,0,4-1,previous,0.1,0.01,100,0.05",
  ]);
});

test("scales: shares by the root, entropies up to the uniform line, differences about zero", () => {
  const none = new Float64Array([NaN]);
  expect(scaleOf("share", Float64Array.from([0.2]), none).tint(0.25)).toBe(0.5);
  expect(scaleOf("nats", Float64Array.from([2]), Float64Array.from([4])).tint(2)).toBe(0.5);
  const difference = scaleOf("share", Float64Array.from([-0.2, 0.1]), none);
  expect([difference.diverging, difference.tint(0)]).toEqual([true, 0.5]);
});

test("the state goes into the fragment and back", async () => {
  const f = await figures(2);
  const defaults = {
    cell: f.opening,
    example: 0,
    measure: "previous",
    theme: "auto",
    large: false,
    reason: null,
    section: null,
    arranged: {},
  } as const;
  const state = {
    ...({ cell: at(1, 0), example: 1, measure: "entropy", theme: "dark", large: true, reason: null } as const),
    ...{ section: "probes", arranged: { "probes.probes": { sort: "-uas", find: "uas>.5 a" } } },
  } as const;
  const fragment = writeFragment(state, defaults, f, "view.filter=ab");
  expect(fragment).toBe(
    "L5H0&example=1&measure=entropy&theme=dark&section=probes&sort.probes.probes=-uas&find.probes.probes=uas%3E.5+a&view.filter=ab",
  );
  expect({ reason: null, ...readFragment(fragment, f) }).toEqual(state);
  expect(writeFragment(defaults, defaults, await figures())).toBe("head=L3H1");
});

test("a fragment says why the head is open", async () => {
  const f = await figures(2);
  const whole = {
    says: "finds the antecedent & more",
    figure: "78 %",
    over: "on 12 pronouns",
    measure: "previous",
    example: 1,
    pin: { side: "to", place: 4 },
    label: "π = 1",
  } as const;
  const bare = { says: whole.says, figure: whole.figure };
  for (const reason of [whole, bare]) {
    const shown = { cell: at(1, 0), example: 1, measure: "previous", theme: "auto", large: false, reason } as const;
    const state = { ...shown, section: null, arranged: {} };
    const fragment = writeFragment(state, { ...state, reason: null }, f);
    expect(readFragment(fragment, f)).toEqual({ cell: state.cell, example: 1, reason });
    expect(readFragment(fragment.replace("L5H0", "L5H9"), f).reason, "of another report's head").toBeUndefined();
  }
  const of = (rest: string) => readFragment(`#head=L5H0&reason.says=a&${rest}`, f).reason;
  expect(of("reason.pin=to,4")).toBeUndefined();
  expect(of("reason.figure=1&reason.example=7&reason.pin=to,4&reason.label=b")).toEqual({ says: "a", figure: "1" });
  expect(of("reason.figure=1&reason.example=1&reason.pin=x")).toEqual({ says: "a", figure: "1", example: 1 });
});

test("a fragment that makes no sense is left out", async () => {
  expect(readFragment("#head=L9H9&example=7&measure=<b>&theme=pink&large=yes", await figures(2))).toEqual({});
  expect(readFragment("#head=%E0%A4%A&example=", await figures(2))).toEqual({});
});
