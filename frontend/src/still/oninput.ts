// A head on what the model saw or heard: on a picture, on a sound, or on a picture beside a text.

import type { Block } from "../draw/block";
import { sensed } from "../scene/onpicture";
import type { Scene } from "../scene/scene";
import { goldKey } from "./goldkey";
import { picture } from "./picture";
import { sound } from "./sound";
import { talk } from "./talk";

export async function onInput(scene: Scene, width: number): Promise<Block[]> {
  const blocks = await { picture, sound, text: talk }[sensed(scene)](scene, width);
  return [...blocks, ...goldKey(scene, width)];
}
