// What the model says: candidates with their probability, before and after the changes.

import type { Candidate, Prediction } from "../protocol";
import { figure, percent, shown } from "../scene/format";
import { h } from "../ui/dom";

export interface SaysOwner {
  /** Follow a candidate, or the likeliest. */
  follow(id: number | null): void;
  /** Write a token after the text; null where that cannot be. */
  readonly take: ((id: number) => void) | null;
}

const TITLES = { next: "next token", mask: "token here", class: "class", cosine: "cosine", none: "" } as const;

/** A candidate as it is read: spaces that matter are marked. */
export const readable = ({ text }: Candidate): string => shown(text);

export class SaysBox {
  readonly root = h("section.says", { "aria-label": "What the model says" });
  private readonly title = h("h2", {}, "What the model says");
  private readonly about = h("p.about");
  private readonly table = h("table");
  private readonly note = h("p.note");
  /** Inputs have one vocabulary; of two that differ, candidates are those that read alike, and none can be written. */
  shared = true;

  constructor(private readonly owner: SaysOwner) {
    this.root.append(this.title, this.about, this.table, this.note);
  }

  /** `names` are those of the inputs, where there are two. */
  show(says: readonly Prediction[], names: readonly string[]): void {
    const first = says[0]!;
    this.note.textContent = first.note;
    this.note.hidden = !first.note;
    this.about.hidden = first.kind === "none" || first.note !== "";
    this.table.hidden = first.kind === "none" || first.note !== "";
    if (first.kind === "cosine") return this.cosine(says, names);
    const where =
      first.place === null
        ? ""
        : first.kind === "next"
          ? ` after “${shown(first.after.trim() || first.after)}”`
          : ` of “${shown(first.after.trim() || first.after)}”`;
    const spread = says.map(({ entropy }) => (entropy === null ? "–" : figure(entropy, 2)));
    this.about.replaceChildren(
      `${TITLES[first.kind]}${where}`,
      h(
        "span.dim",
        { title: "how spread out the candidates are: 0 for one that is certain" },
        ` · entropy ${spread.join(" → ")} nats`,
      ),
    );
    const rows = this.union(says);
    const most = Math.max(...says.flatMap(({ top }) => top.map(({ p }) => p)), 1e-9);
    const followed = says.map(({ chosen }) => chosen).find((each) => each)?.id ?? first.top[0]?.id;
    this.table.replaceChildren(
      ...(says.length > 1
        ? [
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                h("th", { scope: "col" }, h("span.hidden", {}, "candidate")),
                ...names.map((name) => h("th", { scope: "col" }, name)),
                h("th"),
              ),
            ),
          ]
        : []),
      h("tbody", {}, ...rows.map((row) => this.row(row, most, followed === row.candidate.id))),
    );
  }

  private row({ candidate, shares }: Row, most: number, followed: boolean): HTMLElement {
    const { owner } = this;
    const name = h("bdi", {}, readable(candidate));
    const take = this.shared ? owner.take : null;
    const word = take
      ? h(
          "button.word",
          { type: "button", title: "Write this token, and read on", onclick: () => take(candidate.id) },
          name,
        )
      : h("span.word", {}, name);
    const follow = h(
      "button.follow",
      {
        type: "button",
        "aria-pressed": String(followed),
        title: "Follow this one: changes and heads are judged by its probability",
        "aria-label": `Follow ${candidate.text.trim() || "this one"}`,
        onclick: () => owner.follow(candidate.id),
      },
      followed ? "◉" : "○",
    );
    const cells = shares.map((p, place) => {
      const bar = h("i", { style: `width:${p === null ? 0 : Math.round((92 * p) / most)}%` });
      return h("td.p", { class: place > 0 ? "p after" : "p" }, bar, h("span", {}, p === null ? "–" : percent(p)));
    });
    return h(
      "tr",
      { class: followed ? "on" : null, "data-id": candidate.id },
      h("th", { scope: "row" }, word),
      ...cells,
      h("td", {}, follow),
    );
  }

  private union(says: readonly Prediction[]): Row[] {
    const rows = new Map<number | string, Row>();
    const key = ({ id, text }: Candidate): number | string => (this.shared ? id : text);
    const add = (candidate: Candidate): void => {
      if (rows.has(key(candidate))) return;
      const shares = says.map(
        ({ top, chosen }) =>
          [...top, ...(chosen ? [chosen] : [])].find((each) => key(each) === key(candidate))?.p ?? null,
      );
      rows.set(key(candidate), { candidate, shares });
    };
    for (const { top, chosen } of says) {
      top.slice(0, says.length > 1 ? 7 : 10).forEach(add);
      if (chosen) add(chosen);
    }
    return [...rows.values()];
  }

  private cosine(says: readonly Prediction[], names: readonly string[]): void {
    this.about.replaceChildren(
      "cosine of A and B",
      h("span.dim", {}, " · of the mean vectors of the two texts, read together"),
    );
    this.table.replaceChildren(
      h(
        "tbody",
        {},
        ...says.map(({ number }, place) =>
          h("tr", {}, h("th", { scope: "row" }, names[place] || "A and B"), h("td.number", {}, figure(number ?? NaN))),
        ),
      ),
    );
  }
}

interface Row {
  readonly candidate: Candidate;
  readonly shares: readonly (number | null)[];
}
