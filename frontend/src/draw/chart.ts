// Charts as data: a figure by layer, a map of heads, points by two figures, strips and bars, each drawn from its rows.

import type { Chart, ChartAxis } from "../protocol";
import { COLOURS, inkOn, rgba } from "../scene/color";
import { bare, brief, clamp, fixed } from "../scene/format";
import { looks } from "../scene/letters";
import { area, lettering, write } from "./canvas";
import { type Drawing, type Ends, framed, type How, known, SIZE, type Spot, spot, widest } from "./frame";
import { lettered, painted } from "./key";
import { placeNames } from "./names";
import { cutTo, textWidth } from "./ruler";
import type { SvgPen } from "./svg";

/** Of a cell at most. */
const CELL = 48;
const EDGE = 16;
/** Room for the numbers of points. */
const TICKS = 34;

function disc(pen: SvgPen, x: number, y: number, radius: number, fill: string, edge: string, line: number): void {
  [pen.fillStyle, pen.strokeStyle, pen.lineWidth] = [fill, edge, line];
  pen.beginPath();
  pen.arc(x, y, radius);
  pen.fill();
  pen.stroke();
}

/** Names beside their spots, as many as have room. */
function naming({ rows }: Chart, { width, theme, named = 24 }: How, spots: readonly Spot[], marked: readonly number[]) {
  const rank = new Map(marked.map((row, at) => [row, at]));
  const own = spots.filter(({ row }) => rank.has(row)).sort((a, b) => rank.get(a.row)! - rank.get(b.row)!);
  const names = placeNames(
    own.map(({ row, x, y }) => ({ x, y, text: rows.link?.[row] ?? "" })),
    width,
    named,
    spots,
  );
  return (pen: SvgPen): void => {
    for (const { x, y, text, anchor } of names) {
      const [wide, first] = [textWidth(text, SIZE, 500), anchor === "start"];
      pen.globalAlpha = 0.7;
      area(pen, COLOURS[theme].bg, first ? x : x - wide, y - 6, wide, 12);
      pen.globalAlpha = 1;
      lettering(pen, `500 ${SIZE}px`, first ? "left" : "right");
      write(pen, COLOURS[theme].ink, text, x, y);
    }
  };
}

