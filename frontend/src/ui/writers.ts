// Why a chosen line is there: who wrote what its key brings and what its query asks, each head a step back.

import type { ReadsInfo, WriterInfo } from "../protocol";
import { code, fixed, percent, reason, shown } from "../scene/format";
import { alike, Of } from "../scene/made";
import type { Line, Scene } from "../scene/scene";
import { headsOf } from "../scene/state";
import { carried, lineOf, single } from "../scene/writers";
import { h } from "./dom";

/** A model is not asked of every letter that is typed. */
const PAUSE = 200;
/** After so long it is said that no answer has come. */
const LATE = 8000;

const token = (text: string | undefined): HTMLElement => h("bdi", `“${shown(text ?? "", false)}”`);

/** A line, and the part of the model that it is of. */
type Step = Line & { readonly part: string };

export class Writers {
  readonly root = h("div.writers");
  private readonly asked = new Of();
  private line: Line | null = null;
  /** The lines that were left on the way back, and those of the line that is opened next. */
  private trail: readonly Step[] = [];
  private next: readonly Step[] | null = null;
  private turn = 0;

  constructor(private readonly scene: Scene) {}

  update(): void {
    const { scene, root } = this;
    const { part } = scene;
    const { host } = scene.owner;
    const line = lineOf(scene);
    const { explains } = scene.data.payload;
    root.hidden = !single(scene) || !(host.why || part.reads || (explains && line));
    if (root.hidden) return;
    if (!this.asked.renewed(scene.data, part.name, line)) return;
    if (!alike(line, this.line)) this.trail = this.next ?? [];
    [this.line, this.next] = [line, null];
    const turn = ++this.turn;
    if (!line) return this.say("Choose a query, or a query and a key, to see why the head looks there.");
    const known = carried(part, line);
    if (known) return this.draw(known);
    if (!host.why)
      return this.say(
        "Why this line is there is not in this page: a notebook says it, and a page made with reads=True for this head.",
      );
    root.setAttribute("aria-busy", "true");
    window.setTimeout(() => void this.ask(line, turn), PAUSE);
  }

  private async ask(line: Line, turn: number): Promise<void> {
    const { owner, place, part } = this.scene;
    if (turn !== this.turn) return;
    const late = window.setTimeout(() => {
      if (turn === this.turn)
        this.say("No answer yet: the model is busy, or gone. A view made with reads=True carries its answers.");
    }, LATE);
    try {
      const why = await owner.host.why!(place, part.name, line);
      if (turn === this.turn) this.draw(why);
    } catch (error) {
      if (turn === this.turn) this.say(reason(error));
    } finally {
      window.clearTimeout(late);
    }
  }

  private say(text: string): void {
    this.root.removeAttribute("aria-busy");
    this.root.replaceChildren(...this.back(), h("p.sub", text));
  }

  private draw(why: ReadsInfo): void {
    const { part } = this.scene;
    const [query, key] = [token(part.query.pieces[why.query]), token(part.key.pieces[why.key])];
    const most = Math.max(...[...why.by_key, ...why.by_query].map(({ term }) => Math.abs(term)), 1e-9);
    const score = `${fixed(Math.abs(why.contrast), 2)} ${why.contrast < 0 ? "below" : "above"}`;
    const position = why.position === null ? "" : `, ${fixed(why.position, 2)} of it by position`;
    const capped = why.capped ? ", before the softcap" : "";
    this.root.removeAttribute("aria-busy");
    this.root.replaceChildren(
      ...this.back(),
      h("h3", `Why ${code(why.layer, why.head)} looks from `, query, " at ", key),
      h(
        "p.sub",
        `The score is ${score} the mean of the other keys${position}${capped}. Who wrote that, by either side:`,
      ),
      h(
        "div.both",
        this.table(["What ", key.cloneNode(true), " brings"], why.by_key, why.contrast, most),
        this.table(["What ", query.cloneNode(true), " asks"], why.by_query, why.contrast, most),
      ),
    );
  }

  // The steps that were taken back to this line.
  private back(): HTMLElement[] {
    if (this.trail.length === 0) return [];
    const steps = this.trail.map((line, at) => {
      const name = code(line.layer, line.head);
      return h(
        "button.link",
        { title: `Back to ${name}`, onclick: () => this.open(line, this.trail.slice(0, at)) },
        `${name} ←`,
      );
    });
    return [h("div.trail", ...steps)];
  }

  private table(
    title: readonly (Node | string)[],
    bars: readonly WriterInfo[],
    contrast: number,
    most: number,
  ): HTMLElement {
    return h("table", h("caption", ...title), h("tbody", ...bars.map((bar) => this.row(bar, contrast, most))));
  }

  private row({ name, term, head, line, part: of }: WriterInfo, contrast: number, most: number): HTMLElement {
    const { owner, part: open, data, place: input } = this.scene;
    const part = of ? data.payload.inputs[input]!.parts.find((each) => each.name === of) : open;
    const [layer, number] = head ?? [-1, -1];
    const place = line && part && headsOf(part, layer!).includes(number!) ? line : null;
    const go = (): void =>
      this.open({ part: part!.name, layer: layer!, head: number!, query: place![0]!, key: place![1]! }, [
        ...this.trail,
        { ...this.line!, part: open.name },
      ]);
    const looks = place && part!.key.pieces[place[1]!];
    const off = head && owner.host.change;
    return h(
      "tr",
      h(
        "th",
        { scope: "row" },
        place ? h("button.link", { title: `Open ${name} where it wrote this`, onclick: go }, name) : name,
      ),
      h(
        "td.adds",
        { title: contrast === 0 ? null : `${percent(term / contrast)} of the score above the mean` },
        h("i", { class: term < 0 ? "minus" : "plus", style: `width:${(116 * Math.abs(term)) / most}px` }),
        h("span", fixed(term, 2)),
      ),
      h("td", looks !== null && h("span.dim", "at ", token(looks))),
      off && h("td", h("button.link", { title: `Without ${name}`, onclick: () => off(`${name} off`) }, "off")),
    );
  }

  private open({ part, layer, head, query, key }: Step, trail: readonly Step[]): void {
    this.next = trail;
    const pin = ["from", query];
    this.scene.owner.set({ part, layer, heads: [head], pin, between: key === null ? null : [query, key] });
  }
}
