// A head of a model of text and pictures: the picture, and the text beside it, each word in its shade.

import { type Block, row, stack, text } from "../draw/block";
import { area, lettering, write } from "../draw/canvas";
import { cutTo, textWidth } from "../draw/ruler";
import type { SvgPen } from "../draw/svg";
import type { PictureInfo } from "../protocol";
import { seenAt } from "../scene/areas";
import { type Looking, looking, lookOf, small } from "../scene/onpicture";
import type { Scene } from "../scene/scene";
import {
  chosenItem,
  cropWidth,
  GAP,
  pictureFigure,
  type Reading,
  reader,
  readerLooks,
  reading,
  type Shade,
  says,
  shades,
  talkBoard,
  talkLayout,
  wordsTitle,
} from "../scene/talking";
import { bare } from "../scene/wordsbeside";
import { onPaper } from "./easel";
import { board, caption, decode, layers, several } from "./picture";

/** How tall a line of the text is, one with a picture in it, and the picture. */
const [LINE, TALL, INLINE] = [26, 50, 40];
const SPACE = 4;

export async function talk(scene: Scene, width: number): Promise<Block[]> {
  const who = reader(scene);
  const info = scene.input.picture;
  const found = looking(scene, who);
  if (!info || !found) return [];
  await decode(scene, who);
  const look = lookOf(scene, found.maps);
  const { across, beside, stacked } = talkLayout(width);
  const seen = board(scene, info, across, look, talkBoard(scene, found), true);
  const read = stack([caption(scene, wordsTitle(scene, found), beside), words(scene, info, found, beside)], 6);
  return [
    stacked ? stack([seen, read], 16) : row([seen, read], GAP),
    text(says(scene, found), width, { color: scene.owner.ink("--ink2") }),
    ...several(scene, info, width, look, small(scene, found, scene.focus)),
    ...layers(scene, info, width, look, who, readerLooks(scene, who)),
  ];
}

/** What stands in the text: where, and on which line. */
interface Placed {
  readonly part: Reading;
  readonly x: number;
  readonly line: number;
  readonly wide: number;
}

function words(scene: Scene, info: PictureInfo, found: Looking, width: number): Block {
  const { ink } = scene.owner;
  const placed: Placed[] = [];
  const parts = reading(scene);
  const wides = parts.map((part) =>
    part === "written by the model"
      ? width
      : "picture" in part
        ? acrossOf(info, part) + 14 + textWidth(pictureFigure(scene, found, part.picture), 12, 500)
        : Math.min(width, textWidth(bare(part.item), sizeOf(part)) + 2),
  );
  const joined = (part: Reading | undefined): boolean => typeof part === "object" && "item" in part && !part.spaced;
  let [x, line] = [0, 0];
  parts.forEach((part, at) => {
    // What no space parts stays together where it has room.
    let wide = wides[at]!;
    if (!joined(part)) for (let next = at + 1; joined(parts[next]); next++) wide += wides[next]!;
    const space = x > 0 && !joined(part) ? SPACE : 0;
    if (x > 0 && x + space + Math.min(wide, width) > width) [x, line] = [0, line + 1];
    else x += space;
    placed.push({ part, x, line, wide: wides[at]! });
    x += wides[at]!;
  });
  const tall = Array.from({ length: line + 1 }, () => LINE);
  for (const { part, line } of placed) if (typeof part !== "string" && "picture" in part) tall[line] = TALL;
  const tops = tall.map((_, at) => tall.slice(0, at).reduce((sum, each) => sum + each, 0));
  const shaded = shades(scene, found);
  const whole = chosenItem(scene, found) === undefined;
  return {
    width,
    height: tops.at(-1)! + tall.at(-1)!,
    draw(pen) {
      for (const { part, x, line, wide } of placed) {
        const middle = tops[line]! + tall[line]! / 2;
        if (typeof part === "string") {
          area(pen, ink("--line2"), 0, middle - 10, wide, 1);
          lettering(pen, "500 10.5px");
          write(pen, ink("--ink3"), part, 0, middle + 2);
        } else if ("picture" in part) {
          thumb(pen, scene, info, part, pictureFigure(scene, found, part.picture), [x, middle, wide], whole);
        } else word(pen, scene, part, shaded.get(part.item.start)!, [x, middle, wide]);
      }
    },
  };
}

const sizeOf = ({ item }: Extract<Reading, { item: unknown }>): number => (item.special ? 12 : 14);

function word(
  pen: SvgPen,
  scene: Scene,
  part: Extract<Reading, { item: unknown }>,
  { share, strength, tone, chosen }: Shade,
  [x, middle, wide]: readonly [number, number, number],
): void {
  const { ink } = scene.owner;
  const top = middle - 11;
  pen.globalAlpha = strength;
  if (strength > 0) area(pen, scene.colours[tone], x, top, wide, 22);
  pen.globalAlpha = 1;
  if (chosen) pen.rounded(x, top, wide, 22, null, ink("--ink"), 3);
  lettering(pen, `400 ${sizeOf(part)}px`);
  write(pen, ink(Number.isNaN(share) ? "--ink3" : "--ink"), cutTo(bare(part.item), wide, sizeOf(part)), x + 1, middle);
}

/** How wide the picture of a medium is in the text, or its name where it has none. */
const acrossOf = (info: PictureInfo, { area, name }: Extract<Reading, { picture: unknown }>): number =>
  seenAt(info, area) ? cropWidth(area, INLINE) : textWidth(name, 12, 500);

function thumb(
  pen: SvgPen,
  { owner: { ink } }: Scene,
  info: PictureInfo,
  part: Extract<Reading, { picture: unknown }>,
  figure: string,
  [x, middle, wide]: readonly [number, number, number],
  chosen: boolean,
): void {
  const [tall, across] = [INLINE, acrossOf(info, part)];
  pen.globalAlpha = 1;
  pen.rounded(x, middle - tall / 2 - 3, wide, tall + 6, null, ink(chosen ? "--accent" : "--line2"), 6);
  const seen = seenAt(info, part.area);
  if (seen) onPaper(pen).photo(info, part.area, x + 3, middle - tall / 2, across, tall, "own");
  lettering(pen, "500 12px");
  if (!seen) write(pen, ink("--ink2"), part.name, x + 5, middle);
  write(pen, ink("--ink2"), figure, x + across + 9, middle);
}