/** A figure by layer: rows are points, those of a layer beside one another; lines go from layer to layer. */
function layers(info: Chart, how: How): Drawing {
  const { rows, lines = [], x, y, colour = null } = info;
  const { width, theme, height = Math.max(156, Math.round(0.28 * width)) } = how;
  const { accent, bg, ink, ink2, tick } = COLOURS[theme];
  const values = [...rows.y, ...lines.flatMap((one) => [...one.y, ...(one.low ?? []), ...(one.high ?? [])])].filter(
    known,
  );
  const ys = [y.low ?? 1.04 * Math.min(0, ...values), y.high ?? 1.04 * Math.max(1e-12, ...values)] as const;
  const count = x.names!.length;
  const beyond = widest(lines.map(({ name = "" }) => name));
  const frame = framed(info, how, height, [-0.5, count - 0.5], ys, beyond && beyond + 10);
  const hue = painted(colour, theme);
  const groups = colour?.of === "heads" ? Math.max(1, colour.names?.length ?? 1) : 1;
  const step = 0.7 / groups;
  const beside = new Map<string, number[]>();
  const group = (row: number): number => (groups > 1 ? (rows.colour?.[row] ?? 0) : 0);
  rows.x.forEach((at, row) => {
    const key = `${at} ${group(row)}`;
    beside.set(key, [...(beside.get(key) ?? []), row]);
  });
  const spots = [...beside.values()]
    .flatMap((all) =>
      all.map((row, i) => {
        const share = all.length > 1 ? i / (all.length - 1) - 0.5 : 0;
        const shift = (group(row) - (groups - 1) / 2) * step + 0.8 * step * share;
        return spot(row, frame.atX((rows.x[row] ?? NaN) + shift), frame.atY(rows.y[row] ?? NaN));
      }),
    )
    .filter((one) => known(one.y))
    .sort((a, b) => a.row - b.row);
  const radius = (spots.length > 500 ? 1.8 : spots.length > 200 ? 2.4 : 3) * (groups > 1 ? 0.8 : 1);
  const line = (pen: SvgPen, one: (typeof lines)[number]): void => {
    const many = lines.length > 12;
    const own = known(one.colour) ? hue(one.colour)! : one.dots ? ink : one.steps ? ink2 : tick;
    [pen.globalAlpha, pen.strokeStyle, pen.lineWidth] = [many ? 0.75 : 1, own, many ? 0.8 : one.steps ? 1 : 1.4];
    pen.dash = one.steps ? "3 3" : "";
    pen.beginPath();
    let before = false;
    one.y.forEach((value, at) => {
      if (known(value)) {
        const high = frame.atY(value);
        const begin = frame.atX(one.steps ? at - 0.5 : at);
        if (before && !one.steps) pen.lineTo(begin, high);
        else pen.moveTo(begin, high);
        if (one.steps) pen.lineTo(frame.atX(at + 0.5), high);
      }
      before = known(value);
    });
    pen.stroke();
    pen.dash = "";
    if (one.dots)
      one.y.forEach((value, at) => {
        const [low, high] = [one.low?.[at], one.high?.[at]];
        if (!known(value)) return;
        if (known(low) && known(high))
          area(pen, own, frame.atX(at) - 0.75, frame.atY(high), 1.5, frame.atY(low) - frame.atY(high));
        disc(pen, frame.atX(at), frame.atY(value), 2.8, own, bg, 1);
      });
    const last = one.y.at(-1);
    lettering(pen, `500 ${SIZE}px`);
    if (one.name && known(last)) write(pen, ink, one.name, frame.atX(count - 1) + 6, frame.atY(last));
  };
  const below = lines.filter((one) => !known(one.colour) && !one.dots);
  const names = naming(info, { named: 8, ...how }, spots, rows.marked ?? []);
  return frame.drawing(spots, (pen) => {
    for (const one of below) line(pen, one);
    pen.globalAlpha = groups > 1 || lines.some(({ dots }) => dots) ? 0.5 : 0.62;
    for (const { row, x, y } of spots) {
      pen.row = row;
      pen.fillStyle = colour ? (hue(rows.colour?.[row]) ?? accent) : accent;
      pen.beginPath();
      pen.arc(x, y, radius);
      pen.fill();
    }
    pen.row = null;
    for (const one of lines) if (!below.includes(one)) line(pen, one);
    names(pen);
  });
}

/** Cell size and gap for so many rows and columns in so much room. */
export function layout(
  rows: number,
  columns: number,
  width: number,
  height: number,
  largest: number,
): { size: number; gap: number } {
  const size = Math.min(largest, (width + 2) / columns, (height + 2) / rows);
  const gap = size >= 24 ? 4 : size >= 14 ? 3 : size >= 8 ? 2 : 1;
  return { size: Math.max(2, Math.floor(size) - gap), gap };
}

/** `.66`, `−.12`, `3.1`: in a cell. Where all are small, one digit of each. */
export function short(value: number, most = Infinity): string {
  const size = Math.abs(value);
  if (most < 0.1) return bare(brief(value, 1));
  return size < 0.005 ? "·" : bare(fixed(value, size >= 9.95 ? 0 : size >= 0.995 ? 1 : 2));
}

