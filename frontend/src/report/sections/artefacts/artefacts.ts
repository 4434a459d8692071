// Artefacts: how norms are spread, how artefacts grow from layer to layer, where they sit, and which heads look at
// them.

import "./artefacts.css";
import * as Plot from "@observablehq/plot";
import type { ArtefactsSection } from "../../../protocol";
import { COLOURS, css, type Theme } from "../../../scene/color";
import { brief, percent, plural, whole } from "../../../scene/format";
import { Of } from "../../../scene/made";
import { h } from "../../../ui/dom";
import { append } from "../../blocks/section";
import { draw } from "../../cells";
import { beside, captioned, named } from "../../chart";
import { pixel, scaleOf } from "../../figures";
import type { Host, Now, Section } from "../../host";

const HEIGHT = 150;
const FRAME = {
  height: HEIGHT,
  marginTop: 10,
  marginRight: 8,
  marginBottom: 34,
  style: { background: "none", color: "var(--ink3)", fontFamily: "inherit", fontSize: "11px", overflow: "visible" },
} as const;

/** How many patches have a norm: on a scale of roots, where a few can be seen beside thousands. */
function histogram(info: ArtefactsSection, width: number, theme: Theme): SVGElement | HTMLElement {
  const bins = info.counts.map((count, i) => ({ count, from: info.edges[i]!, to: info.edges[i + 1]! }));
  const label = `How many patches have which ${info.of}: the median is ${brief(info.median)}, artefacts are above ${brief(info.cutoff)}`;
  const drawing = Plot.plot({
    ...FRAME,
    width,
    marginLeft: 44,
    x: { type: "log", label: null, tickSize: 0, ticks: 4, tickFormat: (x: number) => brief(x, 2) },
    y: { type: "sqrt", label: null, tickSize: 0, ticks: 4, tickFormat: whole },
    marks: [
      Plot.gridY({ stroke: "var(--line)", strokeOpacity: 1, ticks: 4 }),
      Plot.rectY(bins, {
        x1: "from",
        x2: "to",
        y: "count",
        fill: (bin: { from: number }) => (bin.from >= info.cutoff ? COLOURS[theme].heads[1] : "var(--accent)"),
        inset: 0.4,
      }),
      Plot.ruleX([info.cutoff], { stroke: "var(--ink2)", strokeDasharray: "3 3" }),
    ],
  });
  return named(drawing, label);
}

/** Mean norms behind each layer, of artefacts and of others. */
function byLayer(info: ArtefactsSection, width: number, theme: Theme): SVGElement | HTMLElement {
  const points = info.layers.flatMap((layer, i) => [
    { layer, kind: "artefacts", value: info.artefacts[i] },
    { layer, kind: "others", value: info.others[i] },
  ]);
  const known = points.filter(({ value }) => value !== null && value !== undefined);
  const hue = ({ kind }: { kind: string }): string =>
    kind === "artefacts" ? COLOURS[theme].heads[1]! : "var(--accent)";
  const drawing = Plot.plot({
    ...FRAME,
    width,
    marginLeft: 44,
    x: { label: null, tickSize: 0, ticks: Math.min(8, info.layers.length), tickFormat: String },
    y: { label: null, tickSize: 0, ticks: 4, zero: true },
    marks: [
      Plot.gridY({ stroke: "var(--line)", strokeOpacity: 1, ticks: 4 }),
      Plot.lineY(known, { x: "layer", y: "value", z: "kind", stroke: hue, strokeWidth: 1.5 }),
      Plot.dot(known, { x: "layer", y: "value", fill: hue, r: 2.2 }),
      Plot.text(
        known.filter(({ layer }) => layer === info.layers.at(-1)),
        { x: "layer", y: "value", text: "kind", textAnchor: "end", dy: -9, fill: hue },
      ),
    ],
  });
  return named(drawing, `Mean ${info.of} behind each layer, of artefacts and of other patches`);
}

/** Where in a picture artefacts sit. */
function where(info: ArtefactsSection, host: Host): HTMLElement {
  const values = info.where.flat().map((value) => value ?? NaN);
  const scale = scaleOf("artefacts", Float64Array.from(values), new Float64Array());
  const columns = info.where[0]?.length ?? 1;
  const side = Math.floor((HEIGHT - 24) / Math.max(columns, info.where.length));
  const most = Math.max(...values.filter(Number.isFinite));
  const canvas = h("canvas", {
    role: "img",
    "aria-label": `Where artefacts sit in a picture: at most ${percent(most)} of the patches of a part`,
  });
  draw(canvas, columns * side, info.where.length * side, (pen) =>
    values.forEach((value, i) => {
      if (!Number.isFinite(value)) return;
      pen.fillStyle = css(pixel(scale, value, host.now.theme));
      pen.fillRect((i % columns) * side, Math.floor(i / columns) * side, side - 1, side - 1);
    }),
  );
  return canvas;
}

export const section: Section<ArtefactsSection> = (element, info, host) => {
  const some = info.heads.length > 0;
  const interval = info.low !== null && info.high !== null ? ` (${percent(info.low)} to ${percent(info.high)})` : "";
  const figure = brief(info.cutoff);
  const said = some
    ? `${percent(info.share)}${interval} of ${plural(info.n, "patch").replace(/patchs$/, "patches")}: ${info.of} above ${figure}, median ${brief(info.median)}.`
    : `None of ${whole(info.n)} patches: no ${info.of} is above ${figure}, the median is ${brief(info.median)}.`;
  const boxes = { spread: h("div"), layers: h("div"), where: h("div") };
  const charts = h(
    "div.norms",
    {},
    captioned(`Patches by ${info.of}`, null, boxes.spread),
    captioned(`Mean ${info.of} by layer`, null, boxes.layers),
    some && captioned("Where they sit", null, boxes.where),
  );
  element.append(h("p.said", {}, said), charts);
  const heads = append(element, info.heads, info.kind, host);
  const drawn = new Of();
  const update = (now: Now): void => {
    heads.update?.(now);
    if (!drawn.renewed(now.width, now.theme)) return;
    const columns = now.width < 500 ? 1 : some ? 3 : 2;
    const width = beside(charts, now.width, columns, 24, 420);
    boxes.spread.replaceChildren(histogram(info, width, now.theme));
    boxes.layers.replaceChildren(byLayer(info, width, now.theme));
    if (some) boxes.where.replaceChildren(where(info, host));
  };
  return { ...heads, update, picture: charts };
};
