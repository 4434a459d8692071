// Pictures without a page: the same scenes, layouts and shapes as on the screen, as one SVG.

import { area } from "../draw/canvas";
import { SvgPen } from "../draw/svg";
import type { ExplorerPayload, ExplorerState } from "../protocol";
import { COLOURS, type Theme } from "../scene/color";
import type { Store } from "../scene/data";
import { heading, made, phrase } from "../scene/says";
import { type Owner, Scene } from "../scene/scene";
import { Data } from "../scene/source";
import { type Full, settle } from "../scene/state";
import { type Block, placed, row, stack, text } from "./block";
import { matrix } from "./matrix";
import { onInput } from "./oninput";

/** How a still is asked for: the state of an explorer, and the room of the paper in pixels (96 an inch). */
export interface Asked {
  readonly state: ExplorerState;
  readonly width: number;
  readonly title: string;
}

const MARGIN = 8;
const GAP = 24;
/** Pictures with less room beside each other stand one above the other. */
const BESIDE = 226;

/** Nobody points at a still: it shows its state, with the colours of its theme. */
class Paper implements Owner {
  readonly printing = true;
  readonly host = {};

  constructor(
    readonly state: Full,
    readonly theme: Theme,
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
export async function still(payload: ExplorerPayload, store: Store, asked: Asked): Promise<string> {
  const state = settle(asked.state, payload);
  const paper = new Paper(state, state.theme === "dark" ? "dark" : "light");
  const data = new Data(payload, store);
  const scene = (place: number, against: Scene | null = null): Scene => new Scene(data, place, paper, against);
  const { side } = state;
  const scenes =
    side === "both" ? [scene(0), scene(1)] : side === "difference" ? [scene(0, scene(1))] : [scene(state.input)];
  const whole = asked.width - 2 * MARGIN;
  const each = (whole - GAP * (scenes.length - 1)) / scenes.length;
  const beside = scenes.length === 1 || each >= BESIDE;
  const panels = await Promise.all(scenes.map((one) => panel(one, Math.floor(beside ? each : whole))));
  const color = paper.ink("--ink");
  const blocks = [
    ...(asked.title ? [text(asked.title, whole, { color, size: 14, weight: 600 })] : []),
    beside ? row(panels, GAP) : stack(panels, GAP),
    text(made(scenes), whole, { color: paper.ink("--ink3"), size: 10 }),
  ];
  const all = stack(blocks, 10);
  const pen = new SvgPen(asked.width, Math.ceil(all.height + 2 * MARGIN));
  area(pen, paper.ink("--bg"), 0, 0, asked.width, Math.ceil(all.height + 2 * MARGIN));
  placed(pen, all, MARGIN, MARGIN);
  return pen.document(asked.title || heading(scenes[0]!));
}

/** One input's picture: its heading, what it shows, and the caption below. */
async function panel(scene: Scene, width: number): Promise<Block> {
  const { ink } = scene.owner;
  if (scene.lacking) return text(scene.lacking, width, { color: ink("--ink2") });
  await Promise.all(scene.missing());
  const said = [heading(scene), phrase(scene)].filter(Boolean).join(" · ");
  return stack([text(said, width, { color: ink("--ink"), size: 13, weight: 600 }), ...(await picture(scene, width))]);
}

async function picture(scene: Scene, width: number): Promise<Block[]> {
  const { scale, picture } = scene.state;
  if (scale === "head" && picture === "image") return onInput(scene, width);
  if (scale === "head" && picture === "matrix") return matrix(scene, width);
  throw new Error(`no still of ${scale} ${picture} yet`);
}
