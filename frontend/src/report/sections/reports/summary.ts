// The first screen: a picture of the whole model, and what the figures say, in sentences, the first with a picture
// each.

import "./summary.css";
import type { Reason, SummarySection } from "../../../protocol";
import { plural } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { type Cell, tablesOf } from "../../figures";
import type { Host, Now, Section } from "../../host";
import { firstHeads, headsOf, spoken } from "../../parts";
import { ofMeasure } from "../../reasons";
import { folded } from "../../rows";
import { dots } from "./dots";
import { wholeModel } from "./model";
import { pictureOf } from "./pictures";

/** From this width on the picture of the model stands beside the findings. */
const BESIDE = 560;
const GAP = 30;

/** Why the picture of the model names a head: what it is first known to do, or else its figure in the open measure. */
function knownFor({ figures, now }: Host, cell: Cell): Reason {
  const [layer, head] = [figures.layerOf(cell), figures.headOf(cell)];
  const { payload } = figures;
  const reasons = tablesOf(payload, "roles", "coref", "syntax").flatMap(({ values, reasons }) =>
    reasons.filter((_, row) => values.layer![row] === layer && values.head![row] === head),
  );
  return reasons.find(Boolean) ?? ofMeasure(now.measure, cell);
}

export const section: Section<SummarySection> = (element, { marks, findings, leads }, host) => {
  const model = marks.length > 0 ? wholeModel(marks, host, (cell) => host.open(cell, knownFor(host, cell))) : null;
  const seen = new Set<string>();
  const pictures = findings.slice(0, leads).map((finding) => pictureOf(finding, host));
  const figures = findings.slice(0, leads).map((finding) => dots(finding, host));
  const first = findings.slice(0, leads).map(({ parts, headline }, i) => {
    const picture = pictures[i];
    const sentence = h("p", {}, ...spoken(parts, host, seen));
    const heads = headsOf(parts);
    const tick = figures[i]?.against;
    const named =
      (heads.length > 0 || tick) &&
      h(
        "div.named",
        {},
        ...(heads.length > 0 ? firstHeads(heads, host) : []),
        tick && h("span.dim", {}, ` tick: ${tick}`),
      );
    return h(
      picture ? (picture.wide ? "li.pictured.wide" : "li.pictured") : "li",
      {},
      picture?.root,
      headline
        ? h("div", {}, h("p.headline", {}, headline), figures[i]?.root, named, folded("How sure", sentence))
        : sentence,
    );
  });
  const rest = findings.slice(leads).map(({ parts }) => h("li", {}, h("p", {}, ...spoken(parts, host, seen))));
  const told = h(
    "div.leads",
    {},
    h("ul.findings", {}, ...first),
    rest.length > 0 && folded(plural(rest.length, "more finding"), h("ul.findings", {}, ...rest)),
  );
  element.append(...(model ? [model.root] : []), told);
  const update = (now: Now): void => {
    const beside = model !== null && now.width >= BESIDE;
    element.classList.toggle("beside", beside);
    model?.update(now, beside ? Math.floor(0.42 * (now.width - GAP)) : Math.min(now.width, 400));
    for (const each of [...pictures, ...figures]) each?.update?.(now);
  };
  return { update, settled: () => pictures.every((picture) => picture?.settled?.() ?? true) };
};
