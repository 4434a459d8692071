// One strip a measure: every head a tick, the open one a dot.

import type { Theme } from "../color";
import { fit, h } from "../dom";
import type { Cell, Figures, Measure } from "./figures";
import { figure } from "../format";
import type { Component, Host } from "./host";
import { figureTip } from "./tip";

export interface StripsProps {
  figures: Figures;
  measure: Measure;
  cell: Cell;
  theme: Theme;
  width: number;
}

interface Strip {
  readonly measure: Measure;
  readonly canvas: HTMLCanvasElement;
  readonly value: HTMLElement;
  readonly name: HTMLButtonElement;
}

const PAD = 6;
const HEIGHT = 18;

export class Strips implements Component<StripsProps> {
  private readonly root = h("div.strips");
  private strips: Strip[] = [];

  constructor(
    element: HTMLElement,
    private props: StripsProps,
    private readonly host: Host,
  ) {
    element.append(this.root);
    this.build();
  }

  update(props: Partial<StripsProps>): void {
    const before = this.props;
    this.props = { ...before, ...props };
    if (this.props.figures !== before.figures) this.build();
    else this.draw();
  }

  destroy(): void {
    this.root.remove();
  }

  private build(): void {
    this.strips = this.props.figures.measures.map((measure) => {
      const pick = (): void => this.host.set({ measure: measure.name });
      const name = h("button.link", { type: "button", onclick: pick, title: "Show in the heat map" }, measure.info.title);
      const canvas = h("canvas", { "aria-hidden": "true" });
      canvas.addEventListener("pointermove", (event) => this.move(event, measure));
      canvas.addEventListener("pointerleave", () => this.host.tip(null));
      canvas.addEventListener("click", (event) => {
        const cell = this.near(event, measure);
        if (cell) this.host.open(cell);
      });
      return { measure, canvas, name, value: h("span.val") };
    });
    this.root.replaceChildren(...this.strips.map(({ name, canvas, value }) => h("div.strip", {}, name, canvas, value)));
    this.draw();
  }

  private get room(): number {
    return Math.max(60, this.props.width - 198);
  }

  private draw(): void {
    const { figures, cell, measure: open } = this.props;
    const style = getComputedStyle(this.root);
    const color = (name: string): string => style.getPropertyValue(name);
    const [line, tick, accent, paper, ink] = ["--line", "--tick", "--accent", "--bg", "--ink2"].map(color) as [string, string, string, string, string];
    const width = this.room;
    for (const { measure, canvas, value, name } of this.strips) {
      const context = fit(canvas, width, HEIGHT);
      const at = (x: number): number => PAD + measure.scale.place(x) * (width - 2 * PAD);
      context.fillStyle = line;
      context.fillRect(0, HEIGHT / 2, width, 1);
      context.fillStyle = tick;
      context.globalAlpha = figures.cells.length > 300 ? 0.5 : 1;
      for (const other of figures.cells) {
        const v = measure.value(other);
        if (Number.isFinite(v)) context.fillRect(at(v) - 0.5, 5, 1, 9);
      }
      context.globalAlpha = 1;
      const chance = measure.chance(cell.layer);
      if (Number.isFinite(chance)) {
        context.fillStyle = ink;
        context.fillRect(at(chance) - 0.5, 1, 1, 3);
        context.fillRect(at(chance) - 0.5, HEIGHT - 3, 1, 3);
      }
      const v = measure.value(cell);
      if (Number.isFinite(v)) {
        for (const [radius, fill] of [[6, paper], [4.2, accent]] as const) {
          context.fillStyle = fill;
          context.beginPath();
          context.arc(at(v), HEIGHT / 2 + 0.5, radius, 0, 7);
          context.fill();
        }
      }
      value.textContent = figure(v, 2);
      name.classList.toggle("on", measure === open);
    }
  }

  private near(event: MouseEvent, measure: Measure): Cell | null {
    const bounds = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const x = (event.clientX - bounds.left - PAD) / (this.room - 2 * PAD);
    let [best, least]: [Cell | null, number] = [null, Infinity];
    for (const cell of this.props.figures.cells) {
      const distance = Math.abs(measure.scale.place(measure.value(cell)) - x);
      if (distance < least) [best, least] = [cell, distance];
    }
    return best;
  }

  private move(event: PointerEvent, measure: Measure): void {
    const cell = this.near(event, measure);
    this.host.tip(cell && figureTip(this.props.figures, measure, cell), event.clientX, event.clientY);
  }
}
