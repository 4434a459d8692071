// Probes for dependency trees: what all heads know together.

import type { ProbesSection } from "../../../protocol";
import { range, share, whole } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { bar } from "../../bars";
import type { Section } from "../../host";
import { number, table } from "../../rows";
import { records, type Table } from "../../table";

const COLUMNS = ["probe", "0 – 1", "UAS", "UUAS", "control", "selectivity", "parameters", "in the paper"];

function saved({ rows }: ProbesSection): Table {
  const columns = {
    probe: "text",
    uas: "float",
    uas_low: "float",
    uas_high: "float",
    uuas: "float",
    spearman: "float",
    control: "float",
    selectivity: "float",
    parameters: "int",
  } as const;
  return records(
    columns,
    rows.map((row) => ({ ...row, uas_low: row.low, uas_high: row.high })),
  );
}

export const section: Section<ProbesSection> = (element, info, host) => {
  const rows = info.rows.map((row) =>
    h(
      "tr.plain",
      {},
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
    h(
      "tr.off",
      {},
      h("th.wraps", { scope: "row" }, label),
      ...COLUMNS.slice(2).map(() => h("td")),
      h("td.n", {}, share(values[0] ?? null, 2)),
    ),
  );
  if (info.small) element.append(h("p.why", { role: "note" }, info.small));
  element.append(table(host, "Probes", COLUMNS, new Set(COLUMNS.slice(2)), [rows, others]));
  return { tables: { probes: () => saved(info) } };
};
