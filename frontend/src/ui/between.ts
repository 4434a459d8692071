// Two chosen tokens, a query and a key: all heads ranked by the weight between them, in both directions.

import { name, side } from "../scene/axis";
import { along } from "../scene/cut";
import { number, plural } from "../scene/format";
import { Of } from "../scene/made";
import { nameOf } from "../scene/quantities";
import type { Scene } from "../scene/scene";
import { choices } from "../scene/state";
import type { Place, Side } from "./columns";
import { around, h, keyed } from "./dom";
import { step } from "./tokens";

type Chosen = NonNullable<Place>;

/** What is chosen after a click on a token: what is chosen on the other side stays. */
export function clicked(chosen: Place, where: Side, place: number): Chosen {
  const { from, to } = chosen ?? { from: null, to: null };
  const next = (where === "from" ? from : to) === place ? null : place;
  return where === "from" ? { from: next, to } : { from, to: next };
}

/** The same for a cell of the matrix: its row; of what is chosen already the pair. */
export function clickedCell(chosen: Place, from: number, to: number): Chosen {
  if (chosen?.from === from && chosen.to === to) return { from: null, to: null };
  const pair =
    chosen !== null && ((chosen.from !== null && chosen.to !== null) || chosen.from === from || chosen.to === to);
  return { from, to: pair ? to : null };
}

/** One head's weight between the two tokens; `hidden`: its query cannot see the key. */
interface Standing {
  readonly layer: number;
  readonly head: number;
  readonly value: number;
  readonly hidden: boolean;
}

/** From the first token to the second ("there"), or from the second to the first ("back"). */
type Way = "there" | "back";

/** Whether both tokens are queries and keys, so that each can look at the other. */
export const reversible = ({ part }: Scene): boolean =>
  part.kind !== "cross" && part.query.pieces.length === part.key.pieces.length;

/**
 * All heads whose layers are decoded, the largest weight first, or the smallest; of equal ones the model's order, and
 * hidden ones last.
 */
export function ranked(scene: Scene, way: Way): Standing[] {
  const { pair, part, data, state, against } = scene;
  if (!pair) return [];
  const [one, other] = [scene.rows.items[pair.from]!, scene.columns.items[pair.to]!];
  const [row, column] = way === "there" ? [one, other] : [other, one];
  const columns = way === "there" ? scene.columns : side(part.key, choices(state).rows);
  const normal = state.renormalise && state.quantity === "weights";
  const found: Standing[] = [];
  part.index.forEach((index, at) => {
    const layer = data.layer(part, index, state.quantity);
    if (!layer) return;
    part.heads[at]!.forEach((head, place) => {
      let hidden = true;
      for (let query = row.start; query < row.end; query++) {
        for (let key = column.start; key < column.end; key++) hidden &&= data.unseen(part, index, head, query, key);
      }
      const [value] = along(layer, place, [row], [column], columns, normal);
      found.push({ layer: index, head, hidden, value: value! });
    });
  });
  const others = against && new Map(ranked(against, way).map((each) => [`${each.layer}.${each.head}`, each]));
  const rows = found.map((each): Standing => {
    const mine = others?.get(`${each.layer}.${each.head}`);
    return mine ? { ...each, value: each.value - mine.value, hidden: each.hidden && mine.hidden } : each;
  });
  const sign = state.ascending ? -1 : 1;
  return rows.sort((a, b) => Number(a.hidden) - Number(b.hidden) || sign * (Math.abs(b.value) - Math.abs(a.value)));
}

/** The layers that are not decoded yet, as what decodes them. */
function needs(scene: Scene): (() => Promise<unknown>)[] {
  const { data, part, state } = scene;
  const own = part.index.flatMap((index, at) => {
    const hidden = part.hidden?.[at];
    const there = data.layer(part, index, state.quantity) && (!hidden || data.array(hidden));
    return there ? [] : [() => Promise.all([data.load(part, index, state.quantity), hidden && data.loadArray(hidden)])];
  });
  return [...own, ...(scene.against ? needs(scene.against) : [])];
}

/** One direction: every head in a row that opens it. */
class List {
  private readonly title = h("h4");
  private readonly rows = h("div.standings", { role: "listbox", tabindex: 0 });
  private readonly note = h("p.dim");
  readonly root = h("div.way", this.title, this.rows, this.note);
  private shown: readonly Standing[] = [];
  private at = 0;
  private readonly keyed: () => boolean;

  constructor(
    private readonly scene: Scene,
    private readonly way: Way,
  ) {
    const { rows } = this;
    rows.addEventListener("click", (event) => this.open(this.placeOf(event), event.shiftKey));
    this.keyed = keyed(rows, (event) => this.key(event));
    for (const kind of ["focus", "blur"]) rows.addEventListener(kind, () => this.point());
  }

  private placeOf(event: Event): number {
    const row = around(event, ".standing");
    return row ? [...this.rows.children].indexOf(row) : -1;
  }

  private open(place: number, add: boolean): void {
    const found = this.shown[place];
    if (!found) return;
    this.at = place;
    this.scene.owner.open(found.layer, found.head, add);
  }

