// What the figures say, in sentences; the name of a head opens it.

import { h } from "../../../dom";
import type { SummarySection } from "../../../protocol";
import type { Section } from "../../host";

export const section: Section<SummarySection> = (element, { lines }, host) => {
  const sentences = lines.map((parts) => {
    const item = h("li", {});
    let last: HTMLElement | null = null;
    for (const part of parts) {
      const cell = part.layer === null || part.head === null ? null : host.figures.find(part.layer, part.head);
      if (cell) {
        last = h("button.headlink", { type: "button", onclick: () => host.open(cell, part.example) }, part.text);
        item.append(last);
        continue;
      }
      // a line may break at a button, but none begins with the comma behind it
      const mark: string = last ? /^[,;.)]*/.exec(part.text)![0] : "";
      if (last && mark) item.append(h("span.together", {}, last, mark));
      item.append(part.text.slice(mark.length));
      last = null;
    }
    return item;
  });
  element.append(h("ul.findings", {}, ...sentences));
};
