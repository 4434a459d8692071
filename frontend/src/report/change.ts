// A difference as a bar.

import "./compare.css";
import { s } from "../dom";

const WIDE = 72;

/** From −1 to 1: to the right what A has more of, to the left what B has. */
export function change(share: number): SVGElement {
  const middle = WIDE / 2;
  const end = middle + Math.max(-1, Math.min(1, share)) * (middle - 1);
  const parts = Number.isFinite(share) ? [s("rect", { class: share < 0 ? "minus" : "plus", x: Math.min(middle, end), y: 4, width: Math.abs(end - middle), height: 8 })] : [];
  return s("svg", { width: WIDE, height: 16, viewBox: `0 0 ${WIDE} 16`, class: "change", "aria-hidden": "true" }, s("rect", { class: "track", x: 1, y: 4, width: WIDE - 2, height: 8 }), ...parts, s("line", { class: "zero", x1: middle, x2: middle, y1: 2, y2: 14 }));
}
