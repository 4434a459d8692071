// A paragraph.

import type { TextBlock } from "../../protocol";
import { h } from "../../ui/dom";
import { spoken } from "../parts";
import type { Block } from "./block";

const ELEMENTS = { plain: "p.says", note: "p.note", why: "p.why" } as const;

export const text: Block<TextBlock> = ({ tone, parts }, { host }) => ({
  root: h(ELEMENTS[tone], { role: tone === "why" ? "note" : null }, ...spoken(parts, host)),
});
