// What the figures say, in sentences; the name of a head opens it.

import { h } from "../dom";
import type { SummarySection } from "../protocol";
import type { Section } from "./host";

export const section: Section<SummarySection> = (element, { lines }, host) => {
  const sentences = lines.map((parts) =>
    h(
      "li",
      {},
      ...parts.map((part) => {
        const cell = part.layer === null || part.head === null ? null : host.figures.find(part.layer, part.head);
        return cell ? h("button.headlink", { type: "button", onclick: () => host.open(cell, part.example) }, part.text) : part.text;
      }),
    ),
  );
  element.append(h("ul.findings", {}, ...sentences));
};
