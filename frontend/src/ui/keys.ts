// The keys of an explorer, and the dialog that lists them.

import { clamp } from "../scene/format";
import type { Full } from "../scene/state";
import { h } from "./dom";
import type { HeadBar } from "./headbar";
import type { Matrix } from "./matrix";
import type { HeadSound } from "./sound";

const SCALES = ["model", "head", "neuron"] as const;

const KEYS = [
  ["← → ↑ ↓", "the head beside it in the grid"],
  ["Enter", "one scale closer"],
  ["Esc", "let go of the second token, of the first, then one scale out"],
  ["1 2 3", "model, head, neurons"],
  ["a", "all heads, or only this one"],
  ["s", "special tokens on or off"],
  ["w", "words or pieces"],
  ["g", "gold links on or off"],
  ["u", "pictures within a text as one, or their patches"],
  ["m", "lines, or the picture, or matrix"],
  ["+ − 0", "zoom the matrix, or the sound"],
  ["space", "play the sound, or pause"],
  ["/", "find a token; Enter pins the next"],
  ["Tab", "to the tokens: ↑ ↓ move, ← → other side, Enter pins one, or one on each side"],
  ["?", "this list"],
] as const;

const TERMS = [
  [
    "head",
    "one of a layer's parallel attentions: from every token to every token. L2H4 is layer 2, head 4, counted from 0",
  ],
  ["query, key", "the token that looks (from), and the one that is looked at (to). Each has a vector, q and k"],
  [
    "weight",
    "the share of its attention that a query gives a key: softmax(q · k / √d), so that the weights of a row sum to 1",
  ],
  ["1/n", "the even share: the weight of a query that looks at all n keys alike"],
  ["entropy", "how spread out a row is, in nats: 0 on one key, ln n on all n alike"],
  ["sink", "a key that takes much of all heads' attention and seems to mean none of it: [CLS], [SEP], the first token"],
  [
    "piece, word",
    "what the tokenizer makes of a text; a word can be several pieces. [UNK] stands for text that it does not know",
  ],
  ["special token", "a token that the tokenizer adds: [CLS], [SEP], <s>"],
  ["gradient", "how a number of the output changes as a weight rises"],
  ["‖αvWₒ‖", "how long the vector is that a key adds to a query: weight × value × output matrix"],
  ["renormalise", "let the shown weights of a row sum to 1 again after some were hidden"],
  [
    "gold link",
    "a link that was annotated, such as a pronoun's antecedent: ✓ where the head's largest weight is on it",
  ],
] as const;

export function keysDialog(): HTMLDialogElement {
  const list = KEYS.flatMap(([keys, text]) => [h("dt", ...keys.split(" ").map((key) => h("kbd", key))), h("dd", text)]);
  const terms = TERMS.flatMap(([term, text]) => [h("dt", term), h("dd", text)]);
  const column = (name: string, rows: readonly HTMLElement[]): HTMLElement =>
    h("div", h("span.cap", name), h("dl", ...rows));
  const dialog = h(
    "dialog",
    { "aria-label": "Keys and terms" },
    h("div.helpcolumns", column("Keys", list), column("Terms", terms)),
    h("button.link", { onclick: () => dialog.close() }, "Close"),
  );
  return dialog;
}

/** What the keys act on. */
interface Keyed {
  readonly state: Full;
  readonly headbar: Pick<HeadBar, "move" | "toggleAll">;
  /** Layers run across the grid, and heads down. */
  readonly turned?: boolean;
  /** The matrix that is drawn large, where there is one. */
  readonly matrix: Pick<Matrix, "step"> | undefined;
  /** The sound that can be heard. */
  readonly sound: Pick<HeadSound, "toggle"> | null | undefined;
  /** Pictures within a text are folded, or unfolded. */
  fold(): void;
  set(change: Partial<Full>): void;
  search(): void;
  help(): void;
}

/** What a key does; null where it does nothing. */
export function action(
  key: string,
  { state, headbar, turned = false, matrix, sound, fold, set, search, help }: Keyed,
): (() => void) | null {
  const at = SCALES.indexOf(state.scale);
  const to = (place: number) => (): void => set({ scale: SCALES[clamp(place, 0, 2)]! });
  const step = (down: number, across: number): void =>
    turned ? headbar.move(across, down) : headbar.move(down, across);
  const actions: Record<string, () => void> = {
    ArrowLeft: () => step(0, -1),
    ArrowRight: () => step(0, 1),
    ArrowUp: () => step(-1, 0),
    ArrowDown: () => step(1, 0),
    Enter: to(at + 1),
    Escape: () =>
      state.between
        ? set({ between: null })
        : state.pin
          ? set({ pin: null })
          : state.zoom
            ? set({ zoom: null })
            : to(at - 1)(),
    1: to(0),
    2: to(1),
    3: to(2),
    a: () => headbar.toggleAll(),
    s: () => set({ special: !state.special }),
    w: () => set({ unit: state.unit === "words" ? "pieces" : "words" }),
    g: () => set({ gold: !state.gold }),
    // Back from the matrix to the picture; where tokens are on none, that is lines.
    m: () => set({ picture: state.picture === "matrix" ? "image" : "matrix" }),
    u: fold,
    "/": search,
    "?": help,
    ...(matrix
      ? {
          "+": () => matrix.step(1 / 1.5),
          "=": () => matrix.step(1 / 1.5),
          "-": () => matrix.step(1.5),
          0: () => set(sound ? { span: null } : { zoom: null }),
        }
      : {}),
    ...(sound ? { " ": () => sound.toggle() } : {}),
  };
  return Object.hasOwn(actions, key) ? actions[key]! : null;
}