/** A map, `y` down and `x` across: rows are cells in colours, the marked ones with an edge. */
function headMap(info: Chart, how: How): Drawing {
  const { rows, x, y, colour = null } = info;
  const { width, theme, height = 420 } = how;
  const { ink, ink3, track } = COLOURS[theme];
  const letters = colour?.lettered ? looks(colour.names ?? []).map(({ letter }) => letter) : null;
  const [across, down] = [x.names!, y.names!];
  const left = Math.min(0.5 * width, widest(down) + 8) + (y.title ? 16 : 0);
  const top = x.title ? 32 : 18;
  const { size, gap } = layout(down.length, across.length, width - left, height - top, CELL);
  const step = size + gap;
  const spots = rows.x.flatMap((at, row) => {
    const middle = (from: number, place: number): number => from + place * step + size / 2;
    const shown = known(at) && (known(rows.colour?.[row]) || letters || rows.text?.[row]);
    return shown ? [spot(row, middle(left, at), middle(top, rows.y[row]!), size, size)] : [];
  });
  const hue = painted(colour, theme);
  const most = Math.max(0, ...(rows.colour ?? []).filter(known).map(Math.abs));
  const high = top + down.length * step;
  const marked = new Set(rows.marked);
  return {
    width,
    height: high,
    spots,
    unscaled: (px, py) => [(px - left) / step - 0.5, (py - top) / step - 0.5],
    draw(pen) {
      pen.globalAlpha = 1;
      lettering(pen, `400 ${SIZE}px`, "center");
      const every = (room: number): number => Math.max(1, Math.ceil(room / step));
      across.forEach((name, at) => {
        if (at % every(widest(across) + 6) === 0) write(pen, ink3, name, left + at * step + size / 2, top - 11);
      });
      lettering(pen, `400 ${SIZE}px`, "right");
      down.forEach((name, at) => {
        const room = left - 8 - (y.title ? 16 : 0);
        if (at % every(13) === 0) write(pen, ink3, cutTo(name, room, SIZE), left - 8, top + at * step + size / 2);
      });
      if (y.title) {
        pen.turn(-90, 6, top);
        write(pen, ink3, y.title, 6, top);
        pen.end();
      }
      lettering(pen, `400 ${SIZE}px`);
      if (x.title) write(pen, ink3, x.title, left, 6);
      lettering(pen, `500 ${SIZE}px`, "center");
      for (const { row, x, y } of spots) {
        const value = rows.colour![row]!;
        const fill = hue(value) ?? track;
        pen.row = row;
        if (letters) lettered(pen, fill, size >= 9 ? (letters[value] ?? "") : "", x, y, size, theme);
        else area(pen, fill, x - size / 2, y - size / 2, size, size);
        pen.row = null;
        if (size >= 2 * SIZE && !letters)
          write(pen, inkOn(rgba(fill)), rows.text?.[row] ?? short(value, most), x, y + 0.5);
        if (!marked.has(row)) continue;
        [pen.strokeStyle, pen.lineWidth] = [ink, 1.5];
        pen.strokeRect(x - size / 2 - 1, y - size / 2 - 1, size + 2, size + 2);
      }
    },
  };
}

/** Points by two figures: the marked ones have an edge and their name, those without a colour are rings. */
function scatter(info: Chart, how: How): Drawing {
  const { rows, x, y, colour = null, equal = false } = info;
  const { width, theme, faint } = how;
  const { bg, ink, ink3 } = COLOURS[theme];
  const all = rows.x.map((_, row) => row).filter((row) => known(rows.x[row]) && known(rows.y[row]));
  const ends = ({ low, high }: ChartAxis, of: readonly (number | null)[]): [number, number] => {
    const own = all.map((row) => of[row]!);
    const [least, most] = own.length > 0 ? [Math.min(...own), Math.max(...own)] : [0, 1];
    const pad = 0.04 * (most - least) || 0.5;
    return [low ?? least - pad, high ?? most + pad];
  };
  let [xs, ys] = [ends(x, rows.x), ends(y, rows.y)];
  const shape = (ys[1] - ys[0]) / (xs[1] - xs[0]);
  const height = how.height ?? Math.round(width * clamp(equal ? shape : 0.8, 0.5, 0.8)) + (x.title ? 40 : 0);
  if (equal && x.low === undefined) {
    // A step is as long on either axis.
    const room = framed(info, how, height, xs, ys, 8, TICKS);
    const unit = Math.min((room.across - EDGE) / (xs[1] - xs[0]), (room.bottom - room.top - EDGE) / (ys[1] - ys[0]));
    const wide = ([low, high]: Ends, pixels: number): [number, number] => {
      const more = (pixels / unit - (high - low)) / 2;
      return [low - more, high + more];
    };
    [xs, ys] = [wide(xs, room.across), wide(ys, room.bottom - room.top)];
  }
  const frame = framed(info, how, height, xs, ys, 8, TICKS);
  const within = (at: number, [low, high]: Ends): boolean => at >= low && at <= high;
  const spots = all
    .filter((row) => within(rows.x[row]!, xs) && within(rows.y[row]!, ys))
    .map((row) => spot(row, frame.atX(rows.x[row]!), frame.atY(rows.y[row]!)));
  const hue = painted(colour, theme);
  const fill = (row: number): string | null => (colour ? hue(rows.colour?.[row]) : hue(0));
  const marked = new Set(rows.marked);
  const order = [...spots].sort(
    (a, b) =>
      Number(faint?.has(b.row) ?? false) - Number(faint?.has(a.row) ?? false) ||
      Number(marked.has(a.row)) - Number(marked.has(b.row)) ||
      Number(fill(a.row) !== null) - Number(fill(b.row) !== null),
  );
  const radius = Math.min(spots.length > 400 ? 2.8 : spots.length > 160 ? 3.6 : 4.6, width / 55);
  const names = naming(info, how, spots, rows.marked ?? []);
  return frame.drawing(spots, (pen) => {
    for (const { row, x, y } of order) {
      const own = fill(row);
      pen.globalAlpha = faint?.has(row) ? 0.2 : 1;
      pen.row = row;
      disc(pen, x, y, own ? radius : radius - 0.5, own ?? bg, marked.has(row) ? ink : own ? bg : ink3, 1);
    }
    pen.row = null;
    names(pen);
  });
}

