// What can be saved of a section: each of its tables as CSV and Parquet, and its picture as SVG.

import { h } from "../dom";
import { svg } from "../explorer/export";
import { download } from "../explorer/save";
import { stem } from "./figures";
import type { Drawn, Host } from "./host";
import { csv, parquet } from "./table";

const PAPER = "#ffffff";

/** Put what can be saved of a section into an element beside its title. */
export function offer(element: HTMLElement, title: string, { tables, picture }: Drawn, host: Host): void {
  const name = `${stem(host.figures.payload)}-${slug(title)}`;
  const named = Object.entries(tables ?? {});
  for (const [of, table] of named) {
    const several = named.length > 1;
    const file = several ? `${name}-${slug(of)}` : name;
    if (several) element.append(h("span", {}, of));
    element.append(
      save("CSV", several ? of : "", () => download(`${file}.csv`, new Blob([csv(table())], { type: "text/csv" }))),
      save("Parquet", several ? of : "", () => download(`${file}.parquet`, new Blob([parquet(table())], { type: "application/vnd.apache.parquet" }))),
    );
  }
  if (!picture) return;
  const drawn = (): void => download(`${name}.svg`, new Blob([host.light(() => svg(picture, PAPER, title))], { type: "image/svg+xml" }));
  element.append(save("SVG", "", drawn));
}

const save = (text: string, of: string, onclick: () => void): HTMLElement =>
  h("button.link", { type: "button", onclick, title: `Save ${of && `${of} `}as ${text}` }, text);

/** A title as a part of a name or an address. */
export const slug = (title: string): string => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
