// The keys of an explorer, and the dialog that lists them.

import { h } from "../dom";

const KEYS = [
  ["← →", "previous, next head"], ["↑ ↓", "previous, next layer"], ["Enter", "one scale closer"], ["Esc", "clear the pin, then one scale out"],
  ["1 2 3", "model, head, neurons"], ["a", "all heads, or only this one"], ["s", "special tokens on or off"], ["w", "words or pieces"],
  ["m", "lines or matrix"], ["+ − 0", "zoom the matrix"], ["/", "find a token; Enter pins the next"], ["Tab", "to the tokens: ↑ ↓ move, ← → other side, Enter pins"], ["?", "this list"],
] as const;

export function keysDialog(): HTMLDialogElement {
  const list = KEYS.flatMap(([keys, text]) => [h("dt", {}, ...keys.split(" ").map((key) => h("kbd", {}, key))), h("dd", {}, text)]);
  const dialog = h("dialog", { "aria-label": "Keys" }, h("span.cap", {}, "Keys"), h("dl", {}, ...list), h("button.link", { type: "button", onclick: () => dialog.close() }, "Close"));
  return dialog;
}
