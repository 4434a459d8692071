// The scale of a palette, with its ticks at their places.

import { css, PALETTES, type Theme } from "../color";
import { fit, h } from "../dom";
import type { Pen } from "../explorer/canvas";
import { painters } from "../explorer/export";
import type { Component } from "./host";
import type { Scale } from "./figures";

export interface LegendProps {
  scale: Scale;
  theme: Theme;
  units: string;
}

const tickText = (x: number): string => {
  const text = Number.isInteger(x) ? String(x) : x.toFixed(Math.abs(x) < 1 ? 2 : 1).replace(/0+$/, "");
  return text.replace(/^0\./, ".").replace("-", "−");
};

export class Legend implements Component<LegendProps> {
  private readonly canvas = h("canvas");
  private readonly ticks = h("div.ticks");
  private readonly units = h("span.units");
  private readonly root = h("div.legend", { "aria-hidden": "true" }, this.canvas, this.ticks, this.units);

  constructor(
    element: HTMLElement,
    private props: LegendProps,
  ) {
    element.append(this.root);
    this.draw();
  }

  update(props: Partial<LegendProps>): void {
    this.props = { ...this.props, ...props };
    this.draw();
  }

  destroy(): void {
    this.root.remove();
  }

  private draw(): void {
    const { scale, theme, units } = this.props;
    const [width, height] = [132, 7];
    const context = fit(this.canvas, width, height);
    const lut = scale.diverging ? PALETTES[theme].diverging : PALETTES[theme].sequential;
    const strip = document.createElement("canvas");
    [strip.width, strip.height] = [256, 1];
    const image = new ImageData(256, 1);
    new Uint32Array(image.data.buffer).set(lut);
    strip.getContext("2d")?.putImageData(image, 0, 0);
    context.drawImage(strip, 0, 0, width, height);
    painters.set(this.canvas, (pen: Pen) => {
      for (let x = 0; x < width; x++) {
        pen.fillStyle = css(lut[Math.round((255 * (x + 0.5)) / width)]!);
        pen.fillRect(x, 0, Math.min(1.5, width - x), height);
      }
    });
    this.ticks.replaceChildren(
      ...scale.ticks.map((tick) => h("span", { style: `left:${scale.tint(tick) * width}px` }, tickText(tick))),
    );
    this.units.textContent = units === "share" ? "" : units;
  }
}
