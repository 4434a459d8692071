// The tip of an explorer: beside the pointer, or in the room that a strip has left.

import { clamp } from "../scene/format";
import { h } from "./dom";

export class Tip {
  private readonly element = h("div.tip", { role: "tooltip", "data-export": "no" });

  constructor(private readonly root: HTMLElement) {
    root.append(this.element);
  }

  show(content: Node | null, x = 0, y = 0, where: "pointer" | "left" | "right" = "pointer"): void {
    this.element.classList.toggle("on", content !== null);
    if (!content) return;
    this.element.replaceChildren(content);
    const { offsetWidth: width, offsetHeight: height } = this.element;
    // Placed from the root's corner: a notebook may give fixed boxes another frame than the window.
    const bounds = this.root.getBoundingClientRect();
    const room = {
      left: Math.max(bounds.left, 0) + 8,
      right: Math.min(bounds.right, window.innerWidth) - 8,
      bottom: window.innerHeight - 8,
    };
    const [left, top] = placed({ width, height }, room, x, y, where);
    this.element.style.transform = `translate(${Math.round(left - bounds.left)}px, ${Math.round(top - bounds.top)}px)`;
  }
}

/** A row of tokens that a tip leaves free, from its middle up and down. */
const ROW = 14;

/** The corner of a tip: at the pointer, or beside a row of tokens ("left", "right"), whose middle is 10 below y. Where it has no
 * room beside the row it stands below it, or above: never over what is pointed at. */
export function placed(
  tip: { width: number; height: number },
  room: { left: number; right: number; bottom: number },
  x: number,
  y: number,
  where: "pointer" | "left" | "right",
): [number, number] {
  const { width, height } = tip;
  const most = Math.max(room.left, room.right - width);
  let [left, top] = [x + 16, y + 18];
  if (where === "pointer") {
    if (left > most) left = x - width - 14;
    if (top + height > room.bottom) top = y - height - 12;
  } else {
    left = where === "left" ? x - width : x;
    const middle = y + 10;
    const beside = left >= room.left && left <= most;
    top = beside ? middle - height / 2 : middle + ROW + height <= room.bottom ? middle + ROW : middle - ROW - height;
  }
  return [clamp(left, room.left, most), clamp(top, 8, Math.max(8, room.bottom - height))];
}
