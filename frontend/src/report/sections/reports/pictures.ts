// The small pictures beside the findings: a head's real attention, a sentence, a map, a chart; each of that finding.

import type { Pen } from "../../../draw/canvas";
import type { LinkSentence, LinkShown, Reason, ReportPayload, SummarySection } from "../../../protocol";
import { css, PALETTES, type Theme } from "../../../scene/color";
import { SQUARE } from "../../../scene/data";
import { h } from "../../../ui/dom";
import { picture as arcs } from "../../arcs";
import { ofAll, rightIn } from "../../blocks/cases";
import { draw, paintCells } from "../../cells";
import { Charted, ofMeasuresByLayer, redrawn } from "../../chart";
import { type Cell, type Measure, quantities, same, tablesOf } from "../../figures";
import { glance, pictured, storeOf } from "../../glance";
import type { Host, Now } from "../../host";
import { at, opens, placed } from "../../reasons";

type Finding = SummarySection["findings"][number];
type Info = ReportPayload["sections"][number];
type Of<Kind> = Extract<Info, { kind: Kind }>;

/** A picture; a wide one stands above its sentence. */
export interface Picture {
  readonly root: HTMLElement;
  readonly wide?: boolean;
  readonly update?: (now: Now) => void;
  /** Whether it has been drawn. */
  readonly settled?: () => boolean;
}

const SIDE = 104;
/** A map is pooled to so many rows and columns: more cannot be seen. */
const MOST = 40;

/** The example on which a head does most of what it is known for. */
function exampleOf(host: Host, cell: Cell): number | null {
  const { sections } = host.figures.payload;
  const cards = sections.flatMap((info) => (info.kind === "cards" ? info.cards : []));
  const card = cards.find(({ layer, head }) => same(host.figures.find(layer, head) ?? { layer: -1, head: -1 }, cell));
  return card?.strongest[0]?.example ?? card?.sample[0]?.example ?? null;
}

/** What a head attends to on an example: weights by query and key, the largest of what falls together. */
async function weightsOf(host: Host, cell: Cell, example: number): Promise<number[][] | null> {
  const { figures } = host;
  const part = figures.payload.examples[example]?.inputs[0]?.parts[0];
  const at = part?.index.indexOf(figures.layerOf(cell)) ?? -1;
  const head = part?.heads[at]?.indexOf(figures.headOf(cell)) ?? -1;
  const ref = part?.layers[at];
  if (!ref || head < 0) return null;
  const values = await storeOf(example).get(ref);
  const [, queries = 0, keys = 0] = ref.shape;
  const pooled = (count: number, i: number): number => Math.floor((i * Math.min(count, MOST)) / count);
  const rows = Array.from({ length: Math.min(queries, MOST) }, () => new Array<number>(Math.min(keys, MOST)).fill(0));
  for (let query = 0; query < queries; query++) {
    const row = rows[pooled(queries, query)]!;
    for (let key = 0; key < keys; key++) {
      const value = values[(head * queries + query) * keys + key]!;
      const weight = ref.encoding === "sqrt" ? SQUARE[value]! : value;
      row[pooled(keys, key)] = Math.max(row[pooled(keys, key)]!, weight);
    }
  }
  return rows;
}

