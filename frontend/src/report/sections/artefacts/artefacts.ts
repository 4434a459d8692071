// Artefacts: how norms are spread, how artefacts grow from layer to layer, where they sit, and which heads look at
// them.

import "./artefacts.css";
import type { ArtefactsSection, Chart, ChartColour } from "../../../protocol";
import { brief, percent, plural, whole } from "../../../scene/format";
import { Of } from "../../../scene/made";
import { h } from "../../../ui/dom";
import { append } from "../../blocks/section";
import { beside, Charted, captioned } from "../../chart";
import type { Now, Section } from "../../host";

const HEIGHT = 150;

/** The figures of artefacts, each with what it is called. */
function chartsOf(info: ArtefactsSection): (readonly [title: string, label: string, chart: Chart])[] {
  const kinds = { title: "", of: "heads", names: ["others", "artefacts"] } as const;
  const colour: ChartColour = { ...kinds, names: [...kinds.names] };
  const begins = info.edges.slice(0, -1);
  const spread: Chart = {
    kind: "bars",
    title: "",
    x: { title: "", names: begins.map((edge) => brief(edge, 2)) },
    y: { title: "", root: true },
    rows: {
      x: info.counts.map((_, bin) => bin),
      y: info.counts,
      colour: begins.map((edge) => Number(edge >= info.cutoff)),
    },
    colour,
  };
  const layers: Chart = {
    kind: "layers",
    title: "",
    x: { title: "", names: info.layers.map(String) },
    y: { title: "" },
    rows: { x: [], y: [] },
    lines: [info.others, info.artefacts].map((y, colour) => ({ y, colour, dots: true })),
    colour,
  };
  const cells = info.where.flatMap((row, y) => row.map((value, x) => ({ x, y, value })));
  const most = Math.max(1e-12, ...cells.map(({ value }) => value ?? 0));
  const where: Chart = {
    kind: "head_map",
    title: "",
    x: { title: "", names: (info.where[0] ?? []).map(() => "") },
    y: { title: "", names: info.where.map(() => "") },
    rows: { x: cells.map(({ x }) => x), y: cells.map(({ y }) => y), colour: cells.map(({ value }) => value) },
    colour: { title: "", of: "numbers", low: 0, high: most },
  };
  const median = `the median is ${brief(info.median)}, artefacts are above ${brief(info.cutoff)}`;
  const all = [
    [`Patches by ${info.of}`, `How many patches have which ${info.of}: ${median}`, spread],
    [`Mean ${info.of} by layer`, `Mean ${info.of} behind each layer, of artefacts and of other patches`, layers],
    ["Where they sit", `Where artefacts sit in a picture: at most ${percent(most)} of the patches of a part`, where],
  ] as const;
  return info.blocks.length > 0 ? [...all] : all.slice(0, 2);
}

export const section: Section<ArtefactsSection> = (element, info, host) => {
  const some = info.blocks.length > 0;
  const interval = info.low !== null && info.high !== null ? ` (${percent(info.low)} to ${percent(info.high)})` : "";
  const figure = brief(info.cutoff);
  const said = some
    ? `${percent(info.share)}${interval} of ${plural(info.n, "patch").replace(/patchs$/, "patches")}: ${info.of} above ${figure}, median ${brief(info.median)}.`
    : `None of ${whole(info.n)} patches: no ${info.of} is above ${figure}, the median is ${brief(info.median)}.`;
  const figures = chartsOf(info).map(([title, label, chart]) => ({ title, label, chart, charted: new Charted(host) }));
  const charts = h("div.norms", {}, ...figures.map(({ title, charted }) => captioned(title, null, charted.root)));
  element.append(h("p.said", {}, said), charts);
  const heads = append(element, info.blocks, info.kind, host);
  const drawn = new Of();
  const update = (now: Now): void => {
    heads.update?.(now);
    if (!drawn.renewed(now.width, now.theme)) return;
    const width = beside(charts, now.width, now.width < 500 ? 1 : figures.length, 24, 420);
    for (const { label, chart, charted } of figures)
      charted.show(chart, { width, height: HEIGHT, theme: now.theme }, label, now.cell);
  };
  return { ...heads, update, picture: charts };
};
