// What if: changes of attention as a list of texts, with what the open head and the chosen tokens offer.

import type { PartInfo } from "../protocol";
import { shown } from "../scene/format";
import type { Full } from "../scene/state";
import { around, h } from "../ui/dom";
import type { History } from "./asked";

interface ChangesOwner {
  readonly history: History;
  /** The changes are others now. */
  changed(): void;
  /** Put what does the same in Python on the clipboard. */
  copy(): void;
}

/** What can be done with what is open: a label, and the change. */
interface Offer {
  readonly text: string;
  readonly title: string;
  readonly change: string;
}

const FORMS =
  "L4H2 off · L4 off · L4H2 mean · L4H2 uniform · L4H2 previous · L4H2 hide 3>5 · all hide >0 · L4H2 temperature 0.5 · all scale >3-9 2.0";

export class ChangesBox {
  readonly root = h("details.whatif", { "aria-label": "What if" });
  private readonly head = h("div.offers");
  private readonly tokens = h("div.offers");
  private readonly list = h("ol.changes");
  private readonly own: HTMLInputElement;
  private readonly undo: HTMLButtonElement;
  private readonly redo: HTMLButtonElement;
  private readonly none: HTMLButtonElement;
  private readonly python: HTMLButtonElement;
  private readonly said = h("p.note", { role: "status" });

