// What can be saved of a section: each of its tables as CSV and Parquet, and its picture as SVG.

import { h } from "../ui/dom";
import { download } from "../ui/save";
import { svg } from "./drawing";
import type { Drawn, Host } from "./host";
import { csv, parquet } from "./table";

const PAPER = "#ffffff";

/** Put what can be saved of a section into an element beside its title. */
export function offer(element: HTMLElement, title: string, { tables, picture }: Drawn, host: Host): void {
  const model = host.figures.payload.model.name.replace(/[^\w.-]+/g, "-").replace(/^[-.]+/, "") || "model";
  const save = (
    text: string,
    table: string,
    suffix: string,
    type: string,
    make: () => string | ArrayBuffer,
  ): HTMLElement => {
    const name = [model, slug(title), table && slug(table)].filter(Boolean).join("-");
    const onclick = (): void => download(`${name}.${suffix}`, new Blob([make()], { type }));
    return h("button.link", { onclick, title: `Save ${table && `${table} `}as ${text}` }, text);
  };
  const named = Object.entries(tables ?? {});
  for (const [name, table] of named) {
    const label = named.length > 1 ? name : "";
    if (label) element.append(h("span", label));
    element.append(save("CSV", label, "csv", "text/csv", () => csv(table())));
    element.append(save("Parquet", label, "parquet", "application/vnd.apache.parquet", () => parquet(table())));
  }
  if (picture)
    element.append(save("SVG", "", "svg", "image/svg+xml", () => host.light(() => svg(picture, PAPER, title))));
}

/** A title as a part of a name or an address. */
const slug = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
