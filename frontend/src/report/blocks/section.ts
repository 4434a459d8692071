// A section that is data: its blocks, one below another.

import type { BlocksSection } from "../../protocol";
import { h } from "../../ui/dom";
import type { Drawn, Host, Section } from "../host";
import { beside } from "./beside";
import type { Block, Info, Place } from "./block";
import { cards } from "./cards";
import { caseOf } from "./cases";
import { chart } from "./chart";
import { folded } from "./folded";
import { glances } from "./glances";
import { graph } from "./graph";
import { heads } from "./heads";
import { items } from "./items";
import { list } from "./list";
import { measures } from "./measures";
import { table } from "./table";
import { text } from "./text";

const BLOCKS: { readonly [Kind in Info["kind"]]: Block<Extract<Info, { kind: Kind }>> } = {
  ...{ beside, cards, case: caseOf, chart, folded, glances, graph, heads, items, list, measures, table, text },
};

/** Draw blocks at the end of a section, which has this name. */
export function append(element: HTMLElement, blocks: readonly Info[], section: string, host: Host): Drawn {
  const within: Place["within"] = (infos) => {
    const made = infos.map((info) => (BLOCKS[info.kind] as Block<Info>)(info, { host, section, element, within }));
    return {
      roots: made.map(({ root }) => root),
      update: (now) => made.forEach(({ update }) => update?.(now)),
      settled: () => made.every(({ settled }) => settled?.() ?? true),
      tables: Object.assign({}, ...made.map(({ tables }) => tables)),
      picture: made.find(({ picture }) => picture)?.picture,
      row: made.find(({ row }) => row)?.row,
      drawn: made.every(({ picture }) => picture),
    };
  };
  const { roots, drawn, ...all } = within(blocks);
  const box = h("div");
  element.append(box);
  for (const root of roots) {
    // What is folded stands beside what is folded.
    const last = box.lastElementChild;
    if (!root.matches("details")) box.append(root);
    else if (last?.matches(".folds")) last.append(root);
    else box.append(h("div.folds", root));
  }
  return drawn ? { ...all, picture: box } : all;
}

export const section: Section<BlocksSection> = (element, { name, blocks }, host) => append(element, blocks, name, host);
