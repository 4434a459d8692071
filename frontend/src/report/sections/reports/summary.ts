// What the figures say, in sentences; the name of a head opens it.

import { h } from "../../../dom";
import type { Part, SummarySection } from "../../../protocol";
import type { Host, Section } from "../../host";
import { headLink } from "../../rows";

function sentence(parts: readonly Part[], host: Host): HTMLElement {
  const item = h("li", {});
  let last: HTMLElement | null = null;
  for (const part of parts) {
    const cell = host.figures.find(part.layer, part.head);
    // A line may break at a button, but none begins with the comma behind it.
    const mark: string = last && !cell ? /^[,;.)]*/.exec(part.text)![0] : "";
    if (last && mark) item.append(h("span.together", {}, last, mark));
    last = cell && headLink(host, cell, part.text, part.example);
    item.append(last ?? part.text.slice(mark.length));
  }
  return item;
}

export const section: Section<SummarySection> = (element, { lines }, host) => {
  element.append(h("ul.findings", {}, ...lines.map((parts) => sentence(parts, host))));
};
