// The first screen: a picture of the whole model, and what the figures say, in sentences, the first with a picture
// each.

import "./summary.css";
import type { CorefRow, Part, Reason, RoleRow, SummarySection, SyntaxRow } from "../../../protocol";
import { plural } from "../../../scene/format";
import { h } from "../../../ui/dom";
import type { Cell } from "../../figures";
import type { Host, Now, Section } from "../../host";
import { ofMeasure } from "../../reasons";
import { folded, headLink } from "../../rows";
import { explained } from "../../terms";
import { Model } from "./model";
import { pictureOf } from "./pictures";

/** From this width on the picture of the model stands beside the findings. */
const BESIDE = 560;
const GAP = 30;

function sentence(parts: readonly Part[], host: Host, seen: Set<string>): HTMLElement {
  const said = h("p");
  let last: HTMLElement | null = null;
  for (const part of parts) {
    const cell = part.reason && host.figures.find(part.layer, part.head);
    // A line may break at a button, but none begins with the comma behind it.
    const mark: string = last && !cell ? /^[,;.)]*/.exec(part.text)![0] : "";
    if (last && mark) said.append(h("span.together", {}, last, mark));
    last = cell && headLink(host, cell, part.text, part.reason!);
    said.append(
      ...(last
        ? [last]
        : (explained(part.text.slice(mark.length), host, seen).filter((child) => child !== "") as (Node | string)[])),
    );
  }
  return said;
}

/** Why the picture of the model names a head: what it is first known to do, or else its figure in the open measure. */
function knownFor({ figures, now }: Host, cell: Cell): Reason {
  const rows = figures.payload.sections.flatMap(
    (info): readonly Pick<RoleRow | SyntaxRow | CorefRow, "layer" | "head" | "reason">[] =>
      info.kind === "roles" || info.kind === "coref" || info.kind === "syntax" ? info.rows : [],
  );
  return (
    rows.find(({ layer, head, reason }) => reason && layer === figures.layerOf(cell) && head === figures.headOf(cell))
      ?.reason ?? ofMeasure(now.measure, cell)
  );
}

export const section: Section<SummarySection> = (element, { marks, findings, leads }, host) => {
  const model = marks.length > 0 ? new Model(marks, host, (cell) => host.open(cell, knownFor(host, cell))) : null;
  const seen = new Set<string>();
  const pictures = findings.slice(0, leads).map((finding) => pictureOf(finding, host));
  const first = findings.slice(0, leads).map(({ parts }, i) => {
    const picture = pictures[i];
    return h(
      picture ? (picture.wide ? "li.pictured.wide" : "li.pictured") : "li",
      {},
      picture?.root,
      sentence(parts, host, seen),
    );
  });
  const rest = findings.slice(leads).map(({ parts }) => h("li", {}, sentence(parts, host, seen)));
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
    for (const picture of pictures) picture?.update?.(now);
  };
  return { update, settled: () => pictures.every((picture) => picture?.settled?.() ?? true) };
};