/** A head's attention on an example, as a button that opens it there. */
function attention(host: Host, cell: Cell, named: Reason, size: number, name: string, what = ""): Picture | null {
  const found = placed(named, cell, host.figures);
  const example = found.example ?? exampleOf(host, cell);
  if (example === null) return null;
  const reason = { ...found, example };
  const canvas = h("canvas", { "aria-hidden": "true", style: `width:${size}px;height:${size}px` }); // its room is there before it is drawn
  const root = h(
    "button.glance",
    {
      type: "button",
      "data-example": example,
      title: what || null,
      "aria-label": what ? `${name}: ${what}` : name,
      ...opens(host, cell, reason),
    },
    canvas,
    h("span", {}, name),
  );
  if (pictured(host, example)) {
    let [done, painted]: [boolean, Theme | null] = [false, null];
    const update = ({ theme }: Now): void => {
      if (theme === painted) return;
      painted = theme;
      void glance(canvas, host, cell, example, reason.pin, size).then((drawn) => {
        root.hidden = !drawn;
        done = true;
      });
    };
    return { root, update, settled: () => done };
  }
  let rows: number[][] | null | undefined;
  let painted: Theme | null = null;
  const paint = (theme: Theme): void => {
    if (!rows) return;
    painted = theme;
    const map = rows;
    const step = size / Math.max(map.length, map[0]?.length ?? 1);
    draw(canvas, size, size, (pen: Pen) => {
      map.forEach((row, y) =>
        row.forEach((weight, x) => {
          pen.fillStyle = css(PALETTES[theme].sequential[Math.round(255 * Math.sqrt(Math.min(1, weight)))]!);
          pen.fillRect(x * step, y * step, step + 0.2, step + 0.2);
        }),
      );
    });
  };
  void weightsOf(host, cell, example).then((found) => {
    rows = found;
    root.hidden = found === null;
    paint(host.now.theme);
  });
  return { root, update: ({ theme }) => theme !== painted && paint(theme), settled: () => rows !== undefined };
}

function several(pictures: readonly Picture[]): Picture {
  return {
    root: h("div.glances", {}, ...pictures.map(({ root }) => root)),
    update: (now) => pictures.forEach((each) => each.update?.(now)),
    settled: () => pictures.every((each) => each.settled?.() ?? true),
  };
}

const cellsOf = (host: Host, { parts }: Finding): Cell[] =>
  parts.flatMap(({ layer, head }) => host.figures.find(layer, head) ?? []);

/** The first of each role, by score: as many as have room. */
function roles(finding: Finding, host: Host): Picture | null {
  const named = cellsOf(host, finding);
  const rows = tablesOf(host.figures.payload, "roles").flatMap(({ values, reasons }) =>
    reasons.flatMap((reason, row) => {
      const cell = host.figures.find(values.layer![row] as number, values.head![row] as number);
      const [role, score] = [String(values.role![row]), Number(values.score![row])];
      return reason && cell && named.some((each) => same(each, cell)) ? [{ cell, role, score, reason }] : [];
    }),
  );
  const best = rows.sort((a, b) => b.score - a.score);
  const first = best.filter((row) => best.find(({ role }) => role === row.role) === row).slice(0, 4);
  const made = first.flatMap(
    ({ cell, role, reason }) =>
      attention(host, cell, reason, first.length > 1 ? 48 : SIDE - 8, host.figures.name(cell), role) ?? [],
  );
  return made.length > 0 && host.figures.payload.examples.length > 0 ? several(made) : null;
}

/** A measure of all heads by layer. */
function byLayer(measure: Measure, host: Host): Picture {
  const charted = new Charted(host);
  const chart = ofMeasuresByLayer(host.figures, [measure]);
  const draw = redrawn(({ theme, cell }, width) =>
    charted.show(chart, { width, height: 84, theme }, `${measure.info.title} by layer`, cell),
  );
  return { root: charted.root, update: (now) => draw(now, SIDE) };
}

/** How far each head moved. */
function drift(info: Of<"compare">, host: Host): Picture | null {
  if (info.js.length === 0) return null;
  const [measure] = quantities(info, host.figures);
  const canvas = h("canvas", { "aria-hidden": "true" });
  const root = h("div.glance", {}, canvas, h("span", {}, "drift of each head"));
  return { root, update: ({ theme }) => paintCells(canvas, host.figures, measure!, theme, SIDE) };
}

/** The rows of a section's tables whose heads a finding names, the first that is named first. */
function rowsOf(name: string, finding: Finding, host: Host) {
  const named = cellsOf(host, finding);
  const rows = tablesOf(host.figures.payload, name).flatMap(({ cases, reasons, values, cells }) =>
    reasons.flatMap((reason, row) => {
      const [layer, head] = [values.layer?.[row] as number | null, values.head?.[row] as number | null];
      const cell = host.figures.find(layer, head);
      const own = cases?.rows[row];
      const rank = cell ? named.findIndex((each) => same(each, cell)) : -1;
      if (!cell || !cases || !own || !reason || rank < 0) return [];
      return [{ cell, reason, cases, own, rank, name: String(values[cells[0]!.of]?.[row] ?? "") }];
    }),
  );
  return rows.sort((a, b) => a.rank - b.rank);
}

