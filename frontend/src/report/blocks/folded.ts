// What is unfolded by a click.

import type { FoldedBlock } from "../../protocol";
import { folded as details } from "../rows";
import type { Block } from "./block";

export const folded: Block<FoldedBlock> = ({ summary, blocks }, { within }) => {
  const { roots, ...drawn } = within(blocks);
  return { root: details(summary, ...roots), ...drawn };
};
