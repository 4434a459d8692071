// Measures that do not apply, with the reason.

import { h } from "../../../dom";
import type { AbsentSection } from "../../../protocol";
import type { Section } from "../../host";

export const section: Section<AbsentSection> = (element, { absent }) => {
  element.append(h("dl.notes", {}, ...absent.flatMap(({ measure, reason }) => [h("dt", {}, measure), h("dd", {}, reason)])));
  return { tables: { measures: () => ({ columns: { measure: "text", reason: "text" }, rows: absent.map(({ measure, reason }) => [measure, reason]) }) } };
};
