// Charts on a page of their own: what steps stands above them, a step at a time.

import { stack } from "../draw/block";
import { SvgPen } from "../draw/svg";
import type { ChartsPayload } from "../protocol";
import { charts } from "../still/charts";
import { h } from "./dom";

/** From one step to the next while it plays, in milliseconds. */
const PACE = 400;

export class Film {
  readonly settled = true;
  private readonly picture = h("div.picture");
  private readonly output = h("output");
  private readonly step = h("input", {
    ...{ type: "range", min: 0, step: 1, "aria-label": "step" },
    oninput: () => this.surroundings(),
  });
  private timer = 0;
  private readonly play = h("button", { onclick: () => this.pressed() }, "Play");

  constructor(
    private readonly root: HTMLElement,
    private readonly payload: ChartsPayload,
    private readonly dark: () => boolean,
  ) {
    const { title, frames } = payload;
    this.step.max = String(frames.length - 1);
    this.step.value = "0";
    const moves = frames.length > 1 && h("div.film", this.play, this.step, this.output);
    root.replaceChildren(h("h1.about", title), ...(moves ? [moves] : []), this.picture);
    new ResizeObserver(() => this.surroundings()).observe(root);
    this.surroundings();
  }

  surroundings(printing = false): void {
    const theme = this.dark() && !printing ? "dark" : "light";
    this.root.dataset.theme = theme;
    const { payload, root, step } = this;
    const frame = payload.frames[Number(step.value)];
    const width = Math.max(240, root.clientWidth - 2 * Number.parseFloat(getComputedStyle(root).paddingLeft));
    const above = frame ? charts({ ...payload, caption: "", charts: frame.charts }, theme, width) : [];
    const block = stack([...above, ...charts(payload, theme, width)], 16);
    const pen = new SvgPen(width, Math.ceil(block.height));
    block.draw(pen);
    this.picture.innerHTML = pen.document();
    this.output.textContent = frame?.name ?? "";
  }

  private pressed(): void {
    window.clearInterval(this.timer);
    if (this.play.textContent === "Stop") {
      this.play.textContent = "Play";
      return;
    }
    const { step, play } = this;
    play.textContent = "Stop";
    if (step.value === step.max) step.value = "0";
    this.timer = window.setInterval(() => {
      step.stepUp();
      this.surroundings();
      if (step.value === step.max) this.pressed();
    }, PACE);
  }

  print(on: boolean): void {
    this.surroundings(on);
  }

  key(): void {}
}
