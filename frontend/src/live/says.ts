// What the model says: candidates with their probability, before and after the changes.

import type { Candidate, LiveInfo, Prediction } from "../protocol";
import { figure, percent, shown } from "../scene/format";
import { ROUNDED } from "../scene/says";
import { h } from "../ui/dom";

interface SaysOwner {
  /** Follow a candidate, or the likeliest. */
  follow(id: number | null): void;
  /** Write a token after the text; null where that cannot be. */
  readonly take: ((id: number) => void) | null;
}

/** So many candidates have a row, of one input or two: what stands below keeps its place. */
const ROWS = 10;
const TITLES = { next: "next token", mask: "token here", class: "class", cosine: "cosine", none: "" } as const;

/** A candidate as it is read after a token: marked where it goes on with its word. */
export const readable = ({ text }: Candidate, { kind, after }: Prediction): string =>
  kind === "next" && /^[\p{L}\p{N}]/u.test(text) && /[\p{L}\p{N}]$/u.test(after)
    ? `‿${text}`
    : shown(text.trim() || text);

export class SaysBox {
  readonly root = h("section.says", { "aria-label": "What the model says" });
  private readonly rounded = h("span.dim");
  private readonly about = h("p.about");
  private readonly table = h("table");
  private readonly note = h("p.note");
  /** Inputs have one vocabulary; of two that differ, candidates are those that read alike, and none can be written. */
  private shared = true;
  private mask: string | null = null;
  /** The number that changes and heads are judged by. */
  followed = "";

  constructor(private readonly owner: SaysOwner) {
    this.root.append(h("h2", "What the model says"), this.about, this.table, this.note);
  }

  tell({ shared, rounded, mask }: LiveInfo): void {
    [this.shared, this.mask] = [shared, mask];
    this.rounded.textContent = rounded ? ` · ${ROUNDED}` : "";
    this.rounded.title = rounded ?? "";
  }

  /** Nothing is read. */
  clear(): void {
    this.table.replaceChildren();
    this.about.textContent = this.note.textContent = "";
  }

  /** `names` are those of the inputs, where there are two. */
  show(says: readonly Prediction[], names: readonly string[]): void {
    const first = says[0]!;
    const why =
      first.kind === "none"
        ? "This encoder has no head that predicts: give it a pair, and it says how alike the two are."
        : first.kind === "mask" && first.place === null
          ? `Write ${this.mask} where a token is to be told, or pin a token.`
          : "";
    this.note.textContent = why;
    this.note.hidden = !why;
    this.about.hidden = this.table.hidden = why !== "";
    this.root.dataset.kind = first.kind;
    const followed = says.map(({ chosen }) => chosen).find((each) => each) ?? first.top[0];
    this.followed =
      first.kind === "cosine"
        ? "the cosine of A and B read together"
        : `log p('${followed?.text.trim() || followed?.text}'), in nats`;
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
      this.rounded,
    );
    const rows = this.union(says);
    const most = Math.max(...says.flatMap(({ top }) => top.map(({ p }) => p)), 1e-9);
    this.table.replaceChildren(
      ...(says.length > 1
        ? [
            h(
              "thead",
              h(
                "tr",
                h("th", { scope: "col" }, h("span.hidden", "candidate")),
                ...names.map((name) => h("th", { scope: "col" }, name)),
                h("th"),
              ),
            ),
          ]
        : []),
      h("tbody", ...rows.map((row) => this.row(row, most, followed?.id === row.candidate.id, first))),
    );
  }

  private row({ candidate, shares }: Row, most: number, followed: boolean, first: Prediction): HTMLElement {
    const { owner } = this;
    const name = h("bdi", readable(candidate, first));
    const take = this.shared ? owner.take : null;
    const word = take
      ? h("button.word", { title: "Write this token, and read on", onclick: () => take(candidate.id) }, name)
      : h("span.word", name);
    const follow = h(
      "button.follow",
      {
        "aria-pressed": String(followed),
        title: "Follow this one: changes and heads are judged by its probability",
        "aria-label": `Follow ${candidate.text.trim() || "this one"}`,
        onclick: () => owner.follow(candidate.id),
      },
      followed ? "◉" : "○",
    );
    const cells = shares.map((p, place) => {
      const bar = h("i", { style: `width:${p === null ? 0 : Math.round((92 * p) / most)}%` });
      return h("td.p", { class: place > 0 ? "p after" : "p" }, bar, h("span", p === null ? "–" : percent(p)));
    });
    return h(
      "tr",
      { class: followed ? "on" : null, "data-id": candidate.id },
      h("th", { scope: "row" }, word),
      ...cells,
      h("td", follow),
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
    for (const { chosen, top } of says) {
      if (chosen) add(chosen);
      if (top[0]) add(top[0]);
    }
    const [first, ...others] = says.map(({ top }) => top);
    for (const candidate of [...first!.slice(0, others.length > 0 ? 7 : ROWS), ...others.flat()])
      if (rows.size < ROWS) add(candidate);
    return [...rows.values()].sort((a, b) => (b.shares[0] ?? -1) - (a.shares[0] ?? -1));
  }

  private cosine(says: readonly Prediction[], names: readonly string[]): void {
    this.about.replaceChildren(
      "cosine of A and B, read together",
      h("span.dim", " · an index reads each text alone"),
      this.rounded,
    );
    this.table.replaceChildren(
      h(
        "tbody",
        ...says.map(({ number }, place) =>
          h("tr", h("th", { scope: "row" }, names[place] || "A and B"), h("td.number", figure(number ?? NaN))),
        ),
      ),
    );
  }
}

interface Row {
  readonly candidate: Candidate;
  readonly shares: readonly (number | null)[];
}
