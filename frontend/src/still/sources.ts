// The sources of an answer, in lines of the paper's width.

import { areas } from "../draw/areas";
import { type Block, stack, text } from "../draw/block";
import { lettering, write } from "../draw/canvas";
import { textWidth } from "../draw/ruler";
import type { SourcesPayload } from "../protocol";
import { COLOURS, mixed, type Theme } from "../scene/color";
import { shortened } from "../scene/format";
import {
  largest,
  lost,
  named,
  ORIGIN,
  reach,
  type Shade,
  scale,
  shade,
  signed,
  stretches,
  title as titled,
  told,
  value,
  within,
  written,
} from "../scene/sources";

const SIZE = 13;
const LINE = 22;
const BAR = 180;

interface Run {
  readonly text: string;
  readonly shade: Shade | null;
  /** It is chosen. */
  readonly on: boolean;
}

/** A picture of what the state says, as wide as the paper. */
export function sources(payload: SourcesPayload, theme: Theme, width: number): Block {
  const { state, picture } = payload;
  const colours = COLOURS[theme];
  const most = reach(payload, state);
  const dim = { color: colours.ink2, size: 11 } as const;
  const ofSpan = state.span === null ? null : lost(payload, state.span);
  const prompt = stretches(payload, state.level).map(({ text, span }) => ({
    text,
    shade: span === null ? null : shade(value(payload, state, span), most),
    on: span !== null && span === state.span,
  }));
  const regions = payload.spans.flatMap(({ box, level }, place) =>
    box && level === state.level
      ? [{ box, shade: shade(value(payload, state, place), most), on: place === state.span }]
      : [],
  );
  const answer = written(payload).map(({ text, word }) => ({
    text,
    shade: word === null ? null : (ofSpan?.[word] ?? null),
    on: word !== null && within(word, state.words),
  }));
  const sources = largest(payload, state).map(
    (span) => `${shortened(payload.spans[span]!.text)} ${signed(value(payload, state, span)!)}`,
  );
  return stack([
    ...(picture ? [areas(picture, regions, theme, Math.min(width / picture.width, 360 / picture.height))] : []),
    ...(payload.prompt.trim() ? [paragraph(prompt, theme, width)] : []),
    text(ORIGIN[payload.origin], width, dim),
    paragraph(answer, theme, width),
    legend(payload, theme),
    ...(state.words === null
      ? []
      : [text(`The sources of ${named(payload, state.words)} (nats): ${sources.join("; ")}`, width, dim)]),
    ...(state.span === null
      ? []
      : [
          text(`${titled(payload.spans[state.span]!, state.span)}: ${told(payload, state.span).join(" ")}`, width, dim),
        ]),
    text(`${payload.model}. ${payload.says.join(" ")}`, width, dim),
  ]);
}

function paragraph(runs: readonly Run[], theme: Theme, width: number): Block {
  const colours = COLOURS[theme];
  let [x, line] = [0, 0];
  const placed = runs.flatMap((run) =>
    // Spaces stay with the word before them, as lines break behind them.
    (run.text.match(/\n|[^\s]+[^\S\n]*|[^\S\n]+/gu) ?? []).flatMap((word) => {
      if (word === "\n") {
        [x, line] = [0, line + 1];
        return [];
      }
      const parts = textWidth(word.trimEnd(), SIZE) > width ? Array.from(word) : [word];
      return parts.map((part) => {
        if (x > 0 && x + textWidth(part.trimEnd(), SIZE) > width) [x, line] = [0, line + 1];
        const found = { part, x, line, run };
        x += textWidth(part, SIZE);
        return found;
      });
    }),
  );
  return {
    width,
    height: ((placed.at(-1)?.line ?? 0) + 1) * LINE,
    draw(pen) {
      // A box goes as far on its line as the run does.
      for (let at = 0; at < placed.length; ) {
        const { x: left, line: row, run } = placed[at]!;
        while (placed[at]?.run === run && placed[at]!.line === row) at++;
        const { shade: one, on } = run;
        if ((!one || one.strength < 0.5) && !on) continue;
        const last = placed[at - 1]!;
        const wide = last.x + textWidth(last.part.trimEnd(), SIZE) - left;
        const fill = mixed(colours[one?.tone ?? "plus"], colours.bg, (one?.strength ?? 0) / 100);
        pen.rounded(left, row * LINE + 2, wide, LINE - 4, fill, on ? colours.ink : null, 2);
      }
      pen.globalAlpha = 1;
      lettering(pen, `400 ${SIZE}px`);
      for (const { part, x: left, line: row } of placed) write(pen, colours.ink, part, left, (row + 0.5) * LINE);
    },
  };
}

function legend(payload: SourcesPayload, theme: Theme): Block {
  const colours = COLOURS[theme];
  const { of, ticks } = scale(payload, payload.state);
  const steps = 24;
  return {
    width: BAR,
    height: 38,
    draw(pen) {
      for (let at = 0; at < steps; at++) {
        const { tone, strength } = shade((2 * at + 1) / steps - 1, 1);
        const fill = mixed(colours[tone], colours.bg, strength / 100);
        pen.rounded((at * BAR) / steps, 0, BAR / steps, 8, fill, null, 0);
      }
      for (const [at, align] of (["left", "center", "right"] as const).entries()) {
        lettering(pen, "400 11px", align);
        write(pen, colours.ink2, ticks[at]!, (at * BAR) / 2, 17);
      }
      lettering(pen, "400 11px");
      write(pen, colours.ink2, of, 0, 31);
    },
  };
}
