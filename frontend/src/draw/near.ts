// Two texts that are read apart, each unit shaded by its effect, and a line between units that act together.

import type { NearTexts, NearUnit, PictureInfo, SimilarPayload, SimilarState } from "../protocol";
import { COLOURS, mixed, type Theme } from "../scene/color";
import { figure, probability, shortened } from "../scene/format";
import { BEND } from "../scene/headlayout";
import { type Shade, shade, signed } from "../scene/sources";
import { areas } from "./areas";
import { type Block, placed } from "./block";
import { area, curve, lettering, write } from "./canvas";
import { textWidth } from "./ruler";
import type { SvgPen } from "./svg";

export const ROW = 24;
const SIZE = 13;
/** The share of the width that the units of a text have. */
const SIDE = 0.36;
/** The room for the names of a matrix's columns. */
const ABOVE = 96;
/** Lines of less than this share of the largest are left out, where nothing is pointed at. */
const FAINT = 0.12;
const LEVEL = 0.05;

/** The places of units of a level; of a text that has none, of its last level. */
export function shownUnits({ units }: NearTexts, level: string): number[][] {
  return units.map((some) => {
    const there = some.some((unit) => unit.level === level) ? level : some.at(-1)?.level;
    return some.flatMap((unit, place) => (unit.level === there ? [place] : []));
  });
}

export const levelsOf = ({ pairs }: SimilarPayload): string[] => [
  ...new Set(pairs.flatMap(({ units, picture }) => (picture ? units[0]! : units.flat()).map(({ level }) => level))),
];

interface Both {
  readonly a: number;
  readonly b: number;
  readonly value: number;
  readonly q: number | null;
}

/** All pairs of the units that are shown, the largest interactions first. */
export function together(pair: NearTexts, level: string): Both[] {
  const [ofA, ofB] = shownUnits(pair, level) as [number[], number[]];
  return ofA
    .flatMap((a) => ofB.map((b) => ({ a, b, value: pair.interactions[a]![b] ?? 0, q: pair.q[a]![b] ?? null })))
    .sort((one, other) => Math.abs(other.value) - Math.abs(one.value));
}

/** A figure, and its q where that is known. */
export const withQ = (value: number | null, q: number | null): string =>
  signed(value ?? 0) + (q === null ? "" : `, q ${probability(q)}`);

/** What is said of a unit: the similarity without it, and the units that it acts together with. */
export function unitSays(pair: NearTexts, level: string, [side, place]: readonly number[]): string {
  const { text, effect, q } = pair.units[side!]![place!]!;
  const partners = together(pair, level).filter(({ a, b }) => (side === 0 ? a : b) === place);
  const first = partners.slice(0, 3).map(({ a, b, value, q: own }) => {
    const other = side === 0 ? pair.units[1]![b]! : pair.units[0]![a]!;
    return `“${shortened(other.text, 32)}” ${withQ(value, own)}`;
  });
  const left = figure((pair.similarity ?? 0) - (effect ?? 0));
  return `Without “${shortened(text, 48)}” it is ${left} (${withQ(-(effect ?? 0), q)}). It acts together with ${first.join("; ")}.`;
}

/** Where a picture begins, as a share of the width: it has more room than words. */
const PICTURE = 0.42;
const enlarged = (width: number, picture: PictureInfo): number => (width * (1 - PICTURE)) / picture.width;

/** How near two texts are, and by which words. */
export const pairSays = ({ says }: NearTexts): string => `${says[0]!.toUpperCase()}${says.slice(1)}.`;