  constructor(private readonly owner: ChangesOwner) {
    const act = (text: string, title: string, run: () => void): HTMLButtonElement =>
      h("button.link", { title, onclick: run }, text);
    this.undo = act("Undo", "Take the last change back", () => this.step("undo"));
    this.redo = act("Redo", "Make it again", () => this.step("redo"));
    this.none = act("None", "Take all changes away", () => this.set([]));
    this.python = act("Copy as Python", "What does the same in Python", () => owner.copy());
    this.own = h("input", {
      type: "text",
      "aria-label": "A change",
      placeholder: "L4H2 off",
      title: FORMS,
      list: "headscope-changes",
    });
    this.own.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Enter" || !this.own.value.trim()) return;
      this.add(this.own.value.trim());
      this.own.value = "";
    });
    this.root.append(
      h("summary", h("h2", "What if")),
      this.head,
      this.tokens,
      this.list,
      h("div.row", this.own),
      h("div.row", this.undo, this.redo, this.none, h("span.grow"), this.python),
      this.said,
    );
    this.list.addEventListener("click", (event) => this.click(event));
  }

  /** What is open, and the changes: those that are made, and those that are `left` out, with why. */
  show(state: Full, left: Readonly<Record<string, string>>, part: PartInfo): void {
    const { history } = this.owner;
    const head = state.heads.at(-1) ?? 0;
    const name = `L${state.layer}H${head}`;
    const heads = state.heads.length > 1 ? state.heads.map((each) => `L${state.layer}H${each}`) : [name];
    const all = (deed: string): void => this.add(...heads.map((one) => `${one} ${deed}`));
    const each = (deed: string, title: string): HTMLElement => h("button", { title, onclick: () => all(deed) }, deed);
    const temperature = h(
      "select",
      {
        "aria-label": `Temperature of ${name}`,
        title: "Divide what softmax is taken of: below 1 sharper, above 1 flatter",
      },
      h("option", { value: "" }, "temperature"),
      ...["0.1", "0.25", "0.5", "2", "4", "10"].map((value) => h("option", { value }, value)),
    );
    temperature.addEventListener("change", () => temperature.value && all(`temperature ${temperature.value}`));
    this.head.replaceChildren(
      h("b", heads.length > 1 ? `${heads.length} heads` : name),
      each("off", "The head gives nothing: its weights are 0"),
      each("mean", "Each query gives a key the mean of what all queries give it"),
      each("uniform", "Each query looks at all it sees alike"),
      each("previous", "Each query looks at the token before it"),
      temperature,
      h(
        "button",
        { title: "All heads of the layer give nothing", onclick: () => this.add(`L${state.layer} off`) },
        `layer ${state.layer} off`,
      ),
    );
    const offers = this.offers(state, part, name);
    this.tokens.hidden = offers.length === 0;
    this.tokens.replaceChildren(
      ...offers.map(({ text, title, change }) =>
        h("button", { title, onclick: () => this.add(change) }, h("bdi", text)),
      ),
    );
    this.list.replaceChildren(
      ...history.changes.map((change, place) => this.item(change, place, history.changes.length, left[change])),
    );
    this.root.open ||= history.changes.length > 0;
    this.undo.disabled = !history.undoable;
    this.redo.disabled = !history.redoable;
    this.none.hidden = this.python.hidden = history.changes.length === 0;
  }

  say(text: string): void {
    this.said.textContent = text;
  }

  private offers(state: Full, part: PartInfo, name: string): Offer[] {
    const token = (place: number, side: "query" | "key" = "key"): string =>
      `“${shown(part[side].pieces[place] ?? "", false)}”`;
    const found: Offer[] = [];
    if (state.between) {
      const [query, key] = state.between as [number, number];
      found.push({
        text: `cut ${token(query, "query")} → ${token(key)} in ${name}`,
        title: "This query does not see this key, in this head",
        change: `${name} hide ${query}>${key}`,
      });
      found.push({
        text: `cut it in all heads`,
        title: "This query does not see this key, in any head",
        change: `all hide ${query}>${key}`,
      });
    } else if (state.pin) {
      const [side, place] = state.pin as ["from" | "to", number];
      const which = token(place, side === "from" ? "query" : "key");
      const [from, to] = [`${place}>`, `>${place}`];
      if (side === "to" || part.query.pieces.length === part.key.pieces.length) {
        found.push({
          text: `hide ${which} from ${name}`,
          title: "No query of this head sees it",
          change: `${name} hide ${to}`,
        });
        found.push({ text: `hide ${which} from all`, title: "No query of any head sees it", change: `all hide ${to}` });
        found.push({
          text: `look at ${which} twice as much`,
          title: "In every head each query's odds of it are doubled",
          change: `all scale ${to} 2.0`,
        });
      }
      if (side === "from")
        found.push({
          text: `blind ${which} in layer ${state.layer}`,
          title: "It sees nothing in this layer",
          change: `L${state.layer} hide ${from}`,
        });
    } else {
      for (const place of (part.key.sinks ?? []).slice(0, 2))
        found.push({
          text: `hide the sink ${token(place)}`,
          title: "No query of any head sees it",
          change: `all hide >${place}`,
        });
    }
    return found;
  }

  private item(change: string, place: number, of: number, problem?: string): HTMLElement {
    const button = (act: string, text: string, title: string, off = false): HTMLElement =>
      h("button.icon", { "data-act": act, "aria-label": `${title}: ${change}`, title, disabled: off }, text);
    return h(
      "li",
      { "data-place": place },
      h("code.grow", change),
      button("up", "↑", "Earlier", place === 0),
      button("down", "↓", "Later", place === of - 1),
      button("drop", "×", "Take away"),
      problem && h("p.problem", { role: "alert" }, `Not made: ${problem}`),
    );
  }

  private click(event: MouseEvent): void {
    const button = around(event, "[data-act]");
    const place = Number(button?.closest<HTMLElement>("li")?.dataset.place);
    if (!button || !Number.isInteger(place)) return;
    const changes = [...this.owner.history.changes];
    const [mine] = changes.splice(place, 1);
    if (button.dataset.act !== "drop") changes.splice(place + (button.dataset.act === "up" ? -1 : 1), 0, mine!);
    this.set(changes);
  }

  private add(...changes: string[]): void {
    const there = this.owner.history.changes;
    const fresh = changes.filter((change) => !there.includes(change));
    if (fresh.length > 0) this.set([...there, ...fresh]);
  }

  private set(changes: readonly string[]): void {
    this.owner.history.set(changes);
    this.owner.changed();
  }

  private step(way: "undo" | "redo"): void {
    this.owner.history[way]();
    this.owner.changed();
  }
}
