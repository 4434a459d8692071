// The sentence of an input: what the open head and most heads do, or the heads by the token that is pointed at; in plain
// words with their figures.

import { type Box, mediaOf, mediumAt, nounOf } from "./areas";
import { sinkNames } from "./axis";
import { received, type Shown, value } from "./cut";
import { figure, fixed, percent, plural, whole } from "./format";
import { namesOf } from "./inputs";
import { type Highlight, highlight, shows } from "./opening";
import { ranking } from "./pointed";
import { isSink, type Role, roleOf, rolesOf, SINK } from "./roles";
import type { Scene } from "./scene";
import { type Word, wordOf } from "./words";

/**
 * A stretch of a sentence: words, the name of the open head, a token as it is shown, or the name of a head, which opens
 * it.
 */
export type Part =
  | string
  | { readonly named: string }
  | { readonly token: string; readonly side: "from" | "to"; readonly start: number }
  | { readonly head: readonly [layer: number, head: number] };

export const plain = (parts: readonly Part[]): string => parts.map(inText).join("");

function inText(part: Part): string {
  if (typeof part === "string") return part;
  if ("named" in part) return part.named;
  return "token" in part ? `“${part.token}”` : `L${part.head.join("H")}`;
}

/** Heads that are named. */
const NAMED = 6;

/** The heads by what is pointed at: "Most from it: L3H1 68% to animal, …", or between two tokens; nothing where none is. */
export function pointed(scene: Scene): Part[] {
  const focus = scene.pointed;
  if (!focus || scene.state.scale === "neuron") return [];
  const { part, rows, columns, against, state } = scene;
  const item = (side: "from" | "to", place: number): Part => {
    const found = (side === "from" ? rows : columns).items[place]!;
    return { token: found.text, side, start: found.start };
  };
  const { from, to } = focus;
  const both = from !== null && to !== null;
  const asked: Part[] = [
    both ? "" : "Most ",
    ...(from === null ? [] : [both ? "From " : "from ", item("from", from)]),
    ...(to === null ? [] : [both ? " to " : "to ", item("to", to)]),
    ": ",
  ];
  const found = ranking(scene, focus);
  const plainly = state.quantity === "weights" && !against;
  const amount = (value: number): string =>
    plainly ? percent(value) : `${value < 0 ? "−" : against ? "+" : ""}${figure(Math.abs(value))}`;
  const named = found
    .slice(0, NAMED)
    .flatMap(({ layer, head, value, place }, at): Part[] => [
      ...(at > 0 ? [", "] : []),
      { head: [layer, head] },
      ` ${amount(value)}`,
      ...(place === null ? [] : from !== null ? [" to ", item("to", place)] : [" from ", item("from", place)]),
    ]);
  const all = part.heads.flat().length;
  const rest = found.length < all ? `; ${found.length} of ${all} heads are read` : "";
  return [...asked, ...named, rest, ...(to === null && from !== null ? chosenBy(scene, from) : [])].filter(Boolean);
}

/** Which row chose a token that the model wrote: that of the token before it. */
function chosenBy({ rows, part }: Scene, place: number): Part[] {
  const [before, here] = [rows.items[place - 1], rows.items[place]!];
  if (part.kind === "cross" || !here.written || before?.end !== here.start) return [];
  return [
    ". ",
    { token: here.text, side: "from", start: here.start },
    " was chosen by the row of ",
    { token: before.text, side: "from", start: before.start },
    ", the token before it",
  ];
}

/** The sentence; nothing where what is drawn is not one head's weights. */
export function answer(scene: Scene): Part[] {
  const { state, part, owner } = scene;
  if (owner.host.asks?.()) return [];
  if (state.quantity !== "weights" && state.scale !== "neuron") return slopes(scene);
  const one = state.scale === "neuron" || !(scene.many || scene.aggregated);
  const does = one ? highlight(part, state.layer, scene.head) : null;
  const own = does ? ofHead(scene, does) : [];
  const head: Part = state.scale === "model" ? { head: [state.layer, scene.head] } : { named: scene.name() };
  const told = does && own.length > 0 ? [head, " ", ...own] : [];
  // Of two inputs what moves is enough.
  const most =
    scene.against || own[0] === OFF || (told.length > 0 && moves(does)) ? null : ofMost(scene, told.length === 0);
  if (most && told.length === 0) told.push(`${most.count} ${most.role.does}`);
  else if (most)
    told.push(
      !lacksSinks(scene) && most.role === roleSaid(scene, does!)
        ? `, as ${most.count} do`
        : `; ${most.count} ${most.role.does}`,
    );
  return part.highlights && told.length > 0 ? [...told.filter(Boolean), "."] : [];
}

