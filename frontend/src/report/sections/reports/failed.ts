// A section that could not be made: why, without taking the others with it.

import type { FailedSection } from "../../../protocol";
import { h } from "../../../ui/dom";
import type { Section } from "../../host";

export const section: Section<FailedSection> = (element, { reason }) => {
  element.append(h("p.why", { role: "note" }, reason));
};
