// A head in a cell of the grid: lines or a heat map, gold links, and its figure below.

import { type Box, covered, heard, WIDE } from "../scene/areas";
import { bare, fixed } from "../scene/format";
import { FIGURED } from "../scene/gridlayout";
import type { Heads } from "../scene/heads";
import { colourOf, type Look } from "../scene/letters";
import { roleOf } from "../scene/roles";
import { looksOf } from "../scene/rows";
import type { Scene } from "../scene/scene";
import { lineSegments, type Thumb } from "../scene/thumbs";
import { area, lettering, type Pen, ratio, write } from "./canvas";
import { drawCells, drawThumbLinks } from "./golddraw";
import { drawCell, type Spectrogram } from "./lanes";
import { drawCovered, type Easel, rastersOf } from "./veils";

/** A cell is at most so many times as tall as wide. */
const TALLEST = 1.6;
/** A cell is so tall for its width where it is a sound. */
const HEARD = 0.6;
/** Room around lines. */
const PAD = 3;

/** How tall a cell is for its width: as the picture that it shows. */
export function aspectOf({ scene, pictured }: Heads): number {
  if (!pictured) return 1;
  if (heard(scene.input, scene.part)) return HEARD;
  const [left, top, right, bottom] = covered((scene.part.key.boxes ?? []) as readonly (Box | null)[]);
  return right - left > WIDE * (bottom - top) ? 1 : Math.min(TALLEST, (bottom - top) / (right - left));
}

/** What a pen cannot draw by itself. */
export interface Blocks {
  heat(thumb: Thumb, x: number, y: number): void;
  /** Null where cells are no pictures. */
  readonly easel: Easel | null;
  readonly spectrogram: Spectrogram;
}

/** Draws the cell at a place of the order as the state asks now. */
export function painter(pen: Pen, heads: Heads, blocks: Blocks): (place: number) => void {
  const { scene, box, order, lines, pictured } = heads;
  const figures = heads.figures();
  const most = Math.max(1e-9, ...(figures ?? []).filter(Number.isFinite));
  const paper = scene.owner.ink("--panel");
  const seen = blocks.easel && onPicture(heads, blocks.easel, blocks.spectrogram);
  return (place) => {
    const { layer, head } = order[place]!;
    const [x, y] = heads.corner(place);
    const pointed = scene.pointed && !pictured ? heads.along(layer, head) : null;
    const thumb = pictured || scene.pointed ? null : heads.thumbs.get(layer, head);
    if (pointed) blocks.heat(pointed, x, y);
    else if (pictured) {
      area(pen, paper, x, y, box.cell, box.tall);
      seen?.(layer, head, x, y);
    } else if (thumb) {
      if (lines) {
        area(pen, paper, x, y, box.cell, box.tall);
        if (thumb.sign) {
          strokes(pen, scene.colours.minus, thumb, x, y, box.cell, -1);
          strokes(pen, scene.colours.plus, thumb, x, y, box.cell, 1);
        } else strokes(pen, scene.accent, thumb, x, y, box.cell);
      } else blocks.heat(thumb, x, y);
      gold(pen, heads, layer, head, x, y);
    }
    mark(pen, heads, layer, head, x, y);
    if (figures) note(pen, heads, place, figures[place]!, most);
    if (scene.only && roleOf(scene, layer, head)?.name !== scene.only) fade(pen, heads, x, y);
  };
}

/** A cell has a letter from this size on, else its colour alone. */
const LETTERED = 28;
export const TAG = 13;

// What the head does, in a corner of its cell; one that does nothing of the kind has none.
function mark(pen: Pen, { scene, box }: Heads, layer: number, head: number, x: number, y: number): void {
  const role = roleOf(scene, layer, head);
  if (!role || (role.look.hue === null && !role.does)) return;
  const lettered = box.cell >= LETTERED && role.look.letter !== "";
  const side = lettered ? TAG : Math.max(3, Math.min(5, Math.round(box.cell / 5)));
  tag(pen, role.look, scene, side, x + box.cell - side, y); // where causal maps have no ink
}

/** A square in the colour of what a head does, with its letter where it is large enough. */
export function tag(pen: Pen, look: Look, { owner }: Scene, side: number, x: number, y: number): void {
  area(pen, colourOf(look, owner.theme), x, y, side, side);
  if (side < TAG || look.letter === "") return;
  lettering(pen, "600 11px", "center");
  write(pen, owner.ink("--bg"), look.letter, x + side / 2, y + side / 2 + 0.5);
}