/** A strip a place of `y`: each row a dot at its value, a ring where it is no head, and a tick at what it is held against. */
function strips(info: Chart, how: How): Drawing {
  const { rows, x, y, colour = null } = info;
  const { width, theme } = how;
  const { bg, ink, ink2, ink3, line } = COLOURS[theme];
  const { opposite = [] } = y;
  const count = y.names!.length;
  const height = how.height ?? 16 * count + (x.ticks === false ? 2 : 30) + (x.title ? 15 : 0);
  const values = rows.x.filter(known);
  const xs = [x.low ?? Math.min(0, ...values), x.high ?? Math.max(1e-12, ...values)] as const;
  const frame = framed(info, how, height, xs, [count - 0.5, -0.5], widest(opposite) + 10);
  const spots = rows.x.flatMap((value, row) =>
    known(value) && known(rows.y[row]) ? [spot(row, frame.atX(clamp(value, ...xs)), frame.atY(rows.y[row]))] : [],
  );
  const hue = painted(colour, theme);
  return frame.drawing(spots, (pen) => {
    for (let at = 0; at < count; at++) area(pen, line, frame.left, frame.atY(at) - 0.5, frame.across, 1);
    for (const { row, y } of spots) {
      const against = rows.against?.[row];
      if (known(against)) area(pen, ink2, frame.atX(clamp(against, ...xs)) - 0.5, y - 5, 1, 10);
    }
    for (const { row, x, y } of spots) {
      const fill = rows.link?.[row] === "" ? null : hue(rows.colour?.[row] ?? 0);
      pen.row = row;
      disc(pen, x, y, 3.4, fill ?? bg, fill ? bg : ink3, 1);
    }
    pen.row = null;
    lettering(pen, `400 ${SIZE}px`, "right");
    opposite.forEach((text, at) => write(pen, ink, text, width, frame.atY(at)));
  });
}

/** A bar a row, beside one another. */
function bars(info: Chart, how: How): Drawing {
  const { rows, x, y, colour = null } = info;
  const { theme, height = 156 } = how;
  const count = x.names!.length;
  const high = y.high ?? Math.max(1e-12, ...rows.y.filter(known));
  const frame = framed(info, how, height, [-0.5, count - 0.5], [0, high]);
  const wide = frame.across / count;
  const spots = rows.x.flatMap((at, row) => {
    if (!known(rows.y[row]) || !known(at)) return [];
    const top = frame.atY(rows.y[row]);
    return [spot(row, frame.atX(at), (top + frame.bottom) / 2, wide, frame.bottom - top)];
  });
  const hue = painted(colour, theme);
  return frame.drawing(spots, (pen) => {
    for (const { row, x, y, tall } of spots) {
      pen.row = row;
      area(pen, hue(rows.colour?.[row] ?? 0)!, x - wide / 2 + 0.4, y - tall / 2, wide - 0.8, tall);
    }
    pen.row = null;
  });
}

const KINDS: { readonly [Kind in Chart["kind"]]: (info: Chart, how: How) => Drawing } = {
  layers,
  head_map: headMap,
  scatter,
  strips,
  bars,
};

/** A chart as wide as it may be, without its title and the key of its colours. */
export const chart = (info: Chart, how: How): Drawing => KINDS[info.kind](info, how);
