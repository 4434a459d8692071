// What is decoded before it is asked for.

import type { Scene } from "../scene/scene";

/** Decode the layers and heads beside the open ones while nothing else is to be done. */
export function prefetch(scenes: readonly Scene[]): void {
  const idle = window.requestIdleCallback ?? ((run: () => void) => window.setTimeout(run, 300));
  idle(() => {
    for (const scene of scenes) {
      const { data, heads, part, state } = scene;
      const load = (layer: number | undefined, quantity: string, some: readonly number[]): void => {
        if (layer !== undefined) void data.load(part, layer, quantity, some).catch(() => undefined);
      };
      // Other matrices of the open layer: their numbers stand in the tip of a pair.
      for (const quantity of ["weights", ...part.quantities.map((each) => each.name)])
        load(state.layer, quantity, heads);
      // The heads beside the open one, where layers come a head at a time.
      load(state.layer, state.quantity, [scene.head + 1, scene.head - 1]);
      const at = part.index.indexOf(state.layer);
      for (const next of [part.index[at + 1], part.index[at - 1]]) {
        load(next, state.quantity, heads);
        if (next !== undefined && state.scale === "neuron") void data.loadNeurons(part, next).catch(() => undefined);
      }
    }
  });
}
