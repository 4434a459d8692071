// The atlas of heads: every head a point by any two figures, with marks that stay, its card, and its queries and keys.

import { Of } from "../../../scene/made";
import "./atlas.css";
import type { AtlasSection, ChartColour, Reason } from "../../../protocol";
import { COLOURS } from "../../../scene/color";
import { Store } from "../../../scene/data";
import { clamp, code, figure, paper, plural } from "../../../scene/format";
import { h } from "../../../ui/dom";
import { fromPage } from "../../../ui/embedded";
import { tableOf } from "../../blocks/heads";
import { Rows } from "../../blocks/table";
import { colourOf } from "../../chart";
import { type Cell, type Measure, orNull, same } from "../../figures";
import { allHeads, parseFilter } from "../../filter";
import type { Now, Section } from "../../host";
import { ofMeasure } from "../../reasons";
import { HEAD, records, type Table } from "../../table";
import { headTip, tipTable } from "../../tip";
import { Plane } from "./plane";
import { type Axis, Scatter, type Window } from "./scatter";

/** Between the two pictures, in pixels. */
const GAP = 24;

interface Choice extends Axis {
  readonly id: string;
  readonly measure: Measure | null;
}

function saved({ layer, head, roles, places }: AtlasSection): Table {
  const rows = layer.map((_, i) => ({
    layer: layer[i],
    head: head[i],
    roles: roles[i]!.join("; "),
    x: places?.[i]?.[0],
    y: places?.[i]?.[1],
  }));
  return records({ ...HEAD, roles: "text", x: "float", y: "float" }, rows);
}

