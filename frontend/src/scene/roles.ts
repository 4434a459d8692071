// What each head does on this input, in a few words: a letter in the grid, and the count in its legend.

import type { PartInfo } from "../protocol";
import { type Look, looks } from "./letters";
import { Made } from "./made";
import { type Highlight, highlight } from "./opening";
import type { Scene } from "./scene";

/** A head does what it gives more than this share of its attention to, on average. */
const MOST = 0.5;
/** A link that stands out by more than this is what a head does. */
const LINKED = 0.3;
/** A head is broad that is as spread out as even attention to this part of the visible tokens. */
const BROAD = 2 / 3;

export interface Role {
  /** In the legend. */
  readonly name: string;
  readonly look: Look;
  /** What its heads do: "look mostly at [CLS]". Links are of a head each, and have no such words. */
  readonly does: string | null;
  /** `L3H1` of each. */
  readonly heads: readonly string[];
  /** The measure whose figure says it. */
  readonly measure?: string;
}

/** What is said of a key that takes much of all heads' attention. */
export const SINK = " (a sink)";
const SINKS = " (sinks)";

export const isSink = ({ key }: PartInfo, place: number): boolean => key.sinks?.includes(place) ?? false;

interface Rule extends Pick<Role, "name" | "does" | "measure"> {
  /** As `letters` knows it. */
  readonly known: string;
  has(share: number, does: Highlight | null): boolean;
}

const most = (known: string, measure: string, at: string, name = known): Rule => ({
  known,
  name,
  measure,
  does: `look mostly at ${at}`,
  has: (share) => share > MOST,
});

/** What there is to look at, the more telling first: a head that does several things has the letter of the first. */
function rules(part: PartInfo): Rule[] {
  const { pieces, special, boxes } = part.key;
  const first = special[0] ? pieces[0]! : null;
  const [letter, calls] = first === "[CLS]" ? (["[CLS]", first] as const) : (["first token", first] as const);
  const of = (measure: string): boolean => part.measures.some((each) => each.of === "input" && each.name === measure);
  const links = (known: string, name: string, same: boolean | null): Rule => ({
    known,
    name,
    does: null,
    has: (_, does) => !!does && does.score > LINKED && (same === null || alike(part, does) === same),
  });
  return [
    ...(boxes
      ? [most("itself", "current", "the same place", "itself"), links("part", "one part of it", null)]
      : [
          most("previous token", "previous", "the previous token"),
          most("next token", "next", "the next token"),
          most("itself", "current", "the token itself"),
          links("same word", "the same word elsewhere", true),
          links("link", "a link between words", false),
        ]),
    {
      known: "broad",
      name: "broad",
      does: boxes ? "look everywhere alike" : "look at most tokens alike",
      has: (_, does) => !!does && does.evenness > BROAD,
    },
    most(
      letter,
      of("cls") ? "cls" : "first",
      `${calls ?? "the first token"}${isSink(part, 0) ? SINK : ""}`,
      calls ?? "first token",
    ),
    most("separators", "sep", `separators${part.key.sinks?.some((place) => place > 0) ? SINKS : ""}`, "separators"),
  ];
}

const bare = (raw: string | undefined): string => (raw ?? "").replace(/^(?:##|[▁Ġ]+)/, "").toLowerCase();

/** Whether a link leads to the same word elsewhere. */
export const alike = ({ query, key }: PartInfo, does: Highlight): boolean =>
  does.query >= 0 && bare(query.pieces[does.query]) === bare(key.pieces[does.key]);

/** Whether a link leads to what came after the same word before. */
export const follows = ({ query, key, kind }: PartInfo, does: Highlight): boolean =>
  kind !== "cross" &&
  does.key > 0 &&
  does.key <= does.query &&
  bare(query.pieces[does.query]) === bare(key.pieces[does.key - 1]);

const made = new WeakMap<PartInfo, Made<readonly Role[]>>();

/** The roles that heads have on the input, by its raw weights, while these are drawn; the measures must have been decoded. */
export function rolesOf({ part, data, state }: Scene): readonly Role[] {
  if (state.quantity !== "weights") return [];
  const known = made.get(part) ?? new Made<readonly Role[]>();
  made.set(part, known);
  const there = part.measures.filter(({ of, values }) => of === "input" && data.array(values));
  return known.of([data, there.length], () => {
    if (!part.highlights) return [];
    const found = rules(part).map((rule) => {
      const measure = there.find(({ name }) => name === rule.measure);
      const heads = part.index.flatMap((layer, at) =>
        part.heads[at]!.filter((head) =>
          rule.has(measure ? data.figure(part, measure, layer, head) : NaN, highlight(part, layer, head)),
        ).map((head) => `L${layer}H${head}`),
      );
      return { ...rule, heads };
    });
    const kept = found.filter(({ heads }) => heads.length > 0);
    const look = looks(kept.map(({ known }) => known));
    return kept.map(({ name, does, heads, measure }, at) => ({
      name,
      does,
      heads,
      look: look[at]!,
      ...(measure && { measure }),
    }));
  });
}

/** What a head does, the most telling first; none for one that does nothing of the kind. */
export const rolesOfHead = (scene: Scene, layer: number, head: number): readonly Role[] =>
  rolesOf(scene).filter(({ heads }) => heads.includes(`L${layer}H${head}`));
