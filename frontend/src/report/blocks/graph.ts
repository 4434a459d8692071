// A graph of heads: who feeds whom, from the left to the right; a head opens, and an edge opens its reader.

import type { GraphBlock } from "../../protocol";
import { clamp, percent } from "../../scene/format";
import { h, s } from "../../ui/dom";
import { drawing } from "../bars";
import type { Host } from "../host";
import { opens } from "../reasons";
import { tipOn } from "../tip";
import type { Block } from "./block";

const KINDS = { K: "what its keys read", Q: "what its queries read", V: "what its values read" } as const;
const [HALF, ROW, TOP] = [41, 46, 24] as const;

interface Node {
  readonly x: number;
  readonly y: number;
}

/** Where heads stand: a column for each layer that there is, in each in the order of the heads that feed them. */
export function places({ heads, edges }: Pick<GraphBlock, "heads" | "edges">): Node[] {
  const layers = [...new Set(heads.map(({ layer }) => layer!))].sort((a, b) => a - b);
  const step = clamp(640 / Math.max(1, layers.length - 1), 104, 170);
  const rows = new Map<number, number>();
  for (const layer of layers) {
    const fed = (at: number): number => {
      const before = edges.filter(({ reader }) => reader === at).map(({ writer }) => rows.get(writer) ?? 0);
      return before.length > 0 ? before.reduce((sum, row) => sum + row, 0) / before.length : 0;
    };
    const mine = [...heads.keys()].filter((at) => heads[at]!.layer === layer);
    mine.sort((a, b) => fed(a) - fed(b) || heads[a]!.head! - heads[b]!.head!).forEach((at, row) => rows.set(at, row));
  }
  const most = Math.max(...layers.map((layer) => heads.filter((head) => head.layer === layer).length));
  return heads.map((head, at) => {
    const many = heads.filter(({ layer }) => layer === head.layer).length;
    return {
      x: HALF + 2 + step * layers.indexOf(head.layer!),
      y: TOP + ROW * (rows.get(at)! + 0.5 + (most - many) / 2),
    };
  });
}

function drawn(info: GraphBlock, host: Host): SVGElement {
  const at = places(info);
  const [width, height] = [Math.max(...at.map(({ x }) => x)) + HALF + 2, Math.max(...at.map(({ y }) => y)) + ROW / 2];
  const cell = (place: number) => host.figures.find(info.heads[place]!.layer, info.heads[place]!.head);
  const edges = info.edges.map(({ writer, reader, kind, share, reason }) => {
    const [from, to] = [at[writer]!, at[reader]!];
    const off = 6 * (Object.keys(KINDS).indexOf(kind) - 1);
    const [x, y, middle] = [from.x + HALF, to.x - HALF, (from.x + to.x) / 2];
    const found = cell(reader);
    const says = `${info.heads[reader]!.text} ← ${info.heads[writer]!.text}, ${kind}: ${percent(share)}`;
    return s("path", {
      d: `M${x} ${from.y + off}C${middle} ${from.y + off} ${middle} ${to.y + off} ${y} ${to.y + off}`,
      class: kind,
      "stroke-width": 1 + 5 * share,
      ...tipOn(host, () => h("div", says)),
      ...(found && opens(host, found, reason)),
    });
  });
  const nodes = info.heads.map(({ text, title, reason }, place) => {
    const [{ x, y }, found] = [at[place]!, cell(place)];
    return s(
      "g",
      { ...(found && reason && opens(host, found, reason)) },
      s("rect", { x: x - HALF, y: y - 17, width: 2 * HALF, height: 34, rx: 6 }),
      s("text", { x, y: title ? y - 2 : y + 4 }, text),
      title && s("text", { x, y: y + 11, class: "role" }, title),
    );
  });
  const columns = new Map(info.heads.map(({ layer }, place) => [layer, at[place]!.x]));
  const layers = [...columns].map(([layer, x]) => s("text", { x, y: 14, class: "layer" }, `layer ${layer}`));
  return drawing("graph", width, height, ...layers, ...edges, ...nodes);
}

export const graph: Block<GraphBlock> = (info, { host }) => {
  const sample = (kind: string): SVGElement =>
    drawing("graph", 22, 10, s("path", { d: "M1 5H21", class: kind, "stroke-width": 3 }));
  const there = Object.entries(KINDS).filter(([kind]) => info.edges.some((edge) => edge.kind === kind));
  const box = h("div.tablebox", { tabindex: 0, role: "region", "aria-label": info.title }, drawn(info, host));
  const key = there.map(([kind, text]) => h("span", sample(kind), `${kind}: ${text}`));
  const root = h("div.block", box, h("div.key", ...key, h("span.dim", "wider is more")));
  return { root, picture: root };
};
