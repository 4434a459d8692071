// What each figure means, and over what it was averaged.

import { h } from "../../../dom";
import type { MethodsSection } from "../../../protocol";
import type { Section } from "../../host";

export const section: Section<MethodsSection> = (element, _, host) => {
  const entries = host.figures.measures.flatMap(({ info }) => {
    const { title, description, units, by, over, source, name } = info;
    const how = [units === "share" ? "share of attention" : units, by && `mean over ${by}s`, over && `between ${over}`, source].filter(Boolean);
    return [
      h("dt", {}, h("button.link", { type: "button", onclick: () => host.set({ measure: name }) }, title), h("code.dim", {}, name)),
      h("dd", {}, description, h("span.dim", {}, how.join(" · "))),
    ];
  });
  element.append(h("dl.notes", {}, ...entries));
  const rows = host.figures.measures.map(({ info: { name, title, description, units, by, over, source } }) => [name, title, description, units, by, over, source]);
  const columns = { measure: "text", title: "text", description: "text", units: "text", by: "text", over: "text", source: "text" } as const;
  return { tables: { measures: () => ({ columns, rows }) } };
};
