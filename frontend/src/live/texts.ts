// The boxes that a reader types in: a text and a pair, a decoder's text, or the turns of a conversation; and what was
// written after.

import type { LiveExample, LiveInfo, LiveInput, Message } from "../protocol";
import { plural, shown, whole } from "../scene/format";
import { alike } from "../scene/made";
import { h, listen } from "../ui/dom";

/** More examples than these are chosen from a list. */
const FEW = 4;
const ROLES = ["system", "user", "assistant"] as const;

interface TextsOwner {
  /** Another input. */
  typed(input: LiveInput): void;
  example(example: LiveExample): void;
  stop(): void;
}

export class TextsBox {
  readonly root = h("div.texts");
  private readonly text = this.box("Text", 2);
  /** Behind the text: what its parts are shaded by. */
  private readonly shades = h("div.shades.sources", { "aria-hidden": "true" });
  private readonly pair = this.box("Pair", 2);
  private readonly target = this.box("Target", 2);
  private readonly turns = h("div.turns", { role: "group", "aria-label": "Conversation" });
  private readonly talk: HTMLButtonElement;
  private readonly together: HTMLButtonElement;
  private readonly examples = h("div.examples", { role: "group", "aria-label": "Examples" });
  private readonly written = h("div.written", { role: "group", "aria-label": "Written" });
  private readonly count = h("span.count");
  private readonly state = h("span.state", { role: "status" });
  private readonly lost = h("span.lost", { role: "status" });
  private readonly stop: HTMLButtonElement;
  private readonly problem = h("p.problem", { role: "alert" });
  private info: LiveInfo | null = null;
  private input: LiveInput = {};
  private slow = 0;

  constructor(private readonly owner: TextsOwner) {
    this.talk = h(
      "button.link",
      {
        title: "Turns of a conversation in place of a text, by the model's own template",
        onclick: () => this.chat(!this.input.messages),
      },
      "Conversation",
    );
    this.together = h("button.link", {
      title: "Together the two texts are one input, and each sees the other; an index reads each alone",
      onclick: () => this.join(!this.input.together),
    });
    this.stop = h("button.link", { onclick: () => owner.stop() }, "Stop");
    this.problem.hidden = this.stop.hidden = this.lost.hidden = this.written.hidden = true;
    listen(this.turns, { input: () => this.talked(), change: () => this.talked() });
    this.root.append(
      h("div.boxes", this.text.label, this.pair.label, this.target.label, this.turns),
      this.written,
      h(
        "div.under",
        this.examples,
        h("span.grow"),
        this.lost,
        this.state,
        this.stop,
        this.count,
        this.together,
        this.talk,
      ),
      this.problem,
    );
    this.text.box.before(this.shades);
    this.text.box.addEventListener("scroll", () => (this.shades.scrollTop = this.text.box.scrollTop));
    this.show({});
  }

  /** Shade the text as a prompt of the same words is, and strike out what is struck out there. */
  shade(prompt: Element | null): void {
    const same = prompt && this.text.box.value.startsWith(prompt.textContent!.trim());
    this.shades.replaceChildren(...(same ? [prompt.cloneNode(true)] : []));
  }

  /** What the model can be given. */
  tell(info: LiveInfo): void {
    this.info = info;
    this.talk.hidden = !info.chat;
    const { examples } = info;
    this.examples.hidden = examples.length === 0;
    this.examples.replaceChildren(h("span.cap", "Try"), ...(examples.length > FEW ? [this.list()] : this.few()));
    this.show(this.input);
  }

  show(input: LiveInput): void {
    this.input = input;
    const talks = input.messages !== undefined;
    const fill = (box: HTMLTextAreaElement, value = ""): void => {
      if (box.value !== value) box.value = value;
    };
    fill(this.text.box, input.text);
    fill(this.pair.box, input.pair);
    fill(this.target.box, input.target);
    this.text.label.hidden = talks;
    this.pair.label.hidden = talks || this.info?.pair === false;
    this.target.label.hidden = this.info?.target !== true;
    this.turns.hidden = !talks;
    this.together.hidden = !this.info?.apart || !input.pair;
    this.together.textContent = input.together ? "Read apart" : "Read together";
    this.talk.textContent = talks ? "One text" : "Conversation";
    if (talks && !alike(this.messages(), input.messages)) this.draw(input.messages!);
  }

  /** The tokens that were written after the text, and the ways to take them back. */
  wrote(pieces: readonly string[]): void {
    this.written.hidden = pieces.length === 0;
    const drop = (kept: number): void =>
      this.owner.typed({ ...this.input, written: (this.input.written ?? []).slice(0, kept) });
    this.written.replaceChildren(
      h("span.cap", "Written"),
      ...pieces.map((piece, place) =>
        h(
          "button.word",
          { title: "Take this token and those after it back", onclick: () => drop(place) },
          h("bdi", shown(piece, false)),
        ),
      ),
      h("button.link", { onclick: () => drop(0) }, "Take all back"),
    );
  }

