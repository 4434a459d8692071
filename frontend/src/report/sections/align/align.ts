// Heads of a decoder by how well they find words in a sound: a row a head, which opens on the decoder's part of an
// example.

import type { AlignRow, AlignSection } from "../../../protocol";
import { code, fixed, paper, plural, range, share } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { bar } from "../../bars";
import type { Section } from "../../host";
import { number, table } from "../../rows";
import { HEAD, records, type Table } from "../../table";

const COLUMNS = ["head", "paper", "0 – 1", "words found", "in order", "seconds off", ""];

function saved({ rows }: AlignSection): Table {
  const columns = {
    accuracy: "float",
    ci_low: "float",
    ci_high: "float",
    monotonic: "float",
    error: "float",
    chosen: "text",
  } as const;
  return records(
    { ...HEAD, ...columns },
    rows.map((row) => ({ ...row, ci_low: row.low, ci_high: row.high, chosen: String(row.chosen) })),
  );
}

export const section: Section<AlignSection> = (element, info, host) => {
  const { example } = info;
  const rowOf = (row: AlignRow): HTMLElement => {
    const show =
      example === null
        ? null
        : () =>
            host.look(example, {
              scale: "head",
              part: info.part,
              layer: row.layer,
              heads: [row.head],
              pin: null,
              between: null,
            });
    const name = code(row.layer, row.head);
    return h(
      "tr",
      { "data-cross": name, onclick: show },
      h("th", { scope: "row" }, show ? h("button.headname", { type: "button" }, name) : name),
      h("td.dim", {}, paper(row.layer, row.head)),
      h("td.graph", {}, bar(row.accuracy, row.low, row.high)),
      h(
        "td.n.strong",
        {},
        share(row.accuracy),
        row.low !== null && row.high !== null && h("span.range", {}, range(row.low, row.high)),
      ),
      number(share(row.monotonic)),
      number(row.error === null ? "–" : fixed(row.error, 2)),
      h("td.dim", {}, row.chosen ? "aligns best" : ""),
    );
  };
  const more = info.heads > info.rows.length ? `The best ${info.rows.length} of ${plural(info.heads, "head")}. ` : "";
  element.append(
    h("p.said", {}, `${more}A random frame would find ${share(info.chance)} of the words.`),
    table(host, "Heads of the decoder that find words", COLUMNS, new Set(["words found", "in order", "seconds off"]), [
      info.rows.map(rowOf),
    ]),
  );
  return { tables: { heads: () => saved(info) } };
};
