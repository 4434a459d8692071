// Pictures without a page: the same scenes, layouts and shapes as on the screen, as one SVG.

import { type Block, placed, row, stack, text } from "../draw/block";
import { area } from "../draw/canvas";
import { near, unitSays } from "../draw/near";
import { SvgPen } from "../draw/svg";
import type { ChartsPayload, ExplorerState, SimilarPayload, SourcesPayload } from "../protocol";
import { answer, plain } from "../scene/answer";
import { COLOURS, type Theme } from "../scene/color";
import { nameOf } from "../scene/inputs";
import { differenceOf, heading, made } from "../scene/says";
import { type Owner, Scene, type Sides } from "../scene/scene";
import type { Data } from "../scene/source";
import { type Full, settle } from "../scene/state";
import { charts } from "./charts";
import { allHeads } from "./grid";
import { head } from "./head";
import { matrix } from "./matrix";
import { neurons } from "./neuron";
import { onInput } from "./oninput";
import { shaded } from "./shaded";
import { sources } from "./sources";

/** How a still is asked for: the state of an explorer, and the room of the paper in pixels (96 an inch). */
export interface Asked {
  readonly state: ExplorerState;
  readonly width: number;
  /** Printed above what is open; null: neither. */
  readonly title: string | null;
  /** What the surroundings call two inputs. */
  readonly sides?: Sides;
  /** A style sheet, such as one with the font in it. */
  readonly style?: string;
}

export const MARGIN = 8;
const GAP = 24;
/** Pictures with less room beside each other stand one above the other. */
const BESIDE = { model: 226, head: 226, neuron: 290 };

/** The pictures of one head, by the state's name of each. */
const HEADS: Record<Full["picture"], (scene: Scene, width: number) => Block[] | Promise<Block[]>> = {
  lines: head,
  matrix,
  text: shaded,
  image: onInput,
};

/** Nobody points at a still: it shows its state, with the colours of its theme. */
class Paper implements Owner {
  readonly printing = true;

  constructor(
    readonly state: Full,
    readonly theme: Theme,
    readonly host: Sides,
  ) {}

  readonly ink = (name: string): string => {
    const found = COLOURS[this.theme][name.slice(2) as keyof typeof COLOURS.light];
    if (typeof found !== "string") throw new Error(`no colour is called ${name}`);
    return found;
  };

  set(): void {}
  open(): void {}
  hover(): void {}
  pin(): void {}
  choose(): void {}
  follow(): void {}
  tip(): void {}

  exact(): null {
    return null;
  }

  fail(error: unknown): void {
    throw error;
  }
}

/** The still of a state as SVG. Throws where it cannot be drawn, with a sentence that says why. */
export async function still(data: Data, asked: Asked): Promise<string> {
  const state = settle(asked.state, data.payload);
  const paper = new Paper(state, state.theme === "dark" ? "dark" : "light", asked.sides ?? {});
  const scene = (place: number, against: Scene | null = null): Scene => new Scene(data, place, paper, against);
  const { side } = state;
  const scenes =
    side === "both" ? [scene(0), scene(1)] : side === "difference" ? [scene(0, scene(1))] : [scene(state.input)];
  const whole = asked.width - 2 * MARGIN;
  const each = (whole - GAP * (scenes.length - 1)) / scenes.length;
  const beside = scenes.length === 1 || each >= BESIDE[state.scale];
  const panels = await Promise.all(
    scenes.map((one) => panel(one, Math.floor(beside ? each : whole), asked.title !== null)),
  );
  const color = paper.ink("--ink");
  const blocks = [
    ...(asked.title ? [text(asked.title, whole, { color, size: 14, weight: 600 })] : []),
    beside ? row(panels, GAP) : stack(panels, GAP),
    text(made(scenes), whole, { color: paper.ink("--ink3"), size: 10 }),
  ];
  const about = `${data.payload.model}: ${scenes.map(differenceOf).join("; ")} · ${heading(scenes[0]!)}`;
  return sheet(stack(blocks, 10), asked, paper.theme, about);
}

/** The still of what is no explorer: the sources of an answer, or charts. */
export function plainStill(
  payload: SourcesPayload | SimilarPayload | ChartsPayload,
  asked: Pick<Asked, "width" | "title" | "style">,
): string {
  const theme = payload.state.theme === "dark" ? "dark" : "light";
  const whole = asked.width - 2 * MARGIN;
  const title = text(asked.title ?? "", whole, { color: COLOURS[theme].ink, size: 14, weight: 600 });
  const blocks =
    payload.kind === "charts"
      ? charts(payload, theme, whole)
      : payload.kind === "similar"
        ? similar(payload, theme, whole)
        : [sources(payload, theme, whole)];
  return sheet(stack([...(asked.title ? [title] : []), ...blocks], 10), asked, theme, payload.title);
}

function similar({ pairs, state, notes }: SimilarPayload, theme: Theme, width: number): Block[] {
  const pair = pairs[state.input]!;
  const dim = { color: COLOURS[theme].ink2, size: 11 } as const;
  const lines = [pair.says, ...(state.pin ? [unitSays(pair, state.level, state.pin)] : []), ...notes];
  return [near(pair, state, theme, width), ...lines.map((line) => text(line, width, dim))];
}

function sheet(
  all: Block,
  { width, title, style }: Pick<Asked, "width" | "title" | "style">,
  theme: Theme,
  about: string,
): string {
  const height = Math.ceil(all.height + 2 * MARGIN);
  const pen = new SvgPen(width, height);
  area(pen, COLOURS[theme].bg, 0, 0, width, height);
  placed(pen, all, MARGIN, MARGIN);
  return pen.document(title || about, style);
}

/** One input's picture: its heading, what it shows, and the caption below. */
async function panel(scene: Scene, width: number, headed: boolean): Promise<Block> {
  const { ink } = scene.owner;
  const which =
    scene.state.side === "both"
      ? [text(`${scene.place + 1} · ${nameOf(scene.input)}`, width, { color: ink("--ink2") })]
      : [];
  if (scene.lacking) return stack([...which, text(scene.lacking, width, { color: ink("--ink2") })]);
  await Promise.all([...scene.missing(), ...scene.unmeasured()]);
  return stack([...which, ...(headed ? [titled(scene, width)] : []), ...(await picture(scene, width))]);
}

/** What is open, and below it what it does. */
function titled(scene: Scene, width: number): Block {
  const { ink } = scene.owner;
  const bold = { color: ink("--ink"), size: 13, weight: 600 } as const;
  const said = text(plain(answer(scene)), width, { color: ink("--ink2") });
  return stack([text(heading(scene), width, bold), said], 2);
}

async function picture(scene: Scene, width: number): Promise<Block[]> {
  const { scale, picture } = scene.state;
  if (scale === "model") return allHeads(scene, width);
  if (scale === "neuron") return neurons(scene, width);
  return HEADS[picture](scene, width);
}
