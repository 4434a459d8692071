// Two models on the same inputs: how far each head moved, what changed most, and what became of roles.

import { Of } from "../../../scene/made";
import "./compare.css";
import type { CompareSection, Reason } from "../../../protocol";
import { figure } from "../../../scene/format";
import { h } from "../../../ui/dom";
import type { Info } from "../../blocks/block";
import { append } from "../../blocks/section";
import type { Now, Section } from "../../host";
import { because } from "../../reasons";
import { heads, quantities } from "./data";
import { CompareMap } from "./map";

export const section: Section<CompareSection> = (element, given, host) => {
  if (given.layer.length === 0) return append(element, given.blocks, given.kind, host);
  // Measures are called what they are called in the rest of the report.
  const { figures } = host;
  const info = {
    ...given,
    measures: given.measures.map((measure) => ({
      ...measure,
      title: figures.has(measure.name) ? figures.measure(measure.name).info.title : measure.title,
    })),
  };
  const kinds = quantities(info);
  const cells = info.layer.map((layer, i) => figures.find(layer, info.head[i]!));
  let quantity = kinds[0]!;
  // A head opens on the example that has the maps of both models.
  const open = (index: number): void => {
    const { title, units, values } = quantity;
    const score = units === "share" ? figure(values[index]!) : `${figure(values[index]!, 2)} ${units}`;
    const reason = because(title, score, { example: info.example[index] ?? null, pin: info.pin[index] ?? null });
    if (cells[index]) host.open(cells[index], reason);
  };
  // So are the reasons for which their rows and names open a head.
  const why = <Own extends Reason | null>(reason: Own, row: number): Own =>
    reason && { ...reason, says: kinds[row + 1]!.title };
  const renamed = (block: Info): Info =>
    block.kind === "table" && block.name === "changed"
      ? {
          ...block,
          reasons: block.reasons.map(why),
          heads: {
            next: block.heads!.next!.map((parts, row) =>
              parts.map((part) => ({ ...part, reason: why(part.reason, row) })),
            ),
          },
        }
      : block;
  const map = new CompareMap(info, cells, quantity, host, open);
  const drawn = new Of();
  const draw = (now: Now): void => {
    if (drawn.renewed(now.width, now.theme, quantity.name)) map.draw(quantity, now);
    else map.select(now.cell);
  };
  const select: HTMLSelectElement = h(
    "select.kinds",
    { "aria-label": "What the map shows", onchange: () => show(select.value) },
    ...kinds.map(({ name, title }) => h("option", { value: name }, title)),
  );
  const show = (name: string): void => {
    quantity = kinds.find((kind) => kind.name === name) ?? kinds[0]!;
    select.value = quantity.name;
    draw(host.now);
  };
  element.append(
    h("label.showing", {}, h("span.cap", {}, "Show"), select),
    map.root,
    h("h3.part", {}, "What changed most"),
  );
  element.addEventListener("measure", (event) => {
    show((event as CustomEvent<string>).detail);
    map.root.scrollIntoView({ behavior: "smooth", block: "nearest" });
  });
  const { update, tables } = append(element, info.blocks.map(renamed), info.kind, host);
  return {
    update: (now) => {
      draw(now);
      update!(now);
    },
    tables: { heads: () => heads(given), ...tables },
    picture: map.root,
  };
};
