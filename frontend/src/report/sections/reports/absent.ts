// Measures that do not apply, with the reason; many of them folded.

import type { AbsentSection } from "../../../protocol";
import type { Section } from "../../host";
import { definitions, folded } from "../../rows";
import { records } from "../../table";

/** Of more measures the list is folded. */
const MOST = 6;

export const section: Section<AbsentSection> = (element, { absent }) => {
  const list = definitions(absent.map(({ measure, reason }) => [measure, reason]));
  element.append(absent.length > MOST ? folded(`${absent.length} measures, and why`, list) : list);
  return { tables: { measures: () => records({ measure: "text", reason: "text" }, absent) } };
};
