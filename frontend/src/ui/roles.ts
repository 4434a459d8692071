// The legend of the letters in the grid: what heads do on this input, and how many do it.

import { colourOf } from "../scene/letters";
import { Of } from "../scene/made";
import { rolesOf } from "../scene/roles";
import type { Scene } from "../scene/scene";
import { h } from "./dom";

export class Roles {
  readonly root = h("ul.roles", { "aria-label": "What heads do on this input" });
  private readonly filled = new Of();

  constructor(private readonly scene: Scene) {}

  update(): void {
    const { scene } = this;
    const roles = rolesOf(scene);
    this.root.hidden = roles.length === 0;
    if (!this.filled.renewed(roles, scene.owner.theme)) return;
    this.root.replaceChildren(
      ...roles.map(({ name, look, heads }) =>
        h(
          "li",
          h("i", { style: `background:${colourOf(look, scene.owner.theme)}`, "aria-hidden": "true" }, look.letter),
          h("bdi", name),
          h("b", String(heads.length)),
        ),
      ),
    );
  }
}