  private key(event: KeyboardEvent): boolean {
    const next = step(event.key, this.at, this.shown.length);
    if (next !== null) this.at = next;
    else if (event.key === "Enter" || event.key === " ") this.open(this.at, event.shiftKey);
    else return false;
    this.point();
    return true;
  }

  // The row that a key acts on.
  private point(): void {
    this.rows.querySelector(".on")?.classList.remove("on");
    const row = this.keyed() ? this.rows.children[this.at] : undefined;
    row?.classList.add("on");
    row?.scrollIntoView({ block: "nearest" });
    if (row) this.rows.setAttribute("aria-activedescendant", row.id);
    else this.rows.removeAttribute("aria-activedescendant");
  }

  /** The heads in order; `most` is the value whose bar is as long as there is room. */
  fill(from: string, to: string, shown: readonly Standing[], most: number): void {
    const { scene, way } = this;
    this.shown = shown;
    this.at = 0;
    const unseen = shown.length > 0 && shown.every((each) => each.hidden);
    this.title.replaceChildren(h("bdi", { title: from }, from), " → ", h("bdi", { title: to }, to));
    this.rows.setAttribute("aria-label", `Heads by the weight from ${from} to ${to}`);
    this.rows.hidden = unseen;
    this.note.hidden = !unseen;
    this.note.textContent = "Not seen: the mask hides it.";
    const { scale, signed } = scene.quantity;
    const prefix = `standing-${scene.place}-${way}`;
    this.rows.replaceChildren(
      ...shown.map(({ layer, head, value, hidden }, place) => {
        const bar = h(!signed ? "i" : value < 0 ? "i.minus" : "i.plus", {
          style: `width:${(Math.abs(value) / most) * 100}%`,
        });
        const text = hidden ? "–" : number(value, scale) || "·";
        return h(
          "div.standing",
          {
            role: "option",
            id: `${prefix}-${place}`,
            "data-head": `L${layer}H${head}`,
            title: hidden ? "not seen: the mask hides it" : null,
          },
          h("b", `L${layer}H${head}`),
          h("span.track", bar),
          h("span.val", text),
        );
      }),
    );
    this.rows.scrollTop = 0;
    this.point();
  }

  /** Mark the heads that are open. */
  mark(): void {
    const { scene } = this;
    [...(this.rows.children as Iterable<HTMLElement>)].forEach((row, place) => {
      const { layer, head } = this.shown[place]!;
      row.setAttribute("aria-selected", String(layer === scene.state.layer && scene.heads.includes(head)));
    });
  }
}

export class Between {
  private readonly title = h("h3", { "aria-level": 2 });
  private readonly there: List;
  private readonly back: List;
  private readonly note = h("p.dim", { role: "status" });
  private readonly order: HTMLButtonElement;
  readonly root: HTMLElement;
  private readonly filled = new Of();
  private job = 0;

  constructor(private readonly scene: Scene) {
    this.there = new List(scene, "there");
    this.back = new List(scene, "back");
    this.order = h("button.link", { onclick: () => scene.owner.set({ ascending: !scene.state.ascending }) });
    const close = h(
      "button.link",
      { title: "Let go of both tokens", onclick: () => scene.owner.set({ between: null, pin: null }) },
      "clear",
    );
    this.root = h(
      "div.between",
      { role: "group", "aria-label": "All heads by the weight between two tokens" },
      h("div.betweenhead", this.title, this.order, close),
      h("div.ways", this.there.root, this.back.root),
      this.note,
    );
  }

  /** Rank the heads by the pair that is chosen now. */
  update(): void {
    const { scene } = this;
    const { pair, part, state } = scene;
    if (!pair) return;
    const missing = needs(scene);
    if (this.filled.renewed(scene.shown(), pair, state.ascending, missing.length)) {
      this.order.textContent = state.ascending ? "smallest first" : "largest first";
      this.order.title = `Put the ${state.ascending ? "largest" : "smallest"} first`;
      const heads = part.heads.flat().length;
      const whose = scene.against ? "" : scene.whose();
      this.title.textContent = `All ${plural(heads, "head")} by ${scene.against ? "difference" : nameOf(state.quantity)}${whose && `, ${whose}`}`;
      const [from, to] = [name(scene.rows.items[pair.from]), name(scene.columns.items[pair.to])];
      const both = [ranked(scene, "there"), reversible(scene) ? ranked(scene, "back") : []] as const;
      const most = Math.max(1e-9, ...both.flat().map((each) => Math.abs(each.value)));
      this.there.fill(from, to, both[0], most);
      this.back.fill(to, from, both[1], most);
      this.back.root.hidden = !reversible(scene);
      this.note.hidden = missing.length === 0;
      this.note.textContent = `${plural(missing.length, "layer")} still to be read…`;
      if (missing[0]) void this.read(missing[0], ++this.job);
    }
    this.there.mark();
    this.back.mark();
  }

  // One layer after another, so that the page stays free; the ranking fills as they come.
  private async read(next: () => Promise<unknown>, job: number): Promise<void> {
    try {
      await next();
    } catch (error) {
      return this.scene.owner.fail(error);
    }
    if (job === this.job && this.scene.pair) this.update();
  }
}
