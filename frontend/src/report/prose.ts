// The head and the foot of a report: what was measured, and what made it.

import type { CorpusInfo, ReportPayload } from "../protocol";
import { duration, parameters, percent, plural } from "../scene/format";
import { h } from "../ui/dom";
import { folded } from "./rows";

const CLASS_NAMES: Record<string, string> = { sep: "separators", cls: "[CLS]", first: "first tokens" };

/** `60 documents`, `413 examples`, …, `11% of words in several pieces`: what is known. */
function corpusText({ noun, documents, examples, tokens, words, split_words }: CorpusInfo): string[] {
  // Each picture is a document of its own, unless it is said.
  const apart = noun === "examples" || documents !== examples;
  const counts = Object.entries({
    ...(apart && { document: documents }),
    [noun.slice(0, -1)]: examples,
    token: tokens,
    word: words || null,
  });
  const known = counts.flatMap(([one, count]) => (count === null ? [] : [plural(count, one)]));
  return split_words === null ? known : [...known, `${percent(split_words)} of words in several pieces`];
}

function shareText(shares: Record<string, number>): string {
  return Object.entries(shares)
    .filter(([, share]) => share > 0)
    .map(([name, share]) => `${percent(share)} ${CLASS_NAMES[name] ?? name}`)
    .join(", ");
}

const day = (iso: string): string => {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : iso.slice(0, 10);
};

export function lead({ corpus, model, title, created }: ReportPayload): HTMLElement {
  const counts = corpusText({ ...corpus, words: null, split_words: null });
  const facts = [corpus.name, ...counts, created && day(created)].filter((fact): fact is string => Boolean(fact));
  return h(
    "div.lead",
    h("h1", title),
    h("p.facts", ...facts.map((fact) => h("span", fact))),
    model.unseen !== "" && h("p.unseen", { role: "note" }, model.unseen),
  );
}

export function provenance(payload: ReportPayload): HTMLElement {
  const { model, corpus, route, seconds } = payload;
  const rows: [string, string | null][] = [
    ["model", model.name],
    ["revision", model.revision],
    ["size", model.parameters === null ? null : `${parameters(model.parameters)} parameters`],
    ["heads", `${model.layers} × ${model.heads}${model.causal ? ", causal" : ""}`],
    ["dtype", model.dtype],
    ["corpus", [corpus.name, ...corpusText(corpus)].filter(Boolean).join(", ")],
    ["of the tokens", shareText(corpus.shares) || null],
    ["route", route],
    ...Object.entries(payload.options),
    ...Object.entries(payload.versions),
    ["made", payload.created],
    ["in", seconds === null ? null : duration(seconds)],
    ["command", payload.command],
  ];
  const entries = rows.flatMap(([name, value]) => (value ? [h("dt", name), h("dd", value)] : []));
  const bytes = payload.examples.some((example) => !example.exact);
  const note = bytes ? "Figures are exact; the weights in the maps of examples are off by less than 0.004." : null;
  return h(
    "footer",
    h("h2", "What made this page"),
    folded("Model, corpus, options and versions", h("dl.made", ...entries), note && h("p.dim", note)),
  );
}

/** `6 layers × 12 heads`. */
export const shape = (payload: ReportPayload): string =>
  `${plural(payload.model.layers, "layer")} × ${plural(payload.model.heads, "head")}`;