/** The shortest sentence in which a head that is named is right. */
function sentence(finding: Finding, host: Host): Picture | null {
  const length = ({ words }: LinkSentence): number => words.join(" ").length;
  const found = rowsOf(finding.about!, finding, host).flatMap((row) =>
    row.own.links.filter(rightIn).map((reading) => ({ ...row, reading, of: row.cases.sentences[reading.sentence]! })),
  );
  const best = found.sort((a, b) => a.rank - b.rank || length(a.of) - length(b.of))[0];
  if (!best) return null;
  const { cell, own, name, reason, of, reading } = best;
  return {
    wide: true,
    root: h(
      "button.line-of",
      {
        type: "button",
        "data-example": of.example,
        ...opens(host, cell, at(reason, of.example, reading.pins[0], ofAll(reading))),
      },
      h("span.hidden", {}, `${host.figures.name(cell)}, ${name}: ${of.words.join(" ")}`),
      arcs(of, reading, own.towards, host),
    ),
  };
}

/** So many words stand on each side of a mention and of what it refers to. */
const ASIDE = 2;

/** A mention and what a head chose for it, without what stands between. */
function mention(finding: Finding, host: Host): Picture | null {
  const shown = rowsOf("coref", finding, host).flatMap((row) =>
    row.own.mentions.filter(({ right }) => right).map((choice) => ({ ...row, choice })),
  );
  const best = shown.sort((a, b) => b.choice.weight - a.choice.weight)[0];
  const window = best?.cases.texts[best.choice.window];
  if (!window) return null;
  const { cell, choice, reason } = best;
  const from = window.mentions[choice.mention]![2]!;
  const kept = window.words.map((_, i) => Math.min(Math.abs(i - from), Math.abs(i - choice.predicted)) <= ASIDE);
  const words: string[] = [];
  const place = new Map<number, number>();
  window.words.forEach((word, i) => {
    if (kept[i]) words.push(word);
    else if (i === 0 || kept[i - 1]) words.push("…");
    place.set(i, words.length - 1);
  });
  const [source, target] = [place.get(from)!, place.get(choice.predicted)!];
  const sentence: LinkSentence = { words, spans: [], second: null, example: window.example };
  const reading: LinkShown = {
    sentence: 0,
    words: [source],
    pins: [choice.pin],
    targets: [[target]],
    predicted: [target],
    right: [true],
    arcs: [[source, target, choice.weight]],
  };
  const label = `${host.figures.name(cell)}: ${window.words[from]} refers to ${window.words[choice.predicted]}`;
  return {
    wide: true,
    root: h(
      "button.line-of",
      {
        type: "button",
        "data-example": window.example,
        ...opens(host, cell, at(reason, window.example, choice.pin, "right")),
      },
      h("span.hidden", {}, label),
      arcs(sentence, reading, true, host),
    ),
  };
}

/** The picture of a finding; null where there is none. */
export function pictureOf(finding: Finding, host: Host): Picture | null {
  const { figures } = host;
  const info = figures.payload.sections.find(({ kind }) => kind === finding.about);
  let made: Picture | null = null;
  if (finding.about === "roles") made = roles(finding, host);
  else if (info?.kind === "compare") made = drift(info, host);
  else if (finding.about === "coref") made = mention(finding, host);
  else if (finding.about === "syntax" || finding.about === "links") made = sentence(finding, host);
  else if (
    finding.about !== null &&
    figures.has(finding.about) &&
    (!figures.measure(finding.about).isShare || cellsOf(host, finding).length === 0)
  )
    made = byLayer(figures.measure(finding.about), host);
  const [cell] = cellsOf(host, finding);
  if (made || !cell || figures.payload.examples.length === 0) return made;
  const named = finding.parts.find(
    ({ reason, layer, head }) => reason && same(figures.find(layer, head)!, cell),
  )?.reason;
  return named ? attention(host, cell, named, SIDE - 8, figures.name(cell)) : null;
}
