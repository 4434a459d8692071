// The tip of an explorer: beside the pointer, or in the room that a strip has left.

import { clamp, h } from "../dom";

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
    const [least, most] = [Math.max(bounds.left, 0) + 8, Math.min(bounds.right, window.innerWidth) - width - 8];
    let [left, top] = [x + 16, y + 18];
    if (where === "left") [left, top] = [x - width, y - height / 2 + 10];
    else if (where === "right") [left, top] = [x, y - height / 2 + 10];
    else if (left > most) left = x - width - 14;
    if (where === "pointer" && top + height > window.innerHeight - 8) top = y - height - 12;
    left = clamp(left, least, Math.max(least, most));
    top = clamp(top, 8, Math.max(8, window.innerHeight - height - 8));
    this.element.style.transform = `translate(${Math.round(left - bounds.left)}px, ${Math.round(top - bounds.top)}px)`;
  }
}
