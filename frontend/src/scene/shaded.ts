// The text, shaded: each token by what it gets from a query, or gives a key, or on average receives.

import { name } from "./axis";
import { strength } from "./color";
import { received } from "./cut";
import { figure, percent } from "./format";
import { hidden, lookers, looks } from "./rows";
import type { Scene } from "./scene";

/** One text: the tokens of a side, and the share of each (NaN: not seen). */
export interface Text {
  readonly side: "from" | "to";
  readonly shares: Float64Array;
  /** The token whose attention it is; null for none in this text. */
  readonly chosen: number | null;
}

/** The texts of a scene: of self-attention one, else the queries above the keys. */
export function texts(scene: Scene): Text[] {
  const map = scene.shown().at(-1);
  if (!map) return [];
  const { from, to } = scene.focused;
  const blank = (side: "from" | "to", chosen: number | null): Text => ({
    side,
    shares: new Float64Array(side === "from" ? map.rows : map.columns).fill(NaN),
    chosen,
  });
  if (from === null && to !== null) {
    const rows: Text = { side: "from", shares: lookers(scene, map, to, hidden(scene)), chosen: null };
    return scene.part.kind === "cross"
      ? [rows, blank("to", to)]
      : [{ ...rows, chosen: scene.rows.of[scene.columns.items[to]!.start] ?? null }];
  }
  const shares = from === null ? Float64Array.from(received(map)) : looks(scene, map, from, hidden(scene));
  const keys: Text = { side: "to", shares, chosen: null };
  if (scene.part.kind === "cross") return [blank("from", from), keys];
  return [{ ...keys, chosen: from === null ? null : (scene.columns.of[scene.rows.items[from]!.start] ?? null) }];
}

/** How strong each shade is, in percent. A sink takes so much that nothing else would be seen: special tokens, and the
 * token itself, are left out of what the darkest is. */
export function shades(scene: Scene, text: Text): Float64Array {
  const { items } = scene.tokens(text.side);
  const most = items.reduce((found, item, at) => {
    const share = Math.abs(text.shares[at]!);
    return item.special || at === text.chosen || Number.isNaN(share) ? found : Math.max(found, share);
  }, 1e-9);
  return text.shares.map((share) => (Number.isNaN(share) ? 0 : 100 * strength(share, most)));
}

/** The colour of a share, as a name of the palette. */
export function tone(scene: Scene, share: number): "accent" | "plus" | "minus" {
  if (share < 0) return "minus";
  return scene.shown().at(-1)?.sign ? "plus" : "accent";
}

/** What the shades are, in a sentence, with the darkest. */
export function said(scene: Scene): string {
  const text = texts(scene).find(({ shares }) => shares.some((share) => !Number.isNaN(share)));
  const map = scene.shown().at(-1);
  if (!text || !map) return "";
  const { items } = scene.tokens(text.side);
  const places = items
    .map((_, at) => at)
    .filter((at) => !items[at]!.special && at !== text.chosen && !Number.isNaN(text.shares[at]!));
  const best = places.reduce(
    (found, at) => (Math.abs(text.shares[at]!) > Math.abs(text.shares[found] ?? 0) ? at : found),
    places[0] ?? 0,
  );
  const { from, to } = scene.focused;
  const what =
    from !== null
      ? `what “${name(scene.rows.items[from])}” looks at`
      : to !== null
        ? `how much each token looks at “${name(scene.columns.items[to])}”`
        : "what each token receives on average";
  const special = items.reduce((sum, item, at) => sum + (item.special ? Math.abs(text.shares[at]!) || 0 : 0), 0);
  const rest = from !== null && special > 0.005 && !map.sign ? `; ${percent(special)} is on special tokens` : "";
  return `Shaded by ${what}, darkest at “${name(items[best])}” (${figure(text.shares[best] ?? 0)})${rest}.`;
}
