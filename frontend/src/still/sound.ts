// A head on a sound: its spectrogram, the words in it, and attention as lanes over time below it.

import { type Block, placed, stack, text } from "../draw/block";
import { area, lettering, ratio, write } from "../draw/canvas";
import { drawLanes, fade, mapPixels, mapRow } from "../draw/lanes";
import { png } from "../draw/png";
import { cutTo, textWidth, tokenWidth } from "../draw/ruler";
import { CLOCK, drawClock, drawHertz } from "../draw/spectrogram";
import type { SvgPen } from "../draw/svg";
import { name } from "../scene/axis";
import type { Shown } from "../scene/cut";
import {
  Heard,
  type Lanes,
  lanesOf,
  lanesTitle,
  listened,
  NUMBERS,
  PEAK_LINE,
  type PeakPlace,
  peaks,
  placedPeaks,
  placedWords,
  type SpokenPlace,
  says,
  soundLayout,
} from "../scene/heard";
import type { Scene } from "../scene/scene";
import { onPixels } from "../scene/soundlayout";
import { soundOnPaper } from "./easel";

type Layout = ReturnType<typeof soundLayout>;

export async function sound(scene: Scene, width: number): Promise<Block[]> {
  const heard = new Heard(scene);
  const { state, owner } = scene;
  if (state.time !== null) scene.followed = heard.followed(state.time);
  const maps = scene.shown();
  const map = maps.at(-1);
  if (!map || !scene.input.picture) return [];
  const layout = soundLayout(width);
  const found = placedPeaks(scene, peaks(map, scene, heard), heard.span, layout.width, tokenWidth);
  const spoken = placedWords(heard.sound.words, heard.span, layout.width, (each) => textWidth(each, 11));
  const above = [
    ...(found.placed.length > 0 ? [words(scene, map, found.placed, found.height, layout)] : []),
    ...(spoken.placed.length > 0 ? [brackets(scene, spoken.placed, spoken.crowded, layout)] : []),
  ];
  const title = text(lanesTitle(scene, heard, maps.length), layout.width + NUMBERS, {
    color: owner.ink("--ink3"),
    size: 11,
    weight: 500,
  });
  const timed = stack(
    [
      spectrogram(scene, heard, map, layout),
      shifted(title, layout.gutter),
      lanes(scene, heard, maps, lanesOf(scene, heard, maps, false), layout),
      ...(heard.alike && maps.length === 1 ? [frames(scene, heard, map, layout)] : []),
    ],
    8,
  );
  return [
    stack([...above, lined(scene, heard, timed, layout)], 3),
    text(says(scene, heard, map, found.placed.length > 0 ? found.hidden : null), width, { color: owner.ink("--ink2") }),
  ];
}

const shifted = (block: Block, by: number): Block => ({
  width: block.width + by,
  height: block.height,
  draw: (pen) => placed(pen, block, by, 0),
});

/** The words of the queries, each above the peak of its attention. */
function words(scene: Scene, map: Shown, found: readonly PeakPlace[], height: number, layout: Layout): Block {
  const { ink } = scene.owner;
  const color = scene.color(map.head);
  return shifted(
    {
      width: layout.width + 8,
      height,
      draw(pen) {
        for (const { text, left, top, middle, chosen } of found) {
          const below = top + PEAK_LINE - 2;
          pen.globalAlpha = 0.45;
          area(pen, color, middle, below, 1, height - below - 5);
          pen.globalAlpha = 1;
          pen.fillStyle = color;
          pen.beginPath();
          pen.moveTo(middle - 3.5, height - 5);
          pen.lineTo(middle + 4.5, height - 5);
          pen.lineTo(middle + 0.5, height);
          pen.fill();
          if (chosen) pen.rounded(left, top, tokenWidth(text) + 8, PEAK_LINE, ink("--accent"), null, 4);
          lettering(pen, "400 13px");
          write(pen, ink(chosen ? "--bg" : "--ink"), text, left + 4, top + PEAK_LINE / 2);
        }
      },
    },
    layout.gutter,
  );
}

/** Brackets where words are known to sound. */
function brackets(scene: Scene, found: readonly SpokenPlace[], crowded: boolean, layout: Layout): Block {
  const { ink } = scene.owner;
  const height = crowded ? 7 : 20;
  return shifted(
    {
      width: layout.width,
      height,
      draw(pen) {
        pen.globalAlpha = 1;
        for (const { word, left, wide, fits } of found) {
          const across = Math.max(1, wide - 1);
          const tick = Math.min(height, 6);
          area(pen, ink("--tick"), left, height - 2, across, 2);
          area(pen, ink("--tick"), left, height - tick, 1, tick);
          area(pen, ink("--tick"), left + across - 1, height - tick, 1, tick);
          lettering(pen, "400 11px", "center");
          if (fits && !crowded) write(pen, ink("--ink2"), word.text, left + across / 2, 8);
        }
      },
    },
    layout.gutter,
  );
}

