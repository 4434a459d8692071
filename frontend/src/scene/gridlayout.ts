// The geometry of the grid.

import type { MeasureColumn } from "../protocol";
import type { Scene } from "./scene";

/** Inputs up to this length are drawn as lines, longer ones as heat maps. */
export const LINES_UP_TO = 24;

export interface Room {
  /** Cells from top to bottom and from left to right: layers and heads, or heads and layers. */
  readonly rows: number;
  readonly columns: number;
  readonly width: number;
  /** Height that the grid should keep to. */
  readonly room: number;
  readonly kind: "beside" | "large" | "mini";
  /** A line with a figure stands below each cell. */
  readonly noted: boolean;
  readonly sorted: boolean;
  /** Each cell is a picture, `aspect` times as tall as wide. */
  readonly pictured?: boolean;
  readonly aspect?: number;
  /** Letters of the longest name of a head and of the longest figure. */
  readonly letters?: readonly [number, number];
  /** Nothing can be moved sideways: cells are as small as they must be. */
  readonly paper?: boolean;
}

/**
 * A large grid of many layers is rather taller than the screen than of cells smaller than this, where its width has
 * room.
 */
const LEGIBLE = 28;
/** The same of cells that are pictures. */
const SEEN = 56;
/** No cell is smaller on a screen: a grid without room for that moves in a box of its own. */
const LEAST = 10;
/** A letter of the small type below a cell, at its widest. */
const LETTER = 7;

/** Where the names of sorted heads stand: before their figures, on a line above them, or nowhere. */
function naming(cell: number, [name, figure]: readonly [number, number]): "before" | "above" | "none" {
  if (cell >= (name + figure) * LETTER + 4) return "before";
  return cell >= Math.max(name, figure) * LETTER ? "above" : "none";
}

/** The matrix and the measures beside it, below the grid: the measures keep what their names and figures take. */
export function summaryBox(width: number): { matrix: number; measures: number } {
  const matrix = Math.round(Math.min(300, width * 0.54, width - 28 - MEASURES));
  return { matrix, measures: width - matrix - 28 };
}
/** The least width of a strip with its name and its figure, and what these two take. */
export const [MEASURES, NAME_AND_FIGURE] = [204, 152];

export function box(asked: Room) {
  const { sorted, letters = [6, 5] } = asked;
  const one = boxOf(asked, 15);
  const named = sorted ? naming(one.cell, letters) : "none";
  if (named !== "above") return { ...one, named };
  const two = boxOf(asked, 26);
  return { ...two, named: naming(two.cell, letters) };
}

/** Cells have their figures below them from this on. */
export const FIGURED = 26;
/** What a bar without a figure takes. */
const BARS = 5;
/** On paper heads with less room than this have narrower gaps. */
const NARROW = 30;

function boxOf(asked: Room, line: number) {
  const { rows, columns, width, room, kind, noted, sorted, pictured = false, aspect = 1, paper = false } = asked;
  const mini = kind === "mini";
  // Beside the numbers stands what they are: "Layers", "Heads"; on paper above those on top.
  const gutter = sorted ? 0 : 42;
  const top = sorted ? 0 : paper ? 34 : 20;
  const slot = (width - gutter) / columns;
  const roomy = mini || slot < LEAST + 4 ? 2 : kind === "large" ? 6 : 4;
  const gap = paper && slot < NARROW ? Math.max(1, Math.round(slot / 8)) : roomy;
  let cell = (width - gutter - (columns - 1) * gap) / columns;
  let foot = noted ? line : 0;
  const tallest = (kind === "large" ? Math.max(520, room) : room - top) + rows * foot;
  const fitting = (tallest - rows * (gap + foot)) / rows / aspect;
  cell = Math.min(
    cell,
    kind === "large" ? Math.max(pictured ? SEEN : LEGIBLE, fitting) : fitting,
    kind === "large" ? 220 : mini ? 40 : 120,
  );
  cell = Math.max(paper ? 1 : LEAST, Math.floor(cell));
  if (paper && cell <= FIGURED) foot = Math.min(foot, BARS);
  const tall = Math.max(4, Math.round(cell * aspect));
  const [step, down] = [cell + gap, tall + gap + foot];
  return {
    cell,
    tall,
    gap,
    step,
    down,
    gutter,
    top,
    width: gutter + columns * step - gap,
    height: top + rows * down - gap,
  };
}

/**
 * The width and height of a cell, from one to the next (`step` across, `down`), the room of the labels, and the whole.
 */
export type Box = Readonly<ReturnType<typeof box>>;

/**
 * The cells in the order they are drawn: model order (head -1 where a layer has no such head), layer by layer or, where
 * layers run across, head by head; or by a measure, those without a figure last.
 */
export function places(
  scene: Scene,
  measure: MeasureColumn | undefined,
  ascending = false,
  turned = false,
): { layer: number; head: number }[] {
  const { part, data } = scene;
  const heads = [...new Set(part.heads.flat())].sort((a, b) => a - b);
  const cell = (at: number, head: number): { layer: number; head: number } => ({
    layer: part.index[at]!,
    head: part.heads[at]!.includes(head) ? head : -1,
  });
  const all =
    turned && !measure
      ? heads.flatMap((head) => part.index.map((_, at) => cell(at, head)))
      : part.index.flatMap((_, at) => heads.map((head) => cell(at, head)));
  if (!measure) return all;
  const figure = (cell: { layer: number; head: number }): number => {
    const found = data.figure(part, measure, cell.layer, cell.head);
    return Number.isFinite(found) ? (ascending ? -found : found) : -Infinity;
  };
  return all.filter((cell) => cell.head >= 0).sort((a, b) => figure(b) - figure(a) || 0);
}

/**
 * The places of the heads in the order in which they are drawn: those that cost nothing, those in sight, the others.
 */
export function queue(
  order: readonly { layer: number; head: number }[],
  [first, last]: readonly [number, number],
  quick: (cell: { layer: number; head: number }) => boolean,
): number[] {
  const heads = order.flatMap(({ head }, place) => (head < 0 ? [] : [place]));
  const turn = (place: number): number => (quick(order[place]!) ? 0 : place >= first && place <= last ? 1 : 2);
  const turns = order.map((_, place) => turn(place));
  return heads.sort((a, b) => turns[a]! - turns[b]! || a - b);
}
