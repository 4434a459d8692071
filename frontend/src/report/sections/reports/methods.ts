// What each figure means, and over what it was averaged.

import type { MethodsSection } from "../../../protocol";
import { plural } from "../../../scene/format";
import { h } from "../../../ui/dom";
import type { Section } from "../../host";
import { folded } from "../../rows";
import { records } from "../../table";

export const section: Section<MethodsSection> = (element, _, host) => {
  const measures = host.figures.measures.map(({ info }) => info);
  const entries = host.figures.told.flatMap(({ info: { title, description, units, by, over, source, name } }) => {
    const how = [
      units === "share" ? "share of attention" : units,
      by && `mean over ${by}s`,
      over && `between ${over}`,
      source,
    ].filter(Boolean);
    return [
      h("dt", h("button.link", { onclick: () => host.set({ measure: name }) }, title), h("code.dim", name)),
      h("dd", description, h("span.dim", how.join(" · "))),
    ];
  });
  element.append(
    folded(`${plural(host.figures.told.length, "measure")}, with units and sources`, h("dl.notes", ...entries)),
  );
  const columns = {
    measure: "text",
    title: "text",
    description: "text",
    units: "text",
    by: "text",
    over: "text",
    source: "text",
  } as const;
  return {
    tables: {
      measures: () =>
        records(
          columns,
          measures.map((info) => ({ ...info, measure: info.name })),
        ),
    },
  };
};