/** The shown stretch, faded where the chosen query does not listen, with its axes. */
function spectrogram(scene: Scene, heard: Heard, map: Shown, { gutter, width, height }: Layout): Block {
  const { span, sound } = heard;
  return {
    width: gutter + width + NUMBERS,
    height: height + CLOCK,
    draw(pen) {
      pen.group(0, 0, gutter - 4, height);
      drawHertz(pen, scene, sound.rate, gutter - 4, height);
      pen.end();
      pen.group(gutter, 0, width, height);
      soundOnPaper(pen, scene)([span[0] / sound.seconds, span[1] / sound.seconds], 0, 0, width, height);
      const found = listened(scene, heard, map);
      if (found) {
        const seen = onPixels(found.shares, found.times, span, Math.round(width));
        fade(pen, scene.owner.ink("--bg"), seen, found.most, [0, 0, height]);
      }
      pen.end();
      pen.group(gutter, height, width + NUMBERS, CLOCK);
      drawClock(pen, scene, span, width, NUMBERS);
      pen.end();
    },
  };
}

/** The lanes, and beside them what they are of. */
function lanes(scene: Scene, { span }: Heard, maps: readonly Shown[], found: Lanes, { gutter, width }: Layout): Block {
  const { ink } = scene.owner;
  const { tall, perQuery } = found;
  return {
    width: gutter + width + NUMBERS,
    height: found.lanes.length * tall,
    draw(pen) {
      pen.group(gutter, 0, width + NUMBERS, found.lanes.length * tall);
      drawLanes(pen, scene, found, { width, numbers: NUMBERS, span });
      pen.end();
      found.lanes.forEach(({ on }, place) => {
        const item = scene.rows.items[place];
        const pinned = perQuery && place === scene.pinned?.from;
        const color = pinned ? "--bg" : !perQuery ? "--ink" : on ? "--accent" : item?.special ? "--ink3" : "--ink";
        const room = gutter - (perQuery ? 14 : 23);
        const said = cutTo(perQuery ? name(item) : scene.name(maps[place]!.head), room, 11);
        const wide = textWidth(said, 11) + 10;
        pen.globalAlpha = 1;
        if (pinned) pen.rounded(gutter - 3 - wide, place * tall + 1, wide, tall - 3, ink("--accent"), null, 3);
        label(pen, ink(color), said, gutter - 8, (place + 0.5) * tall, !perQuery);
        const left = gutter - 21 - textWidth(said, 11, 500);
        if (!perQuery) area(pen, scene.color(maps[place]!.head), left, (place + 0.5) * tall - 4, 8, 8);
      });
    },
  };
}

function label(pen: SvgPen, color: string, said: string, x: number, y: number, strong: boolean): void {
  pen.globalAlpha = 1;
  lettering(pen, `${strong ? 500 : 400} 11px`, "right");
  write(pen, color, said, x, y);
}

/** Frames by frames on the same axis, queries down. */
function frames(scene: Scene, heard: Heard, map: Shown, { gutter, width, map: tall }: Layout): Block {
  const { ink } = scene.owner;
  const times = ratio();
  return {
    width: gutter + width,
    height: tall,
    draw(pen) {
      label(pen, ink("--ink3"), "queries ↓", gutter - 8, 8, false);
      const found = mapPixels(scene, map, heard, Math.round(times * width), times * tall);
      if (!found) return;
      const url = png(found.pixels, found.width, times * tall);
      pen.image(url, gutter + found.x / times, 0, found.width / times, tall);
      const row = mapRow(heard, scene.focused.from, tall);
      if (!row) return;
      [pen.strokeStyle, pen.lineWidth] = [ink("--ink"), 1];
      pen.strokeRect(gutter + 0.5, row.top - 0.5, width - 1, row.high + 1);
    },
  };
}

/** What stands on the time axis, with the line where it has been put. */
function lined({ state, owner }: Scene, { span: [begin, end] }: Heard, timed: Block, { gutter, width }: Layout): Block {
  const { time } = state;
  if (time === null || time < begin || time > end) return timed;
  const x = gutter + ((time - begin) / (end - begin)) * width;
  return {
    ...timed,
    draw(pen) {
      timed.draw(pen);
      pen.globalAlpha = 1;
      area(pen, owner.ink("--ink"), x - 0.75, 0, 1.5, timed.height);
      pen.beginPath();
      pen.arc(x, 4, 4);
      pen.fill();
    },
  };
}
