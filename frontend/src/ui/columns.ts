// Two columns of tokens as listboxes: a pointer hovers and pins, and so do keys.

import { focusOn, type Scene } from "../scene/scene";
import { keyed, listen } from "./dom";
import { placeOf, step } from "./tokens";

export type Side = "from" | "to";

/** Places on the two sides; null for none. */
export type Place = { readonly from: number | null; readonly to: number | null } | null;

/** What the columns ask of the picture around them. */
interface Rows {
  /** The first row that can be seen. */
  first(): number;
  /** Scroll so that a row can be seen. */
  show(place: number): void;
  /** The side that a token is of, where a column does not say it. */
  side?(): Side;
}

/**
 * From token to token, and from side to side; Enter pins. After a click arrow keys still go from head to head.
 */
export function hoverColumns(scene: Scene, columns: Readonly<Partial<Record<Side, HTMLElement>>>, rows: Rows): void {
  const { owner } = scene;
  const on = (column: Side): Side => rows.side?.() ?? column;
  const go = (side: Side, place: number): void => {
    rows.show(place);
    owner.hover(scene, focusOn(on(side), place));
  };
  const pressed = (event: KeyboardEvent, side: Side): boolean => {
    const at = scene.hovered?.[on(side)] ?? scene.pinned?.[on(side)] ?? 0;
    const next = step(event.key, at, scene.tokens(on(side)).items.length);
    const across = event.key === (side === "from" ? "ArrowRight" : "ArrowLeft");
    if (next !== null) go(side, next);
    else if (event.key === "Enter" || event.key === " ") owner.pin(scene, on(side), at);
    else if (across) columns[side === "from" ? "to" : "from"]?.focus({ preventScroll: true });
    else return false;
    return true;
  };
  for (const side of ["from", "to"] as const) {
    const column = columns[side];
    if (!column) continue;
    listen(column, {
      pointerover: (event) => {
        const place = placeOf(event);
        if (place !== null) owner.hover(scene, focusOn(on(side), place));
      },
      pointerleave: () => scene.leave(),
      click: (event) => {
        const place = placeOf(event);
        if (place !== null && !String(getSelection())) owner.pin(scene, on(side), place);
      },
    });
    const byKeys = keyed(column, (event) => pressed(event, side));
    listen(column, {
      focus: () => byKeys() && go(side, scene.pinned?.[side] ?? rows.first()),
      blur: () => owner.hover(scene, null),
    });
  }
}