// Draws a head on the input's picture, as large as a cell has room.
function onPicture(heads: Heads, easel: Easel, spectrogram: Spectrogram) {
  const { scene, box } = heads;
  const { input, against, owner } = scene;
  const boxes = (scene.part.key.boxes ?? []) as readonly (Box | null)[];
  const rasters = rastersOf(input.picture!, boxes);
  const [left, top, right, bottom] = covered(boxes);
  // A wide one fills its cell.
  const fits = Math.min(box.cell / (right - left), box.tall / (bottom - top));
  const fills = right - left > WIDE * (bottom - top);
  const [wide, tall] = [(right - left) * fits, fills ? box.tall : (bottom - top) * fits];
  const sharp = (at: number): number => Math.round(at * ratio()) / ratio();
  const look = { smooth: false, opacity: 0.85, signed: against !== null, theme: owner.theme };
  return (layer: number, head: number, x: number, y: number): void => {
    const given = heads.given(layer, head);
    if (heard(input, scene.part)) {
      const shares = given ?? heads.means(layer, head);
      return drawCell(easel.pen, scene, spectrogram, shares, [x, y, box.cell, box.tall]);
    }
    const [x0, y0] = [sharp(x + (box.cell - wide) / 2), sharp(y + (box.tall - tall) / 2)];
    const veiled =
      given || against ? { shares: given ?? heads.means(layer, head) } : { codes: looksOf(scene, layer, head) ?? [] };
    drawCovered(easel, input.picture!, rasters, [x0, y0, wide, tall], look, veiled);
  };
}

// The three strongest of each row in eight opacity classes, weakest first; of numbers with a sign those of one sign.
function strokes(pen: Pen, color: string, thumb: Thumb, x: number, y: number, cell: number, sign?: number): void {
  const room = cell - 2 * PAD;
  pen.lineWidth = ratio() > 1 ? 1 / ratio() : 0.75;
  lineSegments(thumb).forEach((list, level) => {
    if (list.length === 0) return;
    pen.strokeStyle = color;
    pen.globalAlpha = 0.08 + 0.92 * (level / 7) ** 1.6;
    pen.beginPath();
    for (let i = 0; i < list.length; i += 2) {
      if (sign && thumb.sign![list[i]! * thumb.columns + list[i + 1]!] !== sign) continue;
      pen.moveTo(x + PAD, y + PAD + ((list[i]! + 0.5) / thumb.rows) * room);
      pen.lineTo(x + cell - PAD, y + PAD + ((list[i + 1]! + 0.5) / thumb.columns) * room);
    }
    pen.stroke();
  });
  pen.globalAlpha = 1;
}

function gold(pen: Pen, heads: Heads, layer: number, head: number, x: number, y: number): void {
  const judged = heads.judged(layer, head);
  if (!judged) return;
  const { ink } = heads.scene.owner;
  const { rows, columns, links } = judged;
  const { cell } = heads.box;
  if (heads.lines)
    return drawThumbLinks(pen, ink, { x: x + PAD, y: y + PAD, size: cell - 2 * PAD, rows, columns }, links);
  const [tall, wide] = [cell / rows, cell / columns];
  drawCells(pen, ink, { x, y, wide, tall, row: 0, rows, column: 0, columns }, links);
}

// Little of the cell is left.
function fade(pen: Pen, { box, scene }: Heads, x: number, y: number): void {
  pen.globalAlpha = 0.86;
  area(pen, scene.owner.ink("--bg"), x - 0.5, y - 0.5, box.cell + 1, box.tall + 1);
  pen.globalAlpha = 1;
}

// A bar, a figure and, where heads are sorted, a name below a cell; a head below what the state asks for fades.
function note(pen: Pen, heads: Heads, place: number, found: number, most: number): void {
  const { box, scene, order } = heads;
  const { ink } = scene.owner;
  const [x, y] = heads.corner(place);
  if (found < scene.state.least || !Number.isFinite(found)) fade(pen, heads, x, y);
  if (!Number.isFinite(found)) return;
  area(pen, ink("--track"), x, y + box.tall + 2, box.cell, 2);
  area(pen, scene.accent, x, y + box.tall + 2, (box.cell * Math.max(0, found)) / most, 2);
  const put = (text: string, align: "left" | "right", below: number): void => {
    lettering(pen, "500 11px", align, "alphabetic");
    write(pen, ink("--ink2"), text, align === "right" ? x + box.cell : x, y + box.tall + below);
  };
  const { layer, head } = order[place]!;
  if (box.named !== "none") put(scene.name(head, layer), "left", 14);
  if (box.cell > FIGURED)
    put(bare(fixed(found, 2)), box.named === "before" ? "right" : "left", box.named === "above" ? 25 : 14);
}
