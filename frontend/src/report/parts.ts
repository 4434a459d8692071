// Sentences whose parts name heads.

import type { Part } from "../protocol";
import { shown } from "../scene/format";
import { type Child, h } from "../ui/dom";
import type { Host } from "./host";
import { headLink } from "./rows";
import { explained } from "./terms";

/**
 * The parts of a sentence: names open their heads. Words that need it are explained where they stand first, where
 * `seen` are the meanings that have been told.
 */
export function spoken(parts: readonly Part[], host: Host, seen?: Set<string>): Child[] {
  const said: Child[] = [];
  let last: HTMLElement | null = null;
  for (const { text, layer, head, reason, token, title } of parts) {
    const cell = reason && host.figures.find(layer, head);
    // A line may break at a button, but none begins with the comma behind it.
    const mark: string = last && !cell ? /^[,;.)]*/.exec(text)![0] : "";
    if (last && mark) said.splice(-1, 1, h("span.together", {}, last, mark));
    last = cell && headLink(host, cell, text, reason!, title);
    const rest = text.slice(mark.length);
    if (last) said.push(last);
    else if (token) said.push(h("b", {}, shown(rest)));
    else if (seen) said.push(...explained(rest, host, seen).filter((child) => child !== ""));
    else said.push(rest);
  }
  return said;
}
