// Sentences whose parts name heads.

import type { Part } from "../protocol";
import { shown } from "../scene/format";
import { type Child, h } from "../ui/dom";
import type { Host } from "./host";
import { headLink } from "./rows";
import { explained } from "./terms";

/** Heads of a list that are named before the rest are asked for. */
const NAMED = 6;

/** Names set off by commas. */
export const listed = (parts: readonly Part[], host: Host): Child[] =>
  parts.flatMap((part, i): Child[] => [i > 0 && ", ", ...spoken([part], host)]);

/** Names of heads, where there are many the first, and the others folded; pointed at, each says its figure. */
export function firstHeads(parts: readonly Part[], host: Host): Child[] {
  const said = (some: readonly Part[]): Child[] =>
    listed(
      some.map((part) => ({ ...part, title: part.reason?.figure ?? "" })),
      host,
    );
  const rest = parts.slice(NAMED);
  return [
    ...(parts.length > 0 ? said(parts.slice(0, NAMED)) : ["–"]),
    rest.length > 0 && h("details.rest", h("summary", `and ${rest.length} more`), ...said(rest)),
  ];
}

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
    if (last && mark) said.splice(-1, 1, h("span.together", last, mark));
    last = cell && headLink(host, cell, text, reason!, title || null);
    const rest = text.slice(mark.length);
    if (last) said.push(last);
    else if (token) said.push(h("b", shown(rest)));
    else if (seen) said.push(...explained(rest, host, seen).filter((child) => child !== ""));
    else said.push(rest);
  }
  return said;
}
