// What the colours of a picture mean: a ramp with figures below it.

import type { Block } from "../draw/block";
import { ramp } from "../draw/key";
import { PALETTES } from "../scene/color";
import { legend } from "../scene/says";
import type { Scene } from "../scene/scene";

export function scale(scene: Scene, width: number): Block {
  const { of, signed, ticks } = legend(scene);
  const { theme } = scene.owner;
  return ramp(of, PALETTES[theme][signed ? "diverging" : "sequential"], ticks, width, theme, undefined, true);
}