export const section: Section<AtlasSection> = (element, info, host) => {
  const { figures } = host;
  const { layer, head, roles, places } = info;
  const cells = layer.map((_, i) => figures.find(layer[i]!, head[i]!));
  const nameOf = (i: number): string => code(layer[i]!, head[i]!);
  const shown = figures.payload.sections.flatMap((info) => (info.kind === "blocks" ? info.blocks : []));
  const known = shown.flatMap((block) => (block.kind === "cards" ? block.cards : []));
  const cards = new Map(known.map((card) => [code(card.layer, card.head), card]));

  const measured = figures.told.map(
    (measure): Choice => ({
      id: measure.name,
      title: measure.info.title + (measure.isShare ? "" : `, ${measure.info.units}`),
      measure,
      values: cells.map((cell) => (cell ? measure.value(cell) : NaN)),
    }),
  );
  const placed = [0, 1].map(
    (axis): Choice => ({
      id: `map ${"xy"[axis]}`,
      title: `map by distances, ${"xy"[axis]}`,
      measure: null,
      place: true,
      values: layer.map((_, i) => places?.[i]?.[axis] ?? NaN),
    }),
  );
  // Heads of a layer stand beside one another.
  const step = 0.6 / Math.max(1, Math.max(...head) - Math.min(...head));
  const layered: Choice = {
    id: "layer",
    title: "layer",
    measure: null,
    values: layer.map((own, i) => own + step * (head[i]! - (Math.max(...head) + Math.min(...head)) / 2)),
  };
  const choices = [...(places ? placed : []), layered, ...measured];
  const find = (id: string): Choice => choices.find((choice) => choice.id === id) ?? choices[0]!;

  // By role where there are as many colours, and at first where a role says something of most; else by layer.
  const leading = roles.map((own) => own[0] ?? null);
  const groups = [...new Set(leading.filter((name) => name !== null))];
  const byRole = groups.length > 0 && groups.length <= COLOURS.light.heads.length;

  const many = 4 * leading.filter((name) => name !== null).length >= leading.length;
  const state = {
    x: choices[0]!.id,
    y: (places ? choices[1]! : (measured[0] ?? layered)).id,
    color: byRole && many ? "role" : "layer",
  };
  let marks: ReadonlySet<number> | null = null;
  let [zoom, window]: [Window | null, Window | null] = [null, null];

  const menu = (
    name: keyof typeof state,
    label: string,
    options: readonly (readonly [id: string, title: string])[],
  ): HTMLElement => {
    const select: HTMLSelectElement = h(
      "select",
      {
        "aria-label": label,
        onchange: () => {
          state[name] = select.value;
          if (name !== "color") [zoom, window] = [null, null];
          redraw();
        },
      },
      ...options.map(([value, title]) => h("option", { value, selected: value === state[name] }, title)),
    );
    return h("label.pick", h("span.dim", label), select);
  };
  const options = choices.map(({ id, title }) => [id, title] as const);
  const colors = [
    ...(byRole ? [["role", "role"] as const] : []),
    ["layer", "layer"] as const,
    ...measured.map(({ id, title }) => [id, title] as const),
  ];
  const filter: HTMLInputElement = h("input.find.short", {
    type: "search",
    placeholder: "L5 entropy<1",
    "aria-label": "Filter the heads of the atlas",
    spellcheck: "false",
    oninput: () => redraw(),
  });
  const [status, closer, clear] = [
    h("span.dim", { role: "status" }),
    h("button.link", { onclick: () => (([zoom, window] = [window, null]), redraw()) }, "Zoom in"),
    h("button.link", { onclick: () => reset() }, "Show all"),
  ];
  const scatter = new Scatter(
    host,
    cells,
    (row) => tip(row),
    (row) => host.open(cells[row]!, reasonOf(row)),
    (heads, spanned) => {
      [marks, window] = [heads, spanned];
      redraw();
    },
  );
  const list = h("div.marked");
  const store = new Store(fromPage);
  const plane = info.planes && new Plane(host, info.planes, (row) => cells[row] ?? null, store);
  const none = h(
    "p.note",
    figures.payload.examples.length > 0
      ? "There are no queries and keys: in the maps of these examples several tokens stand together."
      : "There are no queries and keys: the page was made without examples.",
  );
  const upper = h("div.inner", h("div", h("h3", "Heads"), scatter.charted.root), plane?.root ?? none);
  const picture = h("div.atlas", upper, list);
  element.append(
    h(
      "div.ctl",
      menu("x", "x", options),
      menu("y", "y", options),
      menu("color", "colour", colors),
      filter,
      status,
      closer,
      clear,
    ),
    picture,
  );

  const coloured = (): Choice | undefined => measured.find(({ id }) => id === state.color);
  const reasonOf = (i: number): Reason => {
    const measure = [find(state.y), find(state.x)].find((choice) => choice.measure)?.measure ?? coloured()?.measure;
    return measure
      ? ofMeasure(measure, cells[i]!)
      : (cards.get(nameOf(i))?.strongest[0]?.reason ?? ofMeasure(host.now.measure, cells[i]!));
  };
  const tip = (i: number): Node => {
    const shown = [find(state.x), find(state.y), coloured()].filter(
      (choice) => choice !== undefined && choice.measure !== null,
    );
    const rows = [...new Set(shown)].map(
      (choice) => [choice!.measure!.info.title, figure(choice!.values[i]!)] as const,
    );
    return headTip(
      nameOf(i),
      paper(layer[i]!, head[i]!),
      roles[i]!.length > 0 && h("div", roles[i]!.join(", ")),
      tipTable(...rows),
    );
  };
  const reset = (): void => {
    [marks, zoom, window] = [null, null, null];
    filter.value = "";
    redraw();
  };
  const passing = (): Set<number> => {
    const test = parseFilter(filter.value, allHeads(figures));
    filter.setAttribute("aria-invalid", String(test === null));
    return new Set(cells.flatMap((cell, i) => (cell && (test?.(cell) ?? true) && (marks?.has(i) ?? true) ? [i] : [])));
  };

  const painted = (): [ChartColour, (number | null)[]] => {
    const measure = coloured()?.measure;
    if (measure) {
      const value = (cell: Cell | null): number => (cell ? measure.value(cell) : NaN);
      return [
        colourOf(measure.scale, measure.info.units),
        cells.map(value).map((own) => (Number.isFinite(own) ? own : null)),
      ];
    }
    if (state.color === "role") {
      const count = (name: string | null): number => leading.filter((own) => own === name).length;
      const none = count(null) > 0 && { none: `none of these ${count(null)}` };
      const names = groups.map((name) => `${name} ${count(name)}`);
      return [
        { title: "", of: "heads", names, ...none },
        leading.map((own) => (own === null ? null : groups.indexOf(own))),
      ];
    }
    const layers = [...new Set(layer)];
    return [{ title: "layer", of: "layers", names: layers.map(String) }, layer.map((own) => layers.indexOf(own))];
  };

  // The heads that are marked, the highest first.
  const listed = (shown: ReadonlySet<number>): Rows | null => {
    const axes = [find(state.y), find(state.x)].flatMap(({ measure }) => measure ?? []);
    if (axes.length === 0 && shown.size === cells.length) return null;
    const by = axes[0]?.value ?? (({ layer }: Cell) => -layer);
    const order = [...shown].sort((a, b) => orNull(by(cells[b]!) - by(cells[a]!)) ?? 0);
    const values = Object.fromEntries(axes.map(({ name, value }) => [name, value]));
    const more = [
      { name: "roles", label: "", format: "text" as const },
      ...axes.map(({ name, info }) => ({ name, label: info.title })),
    ];
    const table = tableOf(
      figures,
      order.map((i) => cells[i]!),
      host.now.measure,
      values,
      {
        ...{ name: "marked", title: "Marked heads", more },
        cells: ["head", "roles", ...Object.keys(values)].map((of) => ({ of })),
      },
    );
    table.values.roles = order.map((i) => roles[i]!.join(", "));
    return new Rows({ ...table, reasons: order.map(reasonOf) }, "atlas.marked", host);
  };

  // The heads stand beside the open one's queries and keys where there is room.
  const size = ({ width }: Now): [number, number] => {
    const own = width >= 560 ? Math.floor((width - GAP) / 2) : width;
    return [own, Math.round(clamp(0.78 * own, 250, 460))];
  };

  let rows: Rows | null = null;
  const drawn = new Of();
  const draw = (now: Now): void => {
    const [shown, [width, height]] = [passing(), size(now)];
    picture.classList.toggle("stacked", width === now.width);
    // The marked heads are named, or else those that have a role.
    const few = shown.size < cells.length;
    const marked = [...shown].filter((i) => few || roles[i]!.length > 0);
    const [colour, values] = painted();
    const scene = {
      x: find(state.x),
      y: find(state.y),
      rows: { colour: values, link: layer.map((_, i) => nameOf(i)), marked },
      colour,
      faint: new Set(layer.flatMap((_, i) => (shown.has(i) ? [] : [i]))),
      window: zoom,
    };
    scatter.draw(scene, now, width, height);
    status.textContent =
      filter.getAttribute("aria-invalid") === "true"
        ? "no such measure"
        : shown.size < cells.length
          ? `${shown.size} of ${plural(cells.length, "head")}`
          : plural(cells.length, "head");
    closer.hidden = window === null || shown.size === 0;
    clear.hidden = marks === null && zoom === null && filter.value === "";
    rows = listed(shown);
    list.hidden = !rows;
    list.replaceChildren(rows?.root ?? "");
  };
  const redraw = (): void => {
    drawn.forget();
    update(host.now);
  };
  const own = (now: Now): void => {
    const row = cells.findIndex((cell) => cell && same(cell, now.cell));
    plane?.update(row, now, ...size(now));
  };

  const update = (now: Now): void => {
    if (drawn.renewed(now.width, now.theme)) draw(now);
    else {
      scatter.charted.select(now.cell);
      rows?.update(now);
    }
    own(now);
  };
  return {
    update,
    picture,
    settled: () => plane?.ready ?? true,
    tables: { heads: () => saved(info), ...(plane && { "queries and keys": () => plane.table() }) },
  };
};
