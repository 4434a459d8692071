// The head on the text itself: read it, point at a token, and see what it looks at.

import { decimal, figure } from "../scene/format";
import { Of } from "../scene/made";
import type { Scene } from "../scene/scene";
import { said, shades, type Text, texts, tone } from "../scene/shaded";
import { bare, spaced } from "../scene/wordsbeside";
import { hoverColumns } from "./columns";
import { h } from "./dom";
import { remember, tell } from "./tokens";

export class Shaded {
  private readonly paragraphs = { from: this.paragraph("from (query)"), to: this.paragraph("to (key)") };
  private readonly caption = h("div.sub");
  readonly root = h("div.shaded", this.paragraphs.from, this.paragraphs.to, this.caption);
  private readonly filled = { from: new Of(), to: new Of() };

  constructor(
    element: HTMLElement,
    private readonly scene: Scene,
  ) {
    element.append(this.root);
    for (const side of ["from", "to"] as const) {
      // In one text a token that is pointed at is a query, whichever side is shaded.
      const self = (): boolean => scene.part.kind !== "cross";
      hoverColumns(
        scene,
        { from: this.paragraphs[side] },
        { first: () => 0, show: () => undefined, side: () => (self() ? "from" : side) },
      );
    }
    this.root.addEventListener("pointerleave", () => scene.leave());
  }

  private paragraph(label: string): HTMLElement {
    return h("p.para", { role: "listbox", tabindex: 0, "aria-label": label });
  }

  update(): void {
    const shown = texts(this.scene);
    for (const side of ["from", "to"] as const) {
      const text = shown.find((each) => each.side === side);
      this.paragraphs[side].hidden = !text;
      if (text) this.fill(text);
    }
    this.focus();
  }

  private fill(text: Text): void {
    const { scene } = this;
    const side = scene.tokens(text.side);
    if (!this.filled[text.side].renewed(scene.part, side)) return;
    const axis = scene.axis(text.side);
    this.paragraphs[text.side].replaceChildren(
      ...side.items.flatMap((item, at) => {
        const before = side.items[at - 1];
        const span = h(item.special ? "span.word.sp" : "span.word", { role: "option", dir: "auto" }, bare(item));
        remember(span, at);
        return before && spaced(axis, before, item) ? [" ", span] : [span];
      }),
    );
  }

  /** Only what is pointed at has changed. */
  focus(): void {
    const { scene } = this;
    for (const text of texts(scene)) {
      const paragraph = this.paragraphs[text.side];
      // Another side is shaded than before, or other tokens of it are shown.
      if (paragraph.hidden || this.filled[text.side].stale(scene.part, scene.tokens(text.side))) return this.update();
      const strong = shades(scene, text);
      [...(paragraph.children as Iterable<HTMLElement>)].forEach((span, at) => {
        const share = text.shares[at]!;
        span.style.setProperty("--shade", `${decimal(strong[at]!, 1)}%`);
        span.style.setProperty("--tone", `var(--${tone(scene, share)})`);
        span.classList.toggle("unseen", Number.isNaN(share));
        span.classList.toggle("on", at === text.chosen);
        span.title = Number.isNaN(share) ? "not seen" : figure(share);
      });
      tell(paragraph, text.chosen, text.chosen);
    }
    this.caption.textContent = said(scene);
  }
}
