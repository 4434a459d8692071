// The scale of a palette, with its ticks at their places.

import type { Pen } from "../draw/canvas";
import { css, type Theme } from "../scene/color";
import { bare, brief } from "../scene/format";
import { fit, h } from "../ui/dom";
import { painters } from "./drawing";
import { palette, type Scale } from "./figures";

const [WIDTH, HEIGHT] = [132, 7];

/** `.25`, `4.3`. */
const tick = (x: number): string => bare(brief(x, Math.abs(x) < 10 ? 2 : 3));

export class Legend {
  private readonly canvas = h("canvas");
  private readonly ticks = h("div.ticks");
  private readonly units = h("span.units");
  readonly root = h("div.legend", { "aria-hidden": "true" }, this.canvas, this.ticks, this.units);

  show(scale: Scale, theme: Theme, units: string): void {
    const colors = palette(scale, theme);
    const paint = (pen: Pen): void => {
      for (let x = 0; x < WIDTH; x++) {
        pen.fillStyle = css(colors[Math.round((255 * (x + 0.5)) / WIDTH)]!);
        pen.fillRect(x, 0, Math.min(1.5, WIDTH - x), HEIGHT);
      }
    };
    paint(fit(this.canvas, WIDTH, HEIGHT));
    painters.set(this.canvas, paint);
    this.ticks.replaceChildren(
      ...scale.ticks.map((value) => h("span", { style: `left:${scale.tint(value) * WIDTH}px` }, tick(value))),
    );
    this.units.textContent = units === "share" ? "" : units;
  }
}
