// A section that could not be made: why, without taking the others with it.

import { h } from "../../../dom";
import type { FailedSection } from "../../../protocol";
import type { Section } from "../../host";

export const section: Section<FailedSection> = (element, { reason }) => {
  element.append(h("p.why", { role: "note" }, reason));
};
