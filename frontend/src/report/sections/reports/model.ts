// The picture of the whole model: layers down, heads across, what each head is known to do as a colour and a letter.

import type { ChartColour, SummarySection } from "../../../protocol";
import { plural } from "../../../scene/format";
import { looks } from "../../../scene/letters";
import { h } from "../../../ui/dom";
import { Charted, mapOf, type Pictured, redrawn } from "../../chart";
import type { Cell } from "../../figures";
import type { Host } from "../../host";
import { headTip } from "../../tip";

export function wholeModel(marks: SummarySection["marks"], host: Host, open: (cell: Cell) => void): Pictured {
  const { figures } = host;
  const { cells } = figures;
  const seen = looks(marks.map(({ name }) => name));
  const known = cells.map((cell) =>
    marks.flatMap(({ heads }, i) => (heads.some(([layer, head]) => figures.find(layer!, head!) === cell) ? [i] : [])),
  );
  const tip = (row: number): Node => {
    const names = known[row]!.map((mark) => marks[mark]!.name).join(", ");
    return headTip(figures.name(cells[row]!), figures.paper(cells[row]!), h("div", {}, names || "none of these"));
  };
  const charted = new Charted(
    host,
    (row) => cells[row]!,
    tip,
    (row) => open(cells[row]!),
    true,
  );
  charted.root.classList.add("wholemap");
  const none = known.filter((own) => own.length === 0).length;
  const colour: ChartColour = {
    ...{ title: "", of: "heads", names: marks.map(({ name, heads }) => `${name} ${heads.length}`) },
    letters: seen.map(({ letter }) => letter),
    hues: seen.map(({ hue }) => hue),
    ...(none > 0 && { none: `none of these ${none}` }),
  };
  const chart = mapOf(figures, cells, (_, row) => known[row]![0] ?? NaN, colour);
  const said = marks
    .map(({ name, heads }) => `${name}: ${heads.map(([layer, head]) => `L${layer}H${head}`).join(", ")}`)
    .join("; ");
  const all = plural(cells.length, "head");
  const label = `${all}, layers down, heads across. ${said}. Arrow keys move between heads.`;
  const { length } = known.filter((own) => own.some((mark) => seen[mark]!.letter !== ""));
  const update = redrawn(({ theme, cell }, width) => charted.show(chart, { width, theme }, label, cell), charted);
  const count = `${length} of ${all} stand${length === 1 ? "s" : ""} out`;
  return { root: h("div.whole", {}, h("p.standout", {}, count), charted.root), update };
}
