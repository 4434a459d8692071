// A lab beside its picture: it asks, then shows, and checks what the reader has done with the picture.

import "./lab.css";
import type { ExplorerState, LabGuess, LabInfo, LabTask } from "../protocol";
import { plural } from "../scene/format";
import { alike } from "../scene/made";
import { DEFAULTS } from "../scene/state";
import { h, listen } from "./dom";
import { keep, kept } from "./memory";

/** What the reader has before them. `text`: it can be another than the task's. */
interface Seen {
  readonly text?: string;
  readonly changes: readonly string[];
  readonly state: ExplorerState;
}

interface LabHost {
  /** The picture may say more now, or less. */
  renew(): void;
  /** Show the picture of a task. */
  go(task: LabTask, state: ExplorerState): void;
}

/** A figure as it is typed: `.85`, `0,85` or `85 %`; null: it is none. */
export function typedFigure(text: string): number | null {
  const match = /^([-−]?\d*[.,]?\d+)\s*(%?)$/.exec(text.trim());
  return match ? Number(match[1]!.replace(",", ".").replace("−", "-")) / (match[2] ? 100 : 1) : null;
}

/** What a task still lacks; null: it is solved. */
export function lacking({ check, text }: LabTask, seen: Seen, typed: string): string | null {
  const { heads, pin, state, changes, own_text, low, high } = check;
  const figure = typedFigure(typed);
  const open = [seen.state.layer, seen.state.heads?.at(-1)];
  const same = seen.text === undefined || seen.text.trim() === text;
  if (low !== undefined && figure === null) return "A figure is missing, such as .25.";
  if (own_text && same) return "This is still the text of the lab: type one of your own.";
  if ((pin || low !== undefined) && !same) return "This is another text than the task's: show the picture again.";
  if (heads && !heads.some((head) => alike(head, open))) return "This head is not it.";
  if (pin && !(seen.state.pin?.[0] === "from" && pin.includes(seen.state.pin[1] as number)))
    return "The token is not pinned at the left yet: click it.";
  const differs = Object.entries(state ?? {}).some(
    ([key, value]) => !alike(seen.state[key as keyof ExplorerState], value),
  );
  if (differs) return "The picture does not show that yet.";
  if (changes && !changes.some((change) => alike([change], seen.changes)))
    return "The change is not made, or not alone.";
  if (low !== undefined && !(low <= figure! && figure! <= high!)) return "This figure is not it.";
  return null;
}

/** How far the reader is with a task. */
interface Progress {
  guessed: string;
  tries: number;
  end: "" | "solved" | "shown";
}

export class LabBox {
  private readonly root = h("aside.hs.lab", { "aria-label": "Lab" });
  private readonly told = h("p.told", { role: "status" });
  private readonly open = h("p.open");
  private readonly progress: readonly Progress[];
  private readonly name = `lab ${window.location.pathname}`;
  private seen: Seen = { changes: [], state: {} };
  private at = 0;
  private typed = "";

  constructor(
    root: HTMLElement,
    private readonly lab: LabInfo,
    private readonly host: LabHost,
  ) {
    root.classList.add("labbed");
    root.append(this.root);
    const before = kept(this.name) as { tasks: unknown; at: number; progress: Progress[] } | null;
    const same = before !== null && alike(before.tasks, lab.tasks);
    this.progress = same ? before.progress : lab.tasks.map(() => ({ guessed: "", tries: 0, end: "" }));
    this.at = same ? before.at : 0;
    this.draw();
  }

  /** The reader has done something with the picture, or its theme is another. */
  looked(seen: Seen, theme: string | undefined): void {
    this.seen = seen;
    if (theme) this.root.dataset.theme = theme;
    const { layer, heads, pin } = seen.state;
    const parts = [`L${layer}H${heads?.at(-1)}`, pin && "a token pinned", ...seen.changes];
    this.open.textContent = heads?.length ? `You have: ${parts.filter(Boolean).join(", ")}` : "";
  }

  private get task(): LabTask {
    return this.lab.tasks[this.at]!;
  }

  private go(at: number): void {
    this.at = at;
    this.typed = "";
    this.draw();
    if (!this.waits) this.show();
    this.root.scrollIntoView({ block: "nearest" });
  }

