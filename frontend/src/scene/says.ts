// What is said of a picture, on the screen as in a still: its heading, what its colours mean, how it was made.

import { name } from "./axis";
import { bare, brief, percent, plural } from "./format";
import { ofOpen, runs } from "./gold";
import { nameOf } from "./inputs";
import { inWords, nameOf as matrixName, shares } from "./quantities";
import type { Scene } from "./scene";

/** The inputs of a scene by their names, "A − B" of a difference. */
export const differenceOf = (scene: Scene): string =>
  [scene, ...(scene.against ? [scene.against] : [])].map((each) => nameOf(each.input)).join(" − ");

/** What is open, such as "Layer 3, heads 1 and 2". */
export function heading(scene: Scene): string {
  const { aggregate, layer, scale } = scene.state;
  if (scale === "model") return "Heads";
  if (scale === "neuron") return `Layer ${layer}, head ${scene.head}, neuron by neuron`;
  const heads = alone(scene) ? 1 : scene.heads.length;
  const all = aggregate === "layers";
  const count = heads > 1 ? `${heads} heads` : `head ${scene.head}`;
  const how = !scene.aggregated ? "" : all ? ", mean of all layers" : aggregate === "max" ? ", max" : ", mean";
  const where = all ? count[0]!.toUpperCase() + count.slice(1) : `Layer ${layer}, ${count}`;
  return `${where}${how}`;
}

/** Of several open heads a matrix shows the last. */
const alone = ({ many, state }: Scene): boolean => many && state.scale === "head" && state.picture === "matrix";

/** Heads by their numbers: "0–3, 7". */
const numbers = (heads: readonly number[]): string =>
  runs(heads)
    .map(([first, end]) => (end === first + 1 ? `${first}` : `${first}–${end - 1}`))
    .join(", ");

/** Beside figures that rounded weights have changed. */
export const ROUNDED = "rounded weights";

const SIGNED_TICKS = [-1, 0, 1];
const TICKS = [0, 0.05, 0.25, 0.5, 1];

/** What the colours of a scene mean: of what they are, whether they have a sign, and figures along them (0 to 1). */
interface Legend {
  readonly of: string;
  readonly signed: boolean;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
}

export function legend(scene: Scene): Legend {
  const { scale: most, signed, of: what } = scene.quantity;
  const matrix = matrixName(scene.state.quantity);
  const of = scene.against ? `difference of ${matrix}s` : what ? `${matrix} of ${what}` : matrix;
  const at = (x: number): number => (signed ? 0.5 + (Math.sign(x) * Math.sqrt(Math.abs(x))) / 2 : Math.sqrt(x));
  const ticks = signed ? SIGNED_TICKS : most === 1 ? TICKS : [0, 0.25, 1];
  return { of, signed, ticks: ticks.map((x) => ({ at: at(x), text: bare(brief(x * most, 2)) })) };
}

/** That queries are blocks of patches, where they are. */
export function blocks({ query }: Scene["part"]): string {
  const side = Math.round(Math.sqrt(Math.max(1, ...(query.counts ?? []))));
  return side > 1 ? `queries are blocks of ${side} × ${side} patches, each the mean of its patches` : "";
}

/** What the two colours of numbers with a sign mean. */
export const signsSaid = ({ quantity: { of }, against }: Scene): string =>
  of && !against ? `blue raises ${of}, orange lowers it` : "blue positive, orange negative";

/** What is shown of some scenes, and what was done to their numbers, in parts of a line. */
export function treated(scenes: readonly Scene[]): string[] {
  const one = scenes[0]!;
  const { state, part } = one;
  const sizes = scenes.map(({ rows, columns }) => {
    const [from, to] = [rows.items.length, columns.items.length];
    return from === to ? String(from) : `${from} × ${to}`;
  });
  const words = state.unit === "words" && state.scale !== "neuron";
  const sinks = !state.sinks && part.key.sinks !== undefined && state.scale !== "neuron";
  const left = state.scale === "head" && scenes.length === 1 ? one.leftOut : null;
  const hides = state.filter !== "all" || !state.special || sinks;
  const weights = state.renormalise
    ? "rows renormalised over what is shown"
    : `${shares(part) || "raw weights"}${hides ? ": what is hidden keeps its share" : ""}`;
  const said = [
    `${[...new Set(sizes)].join(" and ")} ${words ? "words" : "tokens"}`,
    blocks(part),
    one.against && "the first input minus the second, token by token; tokens of the first",
    words && "to a word the sum over its pieces, from it their mean",
    (one.rows.folded || one.columns.folded) && "a picture as one: to it the sum over its tokens, from it their mean",
    state.filter !== "all" && `${state.filter[0]!.toUpperCase()} looks at ${state.filter[1]!.toUpperCase()}`,
    !state.special && "special tokens hidden",
    sinks && `sinks left out as keys${left === null ? "" : `, ${percent(left)} of ${one.name()}'s weight`}`,
    state.quantity === "weights" ? weights : inWords(part, state.quantity),
    !one.data.payload.exact &&
      state.quantity === "weights" &&
      `values to ±0.004${state.renormalise ? " before that" : ""}`,
  ];
  return said.filter((each) => typeof each === "string" && each !== "") as string[];
}

/** How the pictures of some scenes were made: the model, the inputs, and what was done to their numbers. */
export function made(scenes: readonly Scene[]): string {
  const one = scenes[0]!;
  const words = [
    `${one.data.payload.model}: ${scenes.map(differenceOf).join("; ")}`,
    one.state.scale === "head" && one.heads.length > 1 && !alone(one) && `heads ${numbers(one.heads)}`,
    one.part.name !== "self" && one.part.name,
    ...treated(scenes),
    ...new Set(scenes.map(({ input }) => input.unseen)),
  ];
  return words.filter(Boolean).join(" · ");
}

/** Parts of a caption as a sentence; empty for none. */
export function sentence(parts: readonly (string | false | null)[]): string {
  const said = parts.filter(Boolean).join(" · ");
  return said && `${said[0]!.toUpperCase()}${said.slice(1)}.`;
}

/** The chosen tokens, "from “cat”"; of two "from “cat” to “sat”"; nothing where none is. */
export function pinnedSaid({ pinned, rows, columns }: Scene): string {
  const said = [
    pinned?.from != null && `from “${name(rows.items[pinned.from])}”`,
    pinned?.to != null && `to “${name(columns.items[pinned.to])}”`,
  ];
  return said.filter(Boolean).join(" ");
}

/** An entry of the legend of gold links: a text, and how what it is about is drawn. */
export interface GoldSays {
  readonly swatch: "right" | "wrong" | "instead" | null;
  readonly text: string;
}

/** How many gold links what is open gets right; nothing where none are drawn. */
export function goldSays(scene: Scene): GoldSays[] {
  if (scene.state.scale === "head" && scene.state.picture === "text") return [];
  const links = alone(scene) ? scene.judged().map(ofOpen) : scene.judged();
  if (links.length === 0) return [];
  const right = links.filter((link) => link.right).length;
  const wrong = links.length - right;
  const said: GoldSays[] = [{ swatch: null, text: plural(links.length, "gold link") }];
  if (right > 0)
    said.push({ swatch: "right", text: `${right} right${scene.many && !alone(scene) ? " in a head" : ""}` });
  if (wrong > 0) said.push({ swatch: "wrong", text: `${wrong} wrong` }, { swatch: "instead", text: "chosen instead" });
  return said;
}
