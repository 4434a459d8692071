// Why a head is named: what its link says, and what the explorer then shows. `headscope.views.reasons` does the same.

import type { ExplorerPayload, ExplorerState, PartInfo, Pin, Reason } from "../protocol";
import { figure } from "../scene/format";
import type { Cell, Figures, Measure } from "./figures";
import type { Host } from "./host";

export const CORPUS = "over the corpus";

/** A reason to name a head; where there is no example, it is seen where the page shows its measure. */
export const because = (
  says: string,
  figure: string,
  seen: Partial<Pick<Reason, "measure" | "example" | "pin">> = {},
): Reason => ({ says, figure, ...seen });

/** A head is named for its figure in a measure. */
export const ofMeasure = (measure: Measure, cell: Cell): Reason =>
  because(
    measure.info.title,
    `${figure(measure.value(cell), measure.isShare ? 3 : 2)}${measure.isShare ? "" : ` ${measure.info.units}`}`,
    { measure: measure.name },
  );

/** The same reason with the example on which the page shows its measure best, where it names none. */
export function placed(reason: Reason, cell: Cell, figures: Figures): Reason {
  const { measure, example } = reason;
  return (example ?? null) !== null || !measure ? reason : { ...reason, ...figures.seen(measure, cell, reason.figure) };
}

/**
 * The same reason on one of its examples, a token there, and what the figure is there; nothing is pinned where the page
 * has not the example.
 */
export const at = (reason: Reason, example: number | null, pin: Reason["pin"] = null, here = ""): Reason => ({
  ...reason,
  example,
  pin: example === null ? null : pin,
  here: example === null ? null : here || null,
});

/**
 * What an explorer shows of a reason: its token pinned, and nothing hidden; two inputs may need words, without special
 * tokens.
 */
export const shows = ({ pin }: Reason, { state, inputs }: ExplorerPayload): ExplorerState => ({
  ...{
    scale: "head",
    filter: "all",
    special: state.special ?? true,
    unit: state.unit ?? "pieces",
    quantity: "weights",
    aggregate: "none",
    gold: true,
    zoom: null,
    between: null,
  },
  pin: pin ? [pin.side, stands(pin, inputs[0]!.parts[0]!)] : null,
});

/** Where a pinned token stands in a view: patches that look may stand together. */
export const stands = ({ side, place }: Pin, { query }: PartInfo): number =>
  (side === "from" ? query.of?.[place] : null) ?? place;

/** An example with the links of a reason alone, where it names some. */
export function linked(payload: ExplorerPayload, label: string | null): ExplorerPayload {
  if (label === null) return payload;
  const parts = (input: ExplorerPayload["inputs"][number]) =>
    input.parts.map((part) => ({
      ...part,
      ...(part.links && { links: part.links.filter((link) => link.label === label) }),
    }));
  return { ...payload, inputs: payload.inputs.map((input) => ({ ...input, parts: parts(input) })) };
}

/** What a link to the page of a head is made of: it opens the head on its reason, and says which. */
export function opens(
  host: Host,
  cell: Cell,
  reason: Reason,
  first: (event: MouseEvent) => Reason | void = () => undefined,
) {
  return {
    "data-opens": host.figures.name(cell),
    "data-reason": JSON.stringify(reason),
    onclick: (event: MouseEvent) => {
      event.stopPropagation();
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // its page, in a window of its own
      event.preventDefault();
      host.open(cell, first(event) ?? reason);
    },
  };
}
