// Gold links on the shown axes, and whether what is drawn looks where they say.

import type { LinkInfo, OutlineInfo, PartInfo } from "../protocol";
import { type Item, name, type Side } from "./axis";
import { type Shown, value } from "./cut";
import { Made } from "./made";

export interface Gold {
  readonly label: string;
  /** "from": the source is rows, its targets columns; "to": the source is columns, its targets rows. */
  readonly side: LinkInfo["side"];
  readonly source: readonly number[];
  readonly targets: readonly (readonly number[])[];
  /** The candidates that a head chooses among. */
  readonly groups: readonly (readonly number[])[];
  /** Around its regions of the picture. */
  readonly outlines?: readonly OutlineInfo[];
}

/** Whether the most-attended candidate is a target, and its places; null where no candidate gets anything. */
interface Verdict {
  readonly right: boolean;
  readonly chosen: readonly number[] | null;
}

/** A link with what each open head makes of it; it is right where one of them is. */
export interface Judged {
  readonly gold: Gold;
  readonly verdicts: readonly Verdict[];
  readonly right: boolean;
}

const shown = (pieces: readonly number[], side: Side): number[] =>
  [...new Set(pieces.map((piece) => side.of[piece] ?? -1))].filter((place) => place >= 0);

// Each token of an axis, or the pieces of each word; special ones are none.
function units({ pieces, special, words }: PartInfo["query"], unit: LinkInfo["units"]): number[][] {
  if (unit === "tokens") return pieces.map((_, place) => [place]);
  const groups = new Map<number, number[]>();
  pieces.forEach((_, place) => {
    if (special[place]) return;
    const group = words?.group[place] ?? place;
    groups.set(group, [...(groups.get(group) ?? []), place]);
  });
  return [...groups.values()];
}

/** Pieces that are one candidate, and their shown places. */
interface Group {
  readonly pieces: readonly number[];
  readonly places: readonly number[];
}

// Several that are shown as one, such as pieces of a word, are one.
function grouped(groups: readonly (readonly number[])[], side: Side): Group[] {
  const found = new Map<string, Group>();
  for (const pieces of groups) {
    const places = shown(pieces, side);
    const before = found.get(places.join());
    if (places.length > 0) found.set(places.join(), { pieces: [...(before?.pieces ?? []), ...pieces], places });
  }
  return [...found.values()];
}

/** A part's links on the axes as they are shown; without those whose source is hidden, or all targets. */
export function placed(part: PartInfo, rows: Side, columns: Side): Gold[] {
  // What most links choose among is the same: every shown token or word.
  const known = new Made<readonly Group[]>(Infinity);
  const every = ({ side, units: unit }: LinkInfo): readonly Group[] => {
    const [axis, other] = side === "from" ? [part.key, columns] : [part.query, rows];
    return known.of([side, unit], () => grouped(units(axis, unit), other));
  };
  return (part.links ?? []).flatMap((link) => {
    const query = link.side === "from";
    const [own, other] = query ? [rows, columns] : [columns, rows];
    const source = shown(link.source, own);
    const targets = link.targets.map((each) => shown(each, other)).filter((each) => each.length > 0);
    if (source.length === 0 || (link.targets.length > 0 && targets.length === 0)) return [];
    const taken = new Set(part.kind === "cross" ? [] : link.source);
    const among = link.candidates ? grouped(link.candidates, other) : every(link);
    const groups = among.filter(({ pieces }) => !pieces.some((piece) => taken.has(piece))).map(({ places }) => places);
    return [
      {
        label: link.label,
        side: link.side,
        source,
        targets,
        groups,
        ...(link.outlines && { outlines: link.outlines }),
      },
    ];
  });
}

/** What a map makes of a link: from a source of several tokens the mean, to a candidate of several the sum. */
export function verdict({ side, source, targets, groups }: Gold, map: Shown): Verdict {
  const query = side === "from";
  const [step, stride] = query ? [1, map.columns] : [map.columns, 1];
  const sums = new Float64Array(query ? map.columns : map.rows);
  for (const one of source)
    for (let other = 0; other < sums.length; other++) sums[other]! += Math.abs(value(map, one * stride + other * step));
  let best = 0;
  let chosen: readonly number[] | null = null;
  for (const group of groups) {
    let found = 0;
    for (const place of group) found += sums[place]!;
    if (!query) found /= group.length;
    if (found > best) [best, chosen] = [found, group];
  }
  return {
    right: chosen !== null && targets.some((target) => target.some((place) => chosen!.includes(place))),
    chosen,
  };
}

/** What several maps make of a link. */
export const judge = (gold: Gold, maps: readonly Shown[]): Judged =>
  judgement(
    gold,
    maps.map((map) => verdict(gold, map)),
  );

/** A link by the last of its maps alone: that of the open head. */
export const ofOpen = ({ gold, verdicts }: Judged): Judged => judgement(gold, verdicts.slice(-1));

const judgement = (gold: Gold, verdicts: readonly Verdict[]): Judged => ({
  gold,
  verdicts,
  right: verdicts.some((each) => each.right),
});

/** The rows and the columns that a link joins. */
export const ends = ({ side, source, targets }: Gold): { rows: readonly number[]; columns: readonly number[] } =>
  side === "from" ? { rows: source, columns: targets.flat() } : { rows: targets.flat(), columns: source };

/** Whether a link has to do with what is pointed at: with its token, or its pair. */
export function concerns(
  gold: Gold,
  focus: { readonly from: number | null; readonly to: number | null } | null,
): boolean {
  const { rows, columns } = ends(gold);
  return (focus?.from == null || rows.includes(focus.from)) && (focus?.to == null || columns.includes(focus.to));
}

/** The wrong choices of a link: what its heads look at instead. */
export const instead = ({ verdicts, right }: Judged): readonly (readonly number[])[] => {
  if (right) return [];
  return [...new Map(verdicts.flatMap(({ chosen }) => (chosen ? [[chosen.join(), chosen] as const] : []))).values()];
};

/** Patches of a region that are named. */
const NAMED = 2;

/** A link in words: its label, its ends, and what is looked at instead. */
export function inWords(
  rows: readonly Item[],
  columns: readonly Item[],
  link: Judged,
): { readonly label: string; readonly pair: string; readonly verdict: string } {
  const { gold, verdicts, right } = link;
  const [own, other] = gold.side === "from" ? [rows, columns] : [columns, rows];
  const area = gold.outlines ? NAMED : Infinity; // a region is so many patches
  const text = (items: typeof own, places: readonly number[]): string =>
    places.length > area ? `${places.length} patches` : places.map((place) => name(items[place])).join(" ");
  const targets = gold.targets.map((each) => text(other, each)).join(" or ");
  const hits = verdicts.filter((each) => each.right).length;
  const chosen = instead(link)
    .map((each) => text(other, each))
    .join(", ");
  const wrong = chosen
    ? gold.side === "from"
      ? `looks at ${chosen}`
      : `${chosen} looks at it`
    : "looks at no candidate";
  const of = verdicts.length > 1 && right ? `right in ${hits} of ${verdicts.length} heads` : right ? "right" : wrong;
  return { label: gold.label, pair: `${text(own, gold.source)} → ${targets || "no target"}`, verdict: of };
}

/** Neighbours as stretches: first and the one after the last. */
export function runs(places: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  for (const place of [...places].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last && last[1] === place) last[1]++;
    else found.push([place, place + 1]);
  }
  return found;
}