/** Of a gradient the pairs of the open head whose weight raises most what it is of, and lowers it most. */
function slopes(scene: Scene): Part[] {
  const { part, state, rows, columns, head, many, aggregated, against, data } = scene;
  const { of, measures = [] } = scene.quantity;
  const map = of && !many && !aggregated && !against ? scene.map(state.layer, head) : null;
  const ends = ([1, -1] as const).flatMap((sign, which): Part[] => {
    if (!map?.sign) return [];
    let best = -1;
    map.codes.forEach((code, at) => {
      if (code > 0 && map.sign![at] === sign && code > (map.codes[best] ?? 0)) best = at;
    });
    const [row, column] = [rows.items[Math.floor(best / map.columns)], columns.items[best % map.columns]];
    if (best < 0 || !row || !column) return [];
    // A byte of the map is a little off.
    const most = measures[which] ? sign * data.figure(part, measures[which], state.layer, head) : value(map, best);
    const at = (side: "from" | "to", { text, start }: typeof row): Part => ({ token: text, side, start });
    const does = `${sign > 0 ? ` raises ${of}` : " lowers it"} (${figure(most, 2)})`;
    return [sign > 0 ? ", more weight from " : ", from ", at("from", row), " to ", at("to", column), does];
  });
  return ends.length > 0 ? ["In ", { named: scene.name() }, ...ends, "."] : [];
}

/** What most heads do, and how many: "41 of 72 heads"; what all do is no news beside what one does. */
function ofMost(scene: Scene, every: boolean): { role: Role; count: string } | null {
  const all = scene.part.heads.flat().length;
  const [role] = rolesOf(scene)
    .filter(({ does, heads }) => does && heads.length > 1 && (every || heads.length < all))
    .sort((a, b) => b.heads.length - a.heads.length);
  if (!role) return null;
  const { length } = role.heads;
  return { role, count: `${length === all ? "all" : `${whole(length)} of`} ${plural(all, "head")}` };
}

const moves = (does: Highlight | null): boolean => (does?.moved ?? -1) >= 0;

/** What the open head does, without its name. */
function ofHead(scene: Scene, does: Highlight): Part[] {
  const before = moves(does) ? moved(scene, does.moved!) : [];
  if (lacksSinks(scene)) return without(scene, scene.leftOut!);
  if (scene.against || scene.state.renormalise) return before;
  const here = looks(scene, does);
  return before.length > 0 && here[0] !== OFF ? [...before, ...(here.length > 0 ? ["; here it ", ...here] : [])] : here;
}

function moved({ part, owner, data }: Scene, share: number): Part[] {
  const [a, b] = namesOf(data.payload.inputs, owner.host.letters);
  const most = share >= Math.max(...part.highlights!.moved!) && part.heads.flat().length > 1;
  const where = data.payload.inputs.length === 2 ? ` between ${a} and ${b}` : "";
  return [`changes ${percent(share)} of its attention${where}${most ? ", more than any other head" : ""}`];
}

/** What stands out says more than where a head looks mostly, unless that is a place beside each token. */
function tells({ part, state }: Scene, does: Highlight): boolean {
  // To a word the weight is another than to one of its pieces.
  const apart = part.key.boxes !== undefined || state.unit === "pieces";
  return apart && shows({ ...does, moved: null }) > 1;
}

/** The role that the open head is said to have; null where something else is said of it. */
function roleSaid(scene: Scene, does: Highlight): Role | null {
  const role = tells(scene, does) ? null : roleOf(scene, scene.state.layer, scene.head);
  return role?.does ? role : null;
}

function looks(scene: Scene, does: Highlight): Part[] {
  const { part, state, head, data } = scene;
  const role = roleSaid(scene, does);
  if (role) {
    const measure = part.measures.find((each) => each.of === "input" && each.name === role.measure);
    const share = measure && `, ${percent(data.figure(part, measure, state.layer, head))} on average`;
    return [third(role.does!), share ?? ""];
  }
  if (part.key.boxes) return area(scene, does);
  return tells(scene, does) ? link(scene, does) : most(scene);
}

