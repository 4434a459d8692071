// The pictures of one head, by the state's name of each. Another one is an entry here, and one in still/still.ts.

import type { PartInfo } from "../protocol";
import type { Scene } from "../scene/scene";
import type { Full, Heeds } from "../scene/state";
import { HeadLines } from "./head";
import { Matrix } from "./matrix";
import { HeadOnInput } from "./onpicture";
import { Shaded } from "./shaded";

/** The room of a picture: how wide it is, how tall a window onto rows and how tall a square may be. */
export interface Room {
  readonly width: number;
  readonly tallest: number;
  readonly tall: number;
}

export interface Picture {
  readonly root: HTMLElement;
  update(room: Room): void;
  /** Only what is pointed at has changed. */
  focus(): void;
  /** The last drawing is complete. */
  readonly done?: boolean;
  destroy?(): void;
}

interface Entry {
  readonly label: string;
  readonly title?: string;
  /** Of which parts there is one; by default of all. */
  offered?(part: PartInfo): boolean;
  readonly picture: { new (element: HTMLElement, scene: Scene): Picture; readonly heeds?: Heeds };
}

const seen = ({ query, key }: PartInfo): boolean => query.boxes !== undefined || key.boxes !== undefined;

const PICTURES = {
  image: { label: "Picture", title: "The head on the picture", offered: seen, picture: HeadOnInput },
  lines: { label: "Lines", picture: HeadLines },
  text: {
    label: "Text",
    title: "The text, shaded by what the head looks at",
    offered: (part: PartInfo) => !seen(part),
    picture: Shaded,
  },
  matrix: { label: "Matrix", title: "The head as a matrix (m)", picture: Matrix },
} satisfies Record<Full["picture"], Entry>;

/** One of each, made for a scene. */
export type Pictures = { readonly [Name in keyof typeof PICTURES]: InstanceType<(typeof PICTURES)[Name]["picture"]> };

export const entries = Object.entries(PICTURES) as [Full["picture"], Entry][];
