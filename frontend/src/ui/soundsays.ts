// What can be done with a sound, and how large it is.

import type { SoundInfo } from "../protocol";
import { fixed } from "../scene/format";
import { touched } from "./dom";

/** What can be done. */
export const hint = (sounds: boolean): string => {
  const go = sounds ? "to play from there" : "to put the line there";
  return touched()
    ? `Tap the spectrogram ${go}, a lane to choose it.`
    : `Click the spectrogram ${go}, a lane to choose it${sounds ? "; space plays" : ""}.`;
};

/** How large a sound is that came with the page. */
export function sizeOf({ samples, rate, heard }: SoundInfo): string {
  if (!samples) return "The sound itself is not in this page";
  const bytes = 2 * rate * heard;
  return `${fixed(rate / 1000, rate % 1000 ? 1 : 0)} kHz, one channel, ${bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${fixed(bytes / 1e6, 1)} MB`}`;
}
