// What a page and its kernel tell each other, with a model as ipywidgets' that answers when it is told to.
import { expect, test } from "vitest";
import { type Holder, type Sent, Shared } from "../src/live/shared";
import type { ExplorerState } from "../src/protocol";

class Model implements Holder {
  state: Sent = { layer: 0 };
  /** What the kernel was told, oldest first. */
  readonly told: Sent[] = [];
  private readonly runs = new Set<() => void>();
  get = (): Sent => this.state;
  set(_: "state", value: Sent): void {
    this.state = value;
    for (const run of this.runs) run();
  }
  on = (_: string, run: () => void): void => void this.runs.add(run);
  off = (_: string, run: () => void): void => void this.runs.delete(run);
  save_changes = (): void => void this.told.push(this.state);
  /** The kernel says something: an echo of what it was told, or what Python has set. */
  says = (state: Sent): void => this.set("state", JSON.parse(JSON.stringify(state)) as Sent);
}

/** A view that shows what it is told, as an explorer does. */
function view(model: Model) {
  const at = { shown: {} as ExplorerState };
  const shared = new Shared(model, (state) => (at.shown = state));
  return Object.assign(at, { shared, click: (state: ExplorerState) => ((at.shown = state), shared.tell(state)) });
}

test("a late echo of an older state is passed over", () => {
  const model = new Model();
  const one = view(model);
  one.click({ layer: 1 });
  one.click({ layer: 2 });
  model.says(model.told[0]!);
  expect(one.shown).toEqual({ layer: 2 });
  model.says(model.told[1]!);
  expect([one.shown, one.shared.state]).toEqual([{ layer: 2 }, { layer: 2 }]);
});

test("what Python sets is taken, also between two echoes, and after a page was loaded again", () => {
  const model = new Model();
  model.state = { layer: 5, sent: ["another page", 99] };
  const one = view(model);
  expect(one.shared.state).toEqual({ layer: 5 });
  one.click({ layer: 1 });
  one.click({ layer: 2 });
  model.says({ layer: 3 });
  expect(one.shown).toEqual({ layer: 3 });
  model.says(model.told[0]!);
  expect(one.shown).toEqual({ layer: 3 });
  model.says({ layer: 4, sent: ["another page", 1] }); // the same widget in another window
  expect(one.shown).toEqual({ layer: 4 });
});

test("two views of a widget follow each other, and neither an echo that is late", () => {
  const model = new Model();
  const [one, two] = [view(model), view(model)];
  one.click({ layer: 1 });
  expect(two.shown).toEqual({ layer: 1 });
  two.click({ layer: 2 });
  model.says(model.told[0]!);
  expect([one.shown, two.shown]).toEqual([{ layer: 2 }, { layer: 2 }]);
  two.shared.destroy();
  one.click({ layer: 3 });
  expect(two.shown).toEqual({ layer: 2 });
});