  counted(tokens: number, milliseconds: number): void {
    const most = this.info?.longest;
    this.count.textContent = `${plural(tokens, "token")}${most ? ` of at most ${whole(most)}` : ""}`;
    this.count.title = `read and sent in ${Math.round(milliseconds)} ms`;
    this.fail("");
  }

  /** Nothing is read. */
  clear(): void {
    this.count.textContent = "";
    this.fail("");
  }

  /** The connection is lost; null: it is back. */
  lose(why: string | null): void {
    this.lost.hidden = why === null;
    this.lost.textContent = why ?? "";
  }

  fail(text: string): void {
    this.problem.textContent = text;
    this.problem.hidden = text === "";
  }

  busy(busy: boolean): void {
    window.clearTimeout(this.slow);
    if (!busy) {
      this.state.textContent = "";
      this.stop.hidden = true;
      return;
    }
    this.slow = window.setTimeout(() => {
      this.state.textContent = "The model is reading…";
      this.stop.hidden = false;
    }, 400);
  }

  private box(name: string, rows: number): { readonly label: HTMLLabelElement; readonly box: HTMLTextAreaElement } {
    const box = h("textarea", { rows, spellcheck: "false", autocomplete: "off", dir: "auto" });
    box.addEventListener("input", () => {
      const { text: _, pair: __, target: ___, ...rest } = this.input;
      const input: LiveInput = { ...rest };
      if (this.text.box.value) input.text = this.text.box.value;
      if (this.pair.box.value) input.pair = this.pair.box.value;
      if (this.target.box.value) input.target = this.target.box.value;
      this.take(input);
    });
    return { label: h("label.box", h("span.cap", name), box), box };
  }

  private join(together: boolean): void {
    const { together: _, ...rest } = this.input;
    this.take(together ? { ...rest, together } : rest);
  }

  private take(input: LiveInput): void {
    this.show(input);
    this.owner.typed(input);
  }

  private few(): HTMLElement[] {
    return this.info!.examples.map((each) =>
      h("button", { title: each.input.text ?? "", onclick: () => this.owner.example(each) }, h("bdi", each.name)),
    );
  }

  private list(): HTMLElement {
    const { examples } = this.info!;
    const options = examples.map(({ name }, place) => h("option", { value: place }, name));
    const list = h("select", { "aria-label": "Examples" }, h("option", { value: "" }, "Examples"), ...options);
    list.addEventListener("change", () => {
      const found = examples[Number(list.value)];
      if (list.value !== "" && found) this.owner.example(found);
      list.value = "";
    });
    return list;
  }

  private chat(on: boolean): void {
    const { text = "", messages, target } = this.input;
    const kept = target === undefined ? {} : { target };
    const input: LiveInput = on
      ? { ...kept, messages: [{ role: "user", content: text }] }
      : { ...kept, text: messages?.findLast(({ role }) => role === "user")?.content ?? "" };
    this.take(input);
  }

  private draw(messages: readonly Message[]): void {
    const row = ({ role, content }: Message, place: number): HTMLElement => {
      const named = h(
        "select",
        { "aria-label": `Role of turn ${place + 1}` },
        ...ROLES.map((each) => h("option", { value: each, selected: each === role }, each)),
      );
      const said = h("textarea", { rows: 1, "aria-label": `Turn ${place + 1}`, dir: "auto" });
      said.value = content;
      const drop = h(
        "button.icon",
        {
          "aria-label": `Take turn ${place + 1} away`,
          title: "Take this turn away",
          disabled: messages.length === 1,
          onclick: () => this.turn(place, false),
        },
        "×",
      );
      return h("div.turn", named, said, drop);
    };
    this.turns.replaceChildren(
      ...messages.map(row),
      h("button.link", { onclick: () => this.turn(messages.length, true) }, "Add a turn"),
    );
  }

  private turn(place: number, add: boolean): void {
    const messages = this.messages();
    if (add) messages.push({ role: messages.at(-1)?.role === "user" ? "assistant" : "user", content: "" });
    else messages.splice(place, 1);
    const input = { ...this.input, messages };
    this.draw(messages);
    this.take(input);
  }

  private talked(): void {
    this.take({ ...this.input, messages: this.messages() });
  }

  private messages(): Message[] {
    return [...this.turns.querySelectorAll<HTMLElement>(".turn")].map((turn) => ({
      role: turn.querySelector("select")!.value,
      content: turn.querySelector("textarea")!.value,
    }));
  }
}
