// What a head on a sound is called, and what is said of it, in words.

import { row } from "../draw/lanes";
import { type Item, name } from "../scene/axis";
import { received, type Shown } from "../scene/cut";
import { figure, fixed, percent, plural } from "../scene/format";
import type { Scene } from "../scene/scene";
import { clock } from "../scene/soundlayout";
import { touched } from "./dom";
import type { Listening } from "./listening";

const called = (items: readonly Item[], place: number): string => name(items[place]);

/** What the lanes show. */
export function lanesTitle(
  scene: Scene,
  { alike }: Listening,
  heads: number,
  from: number | null,
  to: number | null,
): string {
  const { rows, columns, state, part } = scene;
  if (heads === 1 && !alike)
    return `each ${state.unit === "words" && part.query.words ? "word" : "token"}: how much each frame gets`;
  const what =
    from !== null
      ? `where ${called(rows.items, from)} looks`
      : to !== null && alike
        ? `which frames look at ${called(columns.items, to)}`
        : "mean over all queries";
  return heads > 1 ? `each head: ${what}` : what;
}

/**
 * Where the open head looks, how much of that is behind the sound, and how the picture is read; `hidden`: words without
 * room, null where none are drawn.
 */
export function says(
  scene: Scene,
  listening: Listening,
  map: Shown,
  from: number | null,
  hidden: number | null,
): string {
  const { rows } = scene;
  const { keys, sound, span } = listening;
  const parts: string[] = [];
  const shares = Array.from(from === null ? received(map) : row(map, from));
  const all = shares.reduce((sum, each) => sum + Math.abs(each), 0);
  if (!map.sign && !scene.against && all > 1e-9) {
    const best = shares.reduce((most, each, place) => (each > shares[most]! ? place : most), 0);
    const when = keys[best];
    if (when)
      parts.push(
        `${from === null ? "On average most" : `${called(rows.items, from)}: most`} at ${clock(when[0])}–${clock(when[1])} s (${figure(shares[best]!)})`,
      );
    const behind =
      shares.reduce((sum, each, place) => sum + (keys[place] && keys[place][0] >= sound.heard - 1e-6 ? each : 0), 0) /
      all;
    if (behind > 0.0005)
      parts.push(
        `${percent(behind)} on the silence after the sound${span[1] <= sound.heard + 1e-6 ? ", which is not shown" : ""}`,
      );
  }
  if (hidden !== null)
    parts.push(
      `▾ words stand where the weight of ${scene.name(map.head)} is largest${hidden > 0 ? `; ${plural(hidden, "word")} without room` : ""}`,
    );
  if (scene.against) parts.push("blue: more in the first than in the second; orange: less");
  parts.push("heights and shades by the root of the weight");
  return `${parts.join(" · ")}. `;
}

/** What can be done. */
export const hint = (sounds: boolean): string => {
  const go = sounds ? "to play from there" : "to put the line there";
  return touched()
    ? `Tap the spectrogram ${go}, a lane to choose it.`
    : `Click the spectrogram ${go}, a lane to choose it${sounds ? "; space plays" : ""}.`;
};

/** How large a sound is that came with the page. */
export function sizeOf({ samples, rate, heard }: Listening["sound"]): string {
  if (!samples) return "The sound itself is not in this page";
  const bytes = 2 * rate * heard;
  return `${fixed(rate / 1000, rate % 1000 ? 1 : 0)} kHz, one channel, ${bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${fixed(bytes / 1e6, 1)} MB`}`;
}
