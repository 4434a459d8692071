// What each head does on this input, in a few words: a letter in the grid, and the count in its legend.

import type { PartInfo } from "../protocol";
import { type Look, looks } from "./letters";
import { Made } from "./made";
import { type Highlight, highlight } from "./opening";
import type { Scene } from "./scene";

/** A head does what it gives more than this share of its attention to, on average. */
const MOST = 0.5;
/** Of a picture a part that stands out by more than this is what a head looks at; a head links more words than these. */
const PART = 0.3;
const WORDS = 0.2;
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

/** What there is to look at, the more telling first: a head that does several things is said to do the first. */
function rules(part: PartInfo): Rule[] {
  const { pieces, special, boxes } = part.key;
  const first = special[0] ? pieces[0]! : null;
  const [letter, calls] = first === "[CLS]" ? (["[CLS]", first] as const) : (["first token", first] as const);
  const of = (measure: string): boolean => part.measures.some((each) => each.of === "input" && each.name === measure);
  const links = (known: string, name: string, has: (does: Highlight) => boolean): Rule => ({
    known,
    name,
    does: null,
    has: (_, does) => !!does && has(does),
  });
  return [
    ...(boxes
      ? [
          most("itself", "current", "the same place", "itself"),
          links("part", "one part of it", ({ score }) => score > PART),
        ]
      : [
          most("previous token", "previous", "the previous token"),
          most("next token", "next", "the next token"),
          most("itself", "current", "the token itself"),
          links("same word", "the same word elsewhere", ({ share, alike }) => share > WORDS && alike > 0.5),
          links("link", "a link between words", ({ share }) => share > WORDS),
        ]),
    most(
      letter,
      of("cls") ? "cls" : "first",
      `${calls ?? "the first token"}${isSink(part, 0) ? SINK : ""}`,
      calls ?? "first token",
    ),
    most("separators", "sep", `separators${part.key.sinks?.some((place) => place > 0) ? SINKS : ""}`, "separators"),
    {
      known: "broad",
      name: "broad",
      does: boxes ? "look everywhere alike" : "look at most tokens alike",
      has: (_, does) => !!does && does.evenness > BROAD,
    },
    { known: "other", name: "none of these", does: null, has: () => true },
  ];
}

const made = new WeakMap<PartInfo, Made<readonly Role[]>>();

/** The roles that heads have on the input, by its raw weights, while these are drawn; the measures must have been decoded. */
export function rolesOf({ part, data, state, owner }: Scene): readonly Role[] {
  if (state.quantity !== "weights" || owner.host.asks?.()) return [];
  const known = made.get(part) ?? new Made<readonly Role[]>();
  made.set(part, known);
  const there = part.measures.filter(({ of, values }) => of === "input" && data.array(values));
  return known.of([data, there.length], () => {
    if (!part.highlights) return [];
    let left = part.index.flatMap((layer, at) => part.heads[at]!.map((head) => ({ layer, head })));
    const found = rules(part).map((rule) => {
      const measure = there.find(({ name }) => name === rule.measure);
      const has = ({ layer, head }: (typeof left)[number]): boolean =>
        rule.has(measure ? data.figure(part, measure, layer, head) : NaN, highlight(part, layer, head));
      const heads = left.filter(has).map(({ layer, head }) => `L${layer}H${head}`);
      left = left.filter((one) => !has(one));
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

/** What a head does; nothing while its weights are not drawn. */
export const roleOf = (scene: Scene, layer: number, head: number): Role | undefined =>
  rolesOf(scene).find(({ heads }) => heads.includes(`L${layer}H${head}`));
