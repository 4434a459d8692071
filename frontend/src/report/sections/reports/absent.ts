// Measures that do not apply, with the reason.

import type { AbsentSection } from "../../../protocol";
import type { Section } from "../../host";
import { definitions } from "../../rows";
import { records } from "../../table";

export const section: Section<AbsentSection> = (element, { absent }) => {
  element.append(definitions(absent.map(({ measure, reason }) => [measure, reason])));
  return { tables: { measures: () => records({ measure: "text", reason: "text" }, absent) } };
};
