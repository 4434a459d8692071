// The legend of the letters in the grid: what heads do on this input, how many do it, and, pressed, which.

import { colourOf } from "../scene/letters";
import { Of } from "../scene/made";
import { rolesOf } from "../scene/roles";
import type { Scene } from "../scene/scene";
import { h } from "./dom";

export class Roles {
  readonly root = h("ul.roles", { "aria-label": "What heads do on this input" });
  private readonly filled = new Of();

  /** `only`: the scene is of one role, or of all again. */
  constructor(
    private readonly scene: Scene,
    private readonly only: () => void,
  ) {}

  update(): void {
    const { scene } = this;
    const roles = rolesOf(scene);
    this.root.hidden = roles.length === 0;
    if (!roles.some(({ name }) => name === scene.only)) scene.only = null;
    if (!this.filled.renewed(roles, scene.owner.theme, scene.only)) return;
    const press = (name: string): void => {
      scene.only = scene.only === name ? null : name;
      this.only();
    };
    this.root.replaceChildren(
      ...roles.map(({ name, look, heads }) =>
        h(
          "li",
          h(
            "button",
            { "aria-pressed": String(name === scene.only), title: "Show these heads", onclick: () => press(name) },
            h("i", { style: `background:${colourOf(look, scene.owner.theme)}`, "aria-hidden": "true" }, look.letter),
            h("bdi", name),
            h("b", String(heads.length)),
          ),
        ),
      ),
    );
  }
}