interface UnitBox {
  readonly side: number;
  readonly place: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/**
 * Where the units stand: in two columns, of a matrix those of A before its rows and those of B above its columns,
 * and patches on their picture.
 */
export function unitBoxes(pair: NearTexts, state: SimilarState, width: number): UnitBox[] {
  const rows = shownUnits(pair, state.level);
  const wide = width * SIDE;
  const cell = cellOf(rows, width);
  return rows.flatMap((some, side) =>
    some.map((place, n) => {
      const box = pair.picture && pair.units[side]![place]!.box;
      if (box) {
        const by = enlarged(width, pair.picture!);
        const [left, top, right, bottom] = box.map((edge) => edge * by) as [number, number, number, number];
        return { side, place, x: width * PICTURE + left, y: ROW + top, width: right - left, height: bottom - top };
      }
      const row = { side, place, y: (n + 1) * ROW, width: wide, height: ROW };
      if (state.drawn === "lines") return { ...row, x: side === 0 ? 0 : width - wide };
      if (side === 0) return { ...row, x: 0, y: ABOVE + n * ROW };
      return { side, place, x: wide + 8 + n * cell, y: 0, width: cell, height: ABOVE };
    }),
  );
}

const cellOf = (rows: readonly number[][], width: number): number =>
  Math.min(ROW * 1.7, (width * (1 - SIDE) - 8) / Math.max(rows[1]!.length, 1));

/** A text, shortened to a room. */
function fitting(text: string, room: number): string {
  let made = text;
  for (let limit = 80; textWidth(made, SIZE) > room && limit > 2; limit -= 2) made = shortened(text, limit);
  return made;
}

/** The picture of a pair; `focus` is the unit that is pointed at, else the pinned one, and some are struck out. */
export function near(
  pair: NearTexts,
  state: SimilarState,
  theme: Theme,
  width: number,
  focus = state.pin,
  struck: readonly number[][] = focus ? [focus] : [],
): Block {
  const colours = COLOURS[theme];
  const matrix = state.drawn === "matrix";
  const every = together(pair, state.level);
  const most = Math.abs(every[0]?.value ?? 0) || 1;
  const largest = Math.max(...pair.units.flat().map(({ effect }) => Math.abs(effect ?? 0)), 1e-9);
  const boxes = unitBoxes(pair, state, width);
  const { picture } = pair;
  const x = [width * SIDE, width * (picture ? PICTURE : 1 - SIDE)] as const;
  const at: UnitBox[][] = [[], []];
  for (const box of boxes) at[box.side]![box.place] = box;
  const own = focus && every.filter(({ a, b }) => (focus[0] === 0 ? a : b) === focus[1]);
  const chosen = (s: number, place: number): boolean => focus?.[0] === s && focus[1] === place;
  const met = (s: number, place: number): number => own?.find(({ a, b }) => (s === 0 ? a : b) === place)?.value ?? 0;
  // Beside a picture no line is drawn: what is not pointed at is shaded by what it gives with what is.
  const tint = (s: number, place: number): Shade =>
    picture && focus && focus[0] !== s ? shade(met(s, place), most) : shade(pair.units[s]![place]!.effect, largest);
  const regions = boxes.filter(({ side }) => picture && side === 1);
  const board =
    picture &&
    areas(
      picture,
      regions.map(({ place }) => ({ box: pair.units[1]![place]!.box!, shade: tint(1, place), on: chosen(1, place) })),
      theme,
      enlarged(width, picture),
    );

  function cell(pen: SvgPen, { a, b, value }: Both): void {
    const { y, height } = at[0]![a]!;
    const { x: left, width: wide } = at[1]![b]!;
    const [middle, number] = [left + wide / 2, signed(value)];
    const { tone, strength } = shade(value, most);
    const mine = chosen(0, a) || chosen(1, b);
    pen.globalAlpha = focus && !mine ? 0.4 : 1;
    pen.rounded(left, y, wide - 1, height - 1, mixed(colours[tone], colours.bg, strength / 50), null, 2);
    lettering(pen, "400 10px", "center");
    if (mine && textWidth(number, 10) < wide - 4) write(pen, colours.ink, number, middle, y + height / 2);
  }

  function line(pen: SvgPen, { a, b, value, q }: Both): void {
    const share = Math.abs(value) / most;
    if (!own && share < FAINT) return;
    pen.strokeStyle = colours[value < 0 ? "minus" : "plus"];
    pen.globalAlpha = (0.15 + 0.85 * share) * (q === null || q <= LEVEL || own ? 1 : 0.5);
    pen.lineWidth = 0.8 + 4 * share;
    curve(pen, x[0] + 8, at[0]![a]!.y + ROW / 2, x[1] - 8, at[1]![b]!.y + ROW / 2, BEND);
  }

  return {
    width,
    height: Math.max(ROW + (board?.height ?? ROW), ...boxes.map(({ y, height }) => y + height)),
    draw(pen) {
      if (board) placed(pen, board, x[1], ROW);
      else if (matrix) for (const both of every) cell(pen, both);
      else for (const both of (own ?? every).slice(0, 400).reverse()) line(pen, both);
      for (const s of matrix ? [] : [0, 1]) {
        pen.globalAlpha = 1;
        lettering(pen, "600 11px", s === 0 ? "right" : "left");
        write(pen, colours.ink2, "AB"[s]!, x[s]!, ROW / 2);
      }
      for (const { side: s, place, x: start, y: top, width: room, height } of boxes) {
        if (picture && s === 1) continue;
        const unit: NearUnit = pair.units[s]![place]!;
        const turned = matrix && s === 1;
        const y = turned ? ABOVE - 6 : top + height / 2;
        const on = chosen(s, place);
        const number = matrix
          ? ""
          : own && focus![0] !== s
            ? signed(met(s, place))
            : on
              ? signed(unit.effect ?? 0)
              : "";
        const text = fitting(unit.text, (turned ? height : room) - 16 - (number ? textWidth(number, 11) + 8 : 0));
        const wide = textWidth(text, SIZE);
        const left = turned ? start + room / 2 : s === 0 ? x[0] - wide : x[1];
        const { tone, strength } = tint(s, place);
        pen.globalAlpha = 1;
        if (turned) pen.turn(-90, left, y);
        if (strength >= 0.5 || on) {
          const fill = mixed(colours[tone], colours.bg, strength / 100);
          pen.rounded(left - 5, y - ROW / 2 + 3, wide + 10, ROW - 6, fill, on ? colours.ink : null, 3);
        }
        lettering(pen, `400 ${SIZE}px`);
        write(pen, own && !on && focus![0] === s ? colours.ink3 : colours.ink, text, left, y);
        if (struck.some(([of, one]) => of === s && one === place)) area(pen, colours.minus, left - 2, y, wide + 4, 1.5);
        lettering(pen, "400 11px", s === 0 ? "right" : "left");
        if (number) write(pen, colours.ink2, number, s === 0 ? left - 10 : left + wide + 10, y);
        if (turned) pen.end();
      }
    },
  };
}
