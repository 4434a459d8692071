// What a kernel computes later joins the payload that is shown.

import type { Added, ExplorerPayload } from "../protocol";

/** Put matrices that were computed into a payload. */
export function join(payload: ExplorerPayload, added: readonly Added[]): void {
  for (const { input, part: name, quantity, values } of added) {
    const part = payload.inputs[input]?.parts.find((each) => each.name === name);
    if (!part) continue;
    part.quantities = [...part.quantities.filter((each) => each.name !== quantity.name), quantity];
    if (values && part.neurons)
      part.neurons = part.neurons.map((neurons, at) => neurons && { ...neurons, v: values[at] ?? null });
  }
}
