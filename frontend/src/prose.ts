// The words of a report: what was measured, what was found, what each figure means, and what made them.

import { h } from "./dom";
import type { Figures } from "./figures";
import { duration, parameters, percent, plural } from "./format";
import type { Host } from "./host";
import type { CorpusInfo, ReportPayload } from "./protocol";

const CLASS_NAMES: Record<string, string> = { sep: "separators", cls: "[CLS]", first: "first tokens" };

/** `413 examples of 60 documents, 52,341 tokens; 11% of the words are split.` */
export function corpusText(corpus: CorpusInfo): string[] {
  const { documents, examples, tokens, words, split_words: split } = corpus;
  const parts: string[] = [];
  if (documents !== null) parts.push(plural(documents, "document"));
  if (examples !== null) parts.push(plural(examples, "example"));
  if (tokens !== null) parts.push(plural(tokens, "token"));
  if (words !== null) parts.push(plural(words, "word"));
  if (split !== null) parts.push(`${percent(split)} of words in several pieces`);
  return parts;
}

export function shareText(shares: Record<string, number>): string {
  return Object.entries(shares)
    .filter(([, share]) => share > 0)
    .map(([name, share]) => `${percent(share)} ${CLASS_NAMES[name] ?? name}`)
    .join(", ");
}

const day = (iso: string): string => {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : iso.slice(0, 10);
};

export function lead(payload: ReportPayload, figures: Figures, host: Host): HTMLElement {
  const { corpus, title, created, command } = payload;
  const facts = [corpus.name, ...corpusText(corpus), created && day(created)].filter((fact): fact is string => Boolean(fact));
  const sentences = payload.summary.map((parts) =>
    h(
      "li",
      {},
      ...parts.map((part) => {
        const cell = part.layer === null || part.head === null ? null : figures.find(part.layer, part.head);
        return cell ? h("button.headlink", { type: "button", onclick: () => host.open(cell) }, part.text) : part.text;
      }),
    ),
  );
  return h(
    "div.lead",
    {},
    h("h1", {}, title),
    h("p.facts", {}, ...facts.map((fact) => h("span", {}, fact)), command && h("code", {}, command)),
    sentences.length > 0 && h("ul.summary", {}, ...sentences),
  );
}

/** Measures that do not apply, with the reason; null when there are none. */
export function absent(payload: ReportPayload): HTMLElement | null {
  if (payload.absent.length === 0) return null;
  const entries = payload.absent.flatMap(({ measure, reason }) => [h("dt", {}, measure), h("dd", {}, reason)]);
  return h("section.absent", {}, h("h2", {}, "Not measured here"), h("dl.notes", {}, ...entries));
}

export function methods(figures: Figures, host: Host): HTMLElement {
  const entries = figures.measures.flatMap((measure) => {
    const { title, description, units, by, over, source, name } = measure.info;
    const how = [
      units === "share" ? "share of attention" : units,
      by && `mean over ${by}s`,
      over && `between ${over}`,
      source,
    ].filter(Boolean);
    return [
      h("dt", {}, h("button.link", { type: "button", onclick: () => host.set({ measure: name }) }, title), h("code.dim", {}, name)),
      h("dd", {}, description, h("span.dim", {}, how.join(" · "))),
    ];
  });
  return h(
    "section",
    {},
    h("h2", {}, "What each figure means"),
    h(
      "p.about",
      {},
      "Every figure is a mean over the corpus with its standard error, clustered by document. ",
      "The dashed line is what attention spread evenly over the visible tokens would give.",
    ),
    h("dl.notes", {}, ...entries),
  );
}

const ROUTES: Record<string, string> = {
  fused: "fused (exact statistics without forming the maps)",
  blocks: "by blocks of queries",
};

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
    ["route", route && (ROUTES[route] ?? route)],
    ...Object.entries(payload.options).map(([name, value]): [string, string] => [name, value]),
    ...Object.entries(payload.versions).map(([name, value]): [string, string] => [name, value]),
    ["made", payload.created],
    ["in", seconds === null ? null : duration(seconds)],
    ["command", payload.command],
  ];
  const entries = rows.flatMap(([name, value]) => (value ? [h("dt", {}, name), h("dd", {}, value)] : []));
  const bytes = payload.examples.some((example) => example.layers.some((ref) => ref.encoding === "sqrt"));
  const note = bytes ? "Figures are exact; the weights in the maps of examples are off by less than 0.004." : null;
  return h("footer", {}, h("h2", {}, "What made this page"), h("dl.made", {}, ...entries), note && h("p.dim", {}, note));
}

/** `6 layers × 12 heads`. */
export const shape = (payload: ReportPayload): string =>
  `${plural(payload.model.layers, "layer")} × ${plural(payload.model.heads, "head")}`;
