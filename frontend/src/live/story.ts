// The story in a sentence: what an example claims, what the model says, or what the changes made of it; and what to try.

import type { LiveExample, Prediction } from "../protocol";
import { figure, label, percent, shown } from "../scene/format";
import { h } from "../ui/dom";
import { readable } from "./says";

interface StoryOwner {
  make(change: string): void;
  /** Take all changes back. */
  undo(): void;
  rank(): void;
  /** The number that is followed, with a head switched off. */
  without(layer: number, head: number): Promise<number>;
}

const OFF = / off$/;

// The tokens that a change concerns in all heads, and by how much they are scaled; null where it does something else.
function tokens(
  change: string,
  pieces: readonly string[] | null,
): { readonly text: string; readonly by: string } | null {
  const [, first, last = first, by = ""] = /^all (?:hide|scale) >(\d+)(?:-(\d+))?(?: (\S+))?$/.exec(change) ?? [];
  if (first === undefined || !pieces) return null;
  const some = pieces.slice(Number(first), Number(last) + 1);
  return { text: `“${label(some, 32, some.join(" "))}”`, by };
}

// What a change takes away: a head, a layer, or tokens; nothing where it does something else.
function taken(change: string, pieces: readonly string[] | null): string | null {
  if (OFF.test(change)) return change.replace(OFF, "");
  const found = tokens(change, pieces);
  return found && !found.by ? found.text : null;
}

// What is done to tokens that are looked at more, or less.
function scaled(change: string, pieces: readonly string[] | null): string {
  const found = tokens(change, pieces);
  return found?.by ? `the odds of ${found.text} × ${Number(found.by)}` : change;
}

/** What the model says. */
export function answer(says: Prediction): string {
  const [best] = says.top;
  if (says.kind === "cosine") return `Read together, the two texts have a cosine of ${figure(says.number!)}.`;
  if (!best) return "";
  const share = `“${readable(best, says)}”, with ${percent(best.p)}`;
  const where = `“${shown(says.after.trim() || says.after)}”`;
  if (says.kind === "class") return `The class is ${share}.`;
  return says.kind === "next"
    ? `After ${where} the model says ${share}.`
    : `In the place of ${where} the model says ${share}.`;
}

/** How near two texts were, and are. */
export const went = (how: string, kind: string, before: number, after: number): string =>
  `${how} the ${kind} goes from ${[before, after].map((x) => figure(kind === "distance" ? -x : x)).join(" to ")}.`;

/** Without or with these changes. Two texts that are read apart have no tokens in common. */
export function having(changes: readonly string[], pieces: readonly string[] | null): string {
  const without = changes.map((change) => taken(change, pieces));
  return without.every(Boolean)
    ? `Without ${without.join(", ")}`
    : `With ${changes.map((change) => scaled(change, pieces)).join(", ")}`;
}

/** What changes made of what the model says, before and after; of two models, both changed, there is one answer each. */
export function outcome(
  changes: readonly string[],
  [first, last]: readonly Prediction[],
  pieces: readonly string[],
): string {
  const how = having(changes, pieces);
  if (!first || !last) return `${how}, in both models.`;
  if (first.kind === "cosine") return went(how, "cosine", first.number!, last.number!);
  const [followed, best] = [first.chosen ?? first.top[0], last.top[0]];
  if (!followed || !best) return `${how}.`;
  const after = [...last.top, ...(last.chosen ? [last.chosen] : [])].find(({ id }) => id === followed.id);
  const told = `${how} “${readable(followed, first)}” goes from ${percent(followed.p)} to ${after ? percent(after.p) : "a place below the first ten"}`;
  const other =
    best.id === first.top[0]!.id ? "" : `, and “${readable(best, last)}” is the likeliest, with ${percent(best.p)}`;
  return `${told}${other}.`;
}

export class Story {
  readonly root = h("div.story", { role: "status" });
  private turn = 0;

  constructor(private readonly owner: StoryOwner) {}

  clear(): void {
    this.turn++;
    this.root.replaceChildren();
  }

  /** Tell something, and offer to take back what it tells of. */
  tell(text: string, undo?: () => void): void {
    this.clear();
    this.root.append(h("p", text), undo ? h("button", { onclick: undo }, "Take it back") : "");
  }

  show(
    example: LiveExample | undefined,
    changes: readonly string[],
    says: readonly Prediction[],
    pieces: readonly string[],
  ): void {
    this.clear();
    const { owner, turn } = this;
    const [first] = says as [Prediction];
    const tell = (text: string, ...buttons: HTMLElement[]): void =>
      this.root.replaceChildren(...(text ? [h("p", text), ...buttons] : []));
    if (changes.length > 0) return this.tell(outcome(changes, says, pieces), () => owner.undo());
    const { look, change, layer, head } = example ?? {};
    if (change === undefined)
      return tell(look ?? answer(first), h("button", { onclick: () => owner.rank() }, "Which heads did it?"));
    const effect = h("span");
    const button = h(
      "button.primary",
      { onclick: () => owner.make(change) },
      `Switch ${change.replace(OFF, "")} off`,
      effect,
    );
    tell(look!, button);
    const followed = first.chosen ?? first.top[0];
    void owner.without(layer!, head!).then(
      (number) => {
        if (turn !== this.turn) return;
        if (first.kind === "cosine") effect.textContent = `cosine ${figure(first.number!)} → ${figure(number)}`;
        else if (followed)
          effect.textContent = `“${readable(followed, first)}” ${percent(followed.p)} → ${percent(Math.exp(number))}`;
      },
      () => undefined,
    );
  }
}