  // The picture waits for a guess.
  private get waits(): boolean {
    return !this.lab.answers && this.task.guess !== null && this.progress[this.at]!.guessed === "";
  }

  /** Whether the task is to be solved yet: till then the picture says nothing that solves it. */
  get asks(): boolean {
    return !this.lab.answers && this.progress[this.at]!.end === "";
  }

  private show(): void {
    this.host.go(this.task, { ...DEFAULTS, theme: this.seen.state.theme ?? "auto", ...this.task.state });
  }

  private check(): void {
    const mine = this.progress[this.at]!;
    const lacks = lacking(this.task, this.seen, this.typed);
    if (lacks === null) mine.end = "solved";
    else mine.tries += 1;
    this.draw(lacks ?? "Yes.");
  }

  private draw(told = ""): void {
    const { lab, task, at } = this;
    const mine = this.progress[at]!;
    const count = this.progress.filter(({ end }) => end === "solved").length;
    const button = (name: string, onclick: () => void, kind = "button.press"): HTMLElement =>
      h(kind as "button", { "data-key": name, onclick }, name);
    const focused = document.activeElement;
    const key = focused && this.root.contains(focused) ? focused.getAttribute("data-key") : null;
    const last = at === lab.tasks.length - 1;
    keep(this.name, { tasks: lab.tasks, at, progress: this.progress });
    this.told.textContent = told;
    this.host.renew();
    this.root.replaceChildren(
      h("h2", lab.title),
      h("p.count", `Task ${at + 1} of ${lab.tasks.length}, ${count} solved`),
      ...(at === 0 ? paragraphs(lab.intro) : []),
      h("h3", task.title),
      ...(task.guess ? [this.guess(task.guess)] : []),
      ...(this.waits ? [] : this.asked(mine, button)),
      h(
        "div.steps",
        at > 0 && button("Back", () => this.go(at - 1), "button.link"),
        !last && button(mine.end || lab.answers ? "Next" : "Skip", () => this.go(at + 1)),
        last && mine.end !== "" && h("span", `That was the lab: ${plural(count, "task")} solved.`),
      ),
    );
    // Who goes by keys stays where they are.
    if (key !== null) this.root.querySelector<HTMLElement>(`[data-key=${CSS.escape(key)}]`)?.focus();
  }

  private guess({ ask, choices }: LabGuess): HTMLElement {
    const mine = this.progress[this.at]!;
    const choose = (choice: string): void => {
      const first = mine.guessed === "";
      mine.guessed = choice;
      this.draw();
      if (first) this.show();
    };
    const one = (choice: string): HTMLElement =>
      h(
        "label",
        h("input", {
          type: "radio",
          name: "guess",
          "data-key": choice,
          checked: mine.guessed === choice,
          onchange: () => choose(choice),
        }),
        choice,
      );
    return h("fieldset", h("legend", ask), ...choices.map(one));
  }

  // What is asked once the picture is there.
  private asked(
    mine: Progress,
    button: (name: string, onclick: () => void, kind?: string) => HTMLElement,
  ): HTMLElement[] {
    const { task, lab } = this;
    const box = h("input", {
      type: "text",
      inputmode: "decimal",
      value: this.typed,
      autocomplete: "off",
      "data-key": "figure",
    });
    listen(box, { input: () => (this.typed = box.value), keydown: ({ key }) => key === "Enter" && this.check() });
    const ended = mine.end !== "" || lab.answers;
    const give = (): void => {
      mine.end = "shown";
      this.draw();
    };
    return [
      ...paragraphs(task.ask),
      ...(task.check.low === undefined ? [] : [h("label.figure", h("span.cap", "Your figure"), box)]),
      this.open,
      h(
        "div.presses",
        button("Check", () => this.check()),
        button("Show the picture again", () => this.show(), "button.link"),
      ),
      this.told,
      ...(mine.tries > 0 && !ended ? [h("p.hint", task.hint)] : []),
      ...(mine.tries > 1 && !ended ? [button("Show the answer", give, "button.link")] : []),
      ...(ended ? [h("div.answered", ...paragraphs(task.answer))] : []),
    ];
  }
}

const paragraphs = (text: string): HTMLElement[] => text.split("\n\n").map((each) => h("p", each));
