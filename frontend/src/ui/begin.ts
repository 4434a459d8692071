// How a page of ours begins: with its payload, in the place that it stands in.

import { reason } from "../scene/format";
import { h } from "./dom";

/** Draw the page of a payload. Never a blank page: what is wrong is said. */
export async function begin<Payload>(
  draw: (root: HTMLElement, payload: Payload) => void | Promise<void>,
  what = "page",
): Promise<void> {
  const root = document.getElementById("headscope");
  if (!root) return;
  try {
    await draw(root, JSON.parse(document.getElementById("headscope-payload")?.textContent ?? "") as Payload);
  } catch (error) {
    const text = reason(error);
    root.classList.add("hs");
    root.dataset.failed = "";
    root.append(h("p.failure", { role: "alert" }, `This ${what} cannot be shown: ${text}.`));
    throw error;
  }
}
