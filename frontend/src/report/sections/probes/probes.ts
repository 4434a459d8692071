// Probes for dependency trees: what all heads know together.

import { h } from "../../../dom";
import { range, share, whole } from "../../../format";
import type { ProbesSection } from "../../../protocol";
import type { Section } from "../../host";
import { bar, notes, number, table } from "../../rows";

const COLUMNS = ["probe", "0 – 1", "UAS", "UUAS", "control", "selectivity", "parameters", "in the paper"];

export const section: Section<ProbesSection> = (element, info) => {
  const rows = info.rows.map((row) =>
    h(
      "tr",
      { style: "cursor:default" },
      h("th", { scope: "row" }, row.probe),
      h("td.graph", {}, bar(row.uas, row.low, row.high)),
      h("td.n.strong", {}, share(row.uas), row.low !== null && h("span.range", {}, range(row.low, row.high))),
      number(share(row.uuas)),
      number(share(row.control)),
      number(share(row.selectivity)),
      number(whole(row.parameters)),
      h("td.n.dim", {}, share(row.printed, 2)),
    ),
  );
  const others = info.printed.map(({ label, values }) =>
    h("tr.off", {}, h("th.wraps", { scope: "row" }, label), ...Array.from({ length: COLUMNS.length - 2 }, () => h("td")), h("td.n", {}, share(values[0] ?? null, 2))),
  );
  if (info.small) element.append(h("p.why", { role: "note" }, info.small));
  element.append(table("Probes", COLUMNS, new Set(COLUMNS.slice(2)), [rows, others]), notes(info.notes));
  return {
    tables: {
      probes: () => ({
        columns: { probe: "text", uas: "float", uas_low: "float", uas_high: "float", uuas: "float", spearman: "float", control: "float", selectivity: "float", parameters: "int" },
        rows: info.rows.map((row) => [row.probe, row.uas, row.low, row.high, row.uuas, row.spearman, row.control, row.selectivity, row.parameters]),
      }),
    },
  };
};
