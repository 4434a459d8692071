"""The section on dependency relations: table 1 of Clark et al. 2019, and sentences as in its figure 5."""

from __future__ import annotations

from typing import Any, ClassVar

from headscope.analyses.clusters import note
from headscope.analyses.links.questions import ALL
from headscope.analyses.links.section import NONE_DRAWN, BestHeads, Terms, split_note
from headscope.analyses.links.syntax.statistics import WITHOUT
from headscope.analyses.published import TABLE_1, Printed, orientation
from headscope.analyses.study import LEVEL
from headscope.core.heads import Head
from headscope.corpora.relations import in_words, meaning
from headscope.measures.dataset import description
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import BlocksSection, CellInfo
from headscope.views.digits import share
from headscope.views.page import plain_text
from headscope.views.section import number


def _rule(row: Any) -> str:
    return "by offset "


_TERMS = Terms(
    "dependency relation", "words", "the other word", "offset", _rule, False, "relations", "syntax", in_words
)


class Syntax(BestHeads):
    """The best head of each relation, a row each."""

    terms: ClassVar[Terms] = _TERMS
    together: ClassVar[tuple[str, ...]] = (ALL, WITHOUT)
    pictured: ClassVar[str | None] = "syntax"

    def marks(self) -> dict[str, list[Head]]:
        """The heads that find a relation better than the best offset."""
        heads = [Head(int(row.layer), int(row.head)) for row in self.kinds if not row.few and row.q < LEVEL]
        return {"dependencies": sorted({*heads})} if heads else {}

    def info(self, blobs: Blobs) -> BlocksSection:
        """Table 1: the best head of each relation, and sentences that show it; below, what has no counterpart here."""
        rows = self.rows[self.rows["relation"] != "root"]
        offsets = zip(rows["baseline_offset"], rows["baseline_accuracy"], strict=True)
        together = "These are all relations together; choose one to see sentences."
        none = NONE_DRAWN.format("sentence")
        printed = {row.relation: row for row in TABLE_1 if row.relation is not None}
        published = [printed.get(name) for name in rows["relation"]]
        others = [row for row in TABLE_1 if row.relation is None]
        figures = ("printed", "source", "heading")
        return blocks.section(
            "syntax",
            "Dependency relations, head by head",
            self._about(),
            [
                self.table(
                    "relations",
                    rows.assign(
                        rule=[
                            None if number(score) is None else f"at {_signed(at)}" for at, score in offsets
                        ],
                        meaning=[words and f"  {words}" for words in map(meaning, rows["relation"])],
                        none=[together if name.startswith("all") else none for name in rows["relation"]],
                        **dict(zip(figures, zip(*map(_printed, published), strict=True), strict=True)),
                    ),
                    [*rows.columns],
                    more=[CellInfo(of="printed", under="source", title="heading", tone="dim")],
                    others={
                        "relation": [row.label for row in others],
                        **dict(zip(figures, zip(*map(_printed, others), strict=True), strict=True)),
                    },
                )
            ],
            self._notes(),
            self.command,
        )

    def _about(self) -> str:
        return (
            "Each row is a grammatical relation with the attention head that is right about it most often. The dashed "
            "line is the best fixed offset. Choose a row to see where its head is right and where it is wrong."
        )

    def _notes(self) -> list[str]:
        meta = description(self.result)
        n = int(self.result["n"].values[0])
        name = meta.get("corpus", {}).get("name") or "the treebank"
        rows = meta.get("options", {}).get("rows", "mean")
        least = int(meta["least"])
        from_word = "the mean over its pieces" if rows == "mean" else "that of its first piece"
        return [
            "For each word of a sentence, the word that a head looks at most (dep→head), or that looks at "
            f"it most (head→dep), is taken for its head in the tree: over {n:,} words in "
            f"{int(meta['sentences']):,} sentences of {plain_text(str(name))} (Clark et al. 2019, §4.2, table 1, and "
            "figure 5 for the sentences).",
            "Bars are accuracies on the very words that the head was chosen on, with 95 % intervals given the choice; "
            f"split is of heads chosen on other {meta['clusters']} than they are scored on, choice included.",
            f"Attention to a word is the sum over its pieces, from a word {from_word}; special tokens and "
            "the word itself are left out, and nothing is renormalised.",
            f"“{ALL}” counts every word, punctuation and the sentence's root included, and the root is "
            f"always wrong; “{WITHOUT}” leaves both out, as UAS mostly does.",
            split_note(str(meta["clusters"]), "relations", "offset", "words"),
            note(meta),
            f"Relations of fewer than {least} instances are grey and have no best head.",
            orientation(" on the Wall Street Journal with Stanford dependencies", "model, corpus and labels")
            + " Its labels, as UD's: "
            + ", ".join(
                f"{row.label} as {row.relation}"
                for row in TABLE_1
                if row.relation not in (None, row.label, row.label.lower())
            )
            + "; pobj and prep have no counterpart, since in UD the preposition depends on its noun (case).",
        ]


def _signed(offset: int) -> str:
    return f"−{-offset}" if offset < 0 else f"+{offset}"


def _printed(row: Printed | None) -> tuple[float | None, str | None, str | None]:
    """A figure of the paper, what it is of, and what it stands beside there."""
    if row is None:
        return None, None, None
    best = f"best offset {share(row.baseline / 100)} at {_signed(row.offset)}"
    return row.accuracy / 100, f"{row.label} {row.head}", f"{row.label}: head {row.head}, {best}"