/** Whether rows are shown without the sinks, and what is left of them sums to 1. */
const lacksSinks = (scene: Scene): boolean => scene.state.renormalise && scene.leftOut !== null;

/** What is left to a head whose sinks are hidden. */
function without(scene: Scene, share: number): Part[] {
  const { part, state, head, columns } = scene;
  const map = scene.map(state.layer, head, "weights");
  if (!map || columns.items.length === 0) return [];
  const names = sinkNames(part.key);
  return [
    `gives ${percent(share)} to the hidden ${names.length > 1 ? "sinks" : "sink"} (${names.join(", ")}), and of the rest the most to `,
    favourite(scene, map),
  ];
}

/** The key that gets the most from all queries, and how much. */
function favourite({ columns }: Scene, map: Shown) {
  const shares = received(map);
  const best = shares.indexOf(Math.max(...shares));
  const { text, start } = columns.items[best]!;
  return { token: text, side: "to", start, share: shares[best]! } as const;
}

const OFF = "is switched off: its weights are 0";

/** Which of the other heads looks elsewhere most, while one is switched off. */
function mostMoved({ part }: Scene): Part[] {
  const { moved = [] } = part.highlights ?? {};
  const best = moved.indexOf(Math.max(...moved));
  const heads = part.index.flatMap((layer, at) => part.heads[at]!.map((head) => [layer, head] as const));
  return moved[best]! > 0
    ? ["; ", { head: heads[best]! }, ` changes most, ${percent(moved[best]!)} of its attention`]
    : [];
}

function most(scene: Scene): Part[] {
  const { state, head } = scene;
  const map = scene.map(state.layer, head, "weights");
  if (!map) return [];
  if (map.codes.every((code) => code === 0)) return [OFF, ...mostMoved(scene)];
  const { share, ...key } = favourite(scene, map);
  const named = `${isSink(scene.part, key.start) ? SINK : ""}, ${percent(share)} on average`;
  return ["gives the most to ", key, named];
}

/** One head looks where several look. */
const third = (does: string): string => does.replace(/^look\b/, "looks");

function link({ part }: Scene, does: Highlight): Part[] {
  const [query, key] = [wordOf(part.query, does.query), wordOf(part.key, does.key)];
  const own = part.kind !== "cross";
  const same = query.bare === key.bare;
  const other = same && own && key.copies === 2;
  const before = own && does.key > 0 && does.key <= does.query ? wordOf(part.key, does.key - 1).bare : null;
  return [
    "looks from ",
    ...quoted("from", query, other),
    ` to ${other ? "the other " : same ? "another " : ""}`,
    ...quoted("to", key, other),
    `${!same && before === query.bare ? ", which came after the same word before" : ""}, ${percent(does.weight)}`,
  ];
}

/** A word, and its place where several are written alike. */
const quoted = (side: "from" | "to", { text, start, copies, place }: Word, known: boolean): Part[] => [
  { token: text, side, start },
  copies > 1 && !known ? ` (word ${place})` : "",
];

const ROWS = ["top", "middle", "bottom"];
const COLUMNS = ["left", "centre", "right"];

/** The part of a medium that a head looks at most above even attention, or the medium, of those that keys are on. */
function area({ input: { picture, sound }, part }: Scene, does: Highlight): Part[] {
  const share = `${percent(does.weight)} of its attention`;
  const on = (part.key.boxes ?? []).map((box) => picture && box && mediumAt(picture, box as readonly number[] as Box));
  const media = picture ? mediaOf(picture).filter((medium) => on.includes(medium)) : [];
  if (media[1]) return [`gives ${media[does.key]?.name} ${share}`];
  const of = (picture?.media?.[1] && media[0]?.name) || nounOf(picture);
  const kind = media[0]?.kind ?? (sound ? "sound" : "picture");
  if (kind === "picture") {
    const [row, column] = [ROWS[Math.floor(does.key / 3)]!, COLUMNS[does.key % 3]!];
    const where = row === "middle" && column === "centre" ? "centre" : `${row} ${column}`;
    return [`gives the ${where} of ${of} ${share}`];
  }
  if (kind !== "sound" || !sound)
    return [`gives what lies from ${10 * does.key} to ${10 * does.key + 10}% of ${of} ${share}`];
  const tenth = sound.heard / 10;
  const second = (at: number): string => fixed(at * tenth, 1);
  return [`gives what sounds from ${second(does.key)} to ${second(does.key + 1)} s ${share}`];
}
