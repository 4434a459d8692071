// A paragraph.

import type { TextBlock } from "../../protocol";
import { h } from "../../ui/dom";
import { firstHeads, spoken } from "../parts";
import type { Block } from "./block";

const ELEMENTS = {
  plain: "p.says",
  headline: "p.headline",
  heads: "div.named",
  note: "p.note",
  part: "h3.part",
  why: "p.why",
} as const;

export const text: Block<TextBlock> = ({ tone, parts }, { host }) => ({
  root: h(
    ELEMENTS[tone],
    { role: tone === "why" ? "note" : null },
    ...(tone === "heads" ? firstHeads(parts, host) : spoken(parts, host, tone === "plain" ? new Set() : undefined)),
  ),
});
