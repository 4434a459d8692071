// The geometry of the neuron view: tokens, q, connector, k, q × k, q·k, softmax, tokens, values.

import { clamp } from "./format";
import { rowHeight } from "./headlayout";

export interface NeuronRoom {
  readonly width: number;
  readonly rows: number;
  readonly tokens: number;
  readonly widest: number;
  readonly size: number;
  readonly vectors: boolean;
  readonly norms: boolean;
  readonly tallest: number;
  readonly touch?: boolean;
  /** Nothing can be moved sideways: blocks are as narrow as they must be. */
  readonly paper?: boolean;
}

/** Below this width the view is narrow. */
const NARROW = 520;

export function neuronBox(asked: NeuronRoom) {
  const { width, rows, tokens, widest, size, vectors, norms, tallest, touch = false, paper = false } = asked;
  const [narrow, wide] = [width < NARROW, width > 700];
  const row = touch ? rowHeight(tokens, true) : tokens > 64 ? 17 : tokens > 20 ? 20 : 24;
  const room = narrow
    ? clamp(Math.ceil(widest) + 14, 36, Math.max(46, Math.round(width * 0.15)))
    : clamp(Math.ceil(widest) + 18, 48, wide ? 124 : 92);
  const [connector, gap] = narrow ? [18, 6] : wide ? [44, 18] : [30, 12];
  const [dotWidth, softWidth] = narrow ? [30, 34] : [wide ? 72 : 58, wide ? 88 : 62];
  const normWidth = !norms ? 0 : narrow ? 36 : 58;
  const blocks = vectors ? 4 : 3;
  const fixed =
    2 * room +
    connector +
    3 * gap +
    dotWidth +
    softWidth +
    normWidth +
    (vectors ? gap : 0) +
    (norms && narrow ? gap : 0) +
    8;
  let block = Math.min(Math.max(paper ? 4 : narrow ? 20 : 24, Math.floor((width - fixed) / blocks)), size * 8);
  if (block / size >= 1) block = (Math.floor((block * 2) / size) / 2) * size;
  const q = room + 4;
  const k = q + block + connector;
  const product = k + block + gap;
  const dot = product + block + gap;
  const soft = dot + dotWidth + gap;
  const right = soft + softWidth + 2;
  const v = vectors ? right + room + 4 : 0;
  const norm = norms ? (vectors ? v + block + 8 : Math.max(right + room, width - normWidth)) : 0;
  const full = rows * row + 4;
  return {
    width,
    narrow,
    row,
    tokens: room,
    block,
    q,
    k,
    product,
    dot,
    dotWidth,
    soft,
    softWidth,
    right,
    v,
    norm,
    normWidth,
    letter: narrow ? 12 : 13,
    inset: narrow ? 3 : 7,
    full,
    height: full <= 900 ? full : tallest,
  };
}

/**
 * Where the blocks of q, k and q × k, the scores, the softmax, the keys, the values and the norms stand (0: not
 * there), the size of a token's letters and their room on both sides. On a phone or in half a column it is narrow:
 * numbers stand over their bars, and blocks may be narrower than their neurons.
 */
export type NeuronBox = Readonly<ReturnType<typeof neuronBox>>;

/** From one numbered neuron to the next: 5 to 8 of them have a number. */
export const everyNeuron = (size: number): number => 2 ** Math.max(0, Math.ceil(Math.log2(size / 8)));
