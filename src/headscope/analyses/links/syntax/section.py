"""Sentences that show what the best head of each relation does.

The section on dependency relations: table 1 of Clark et al. 2019, and sentences as in its figure 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from headscope.analyses.links.examples import shown_on
from headscope.analyses.links.questions import ALL
from headscope.analyses.links.section import BestHeads, Terms, signed
from headscope.analyses.links.syntax.run import Dependencies, syntax
from headscope.analyses.links.syntax.statistics import WITHOUT
from headscope.analyses.published import TABLE_1, Printed, orientation
from headscope.analyses.study import LEVEL, Study
from headscope.core.heads import Head
from headscope.core.types import AnyMapping
from headscope.corpora import builtin_trees
from headscope.corpora.relations import in_words, meaning
from headscope.views.blocks import CellInfo
from headscope.views.digits import share
from headscope.views.payload import Reason
from headscope.views.section import Section


class Syntax(BestHeads):
    """The best head of each relation, a row each."""

    terms: ClassVar[Terms] = Terms(
        "dependency relation",
        "words",
        "the other word",
        "offset",
        "baseline_offset",
        "relations",
        "relation",
        "syntax",
        "Dependency relations",
        in_words,
        meaning,
    )
    together: ClassVar[tuple[str, ...]] = (ALL, WITHOUT)
    pictured: ClassVar[str | None] = "syntax"

    def marks(self) -> dict[str, dict[Head, Reason]]:
        """The heads that find a relation better than the best offset, for the one that they find best."""
        sure = sorted(
            (row for row in self.kinds if not row.few and row.q < LEVEL), key=lambda row: row.accuracy
        )
        heads = {Head.at(row): self.reason(row) for row in sure}
        return {"dependencies": dict(sorted(heads.items()))} if heads else {}

    @property
    def rows(self) -> Any:
        """The table of the result, without roots, which no head can find."""
        rows = super().rows
        return rows[rows["relation"] != "root"]

    def extra(self, kinds: Sequence[str]) -> tuple[Mapping[Any, Any], list[CellInfo | str], Any]:
        """The figures of the paper; below those that have no counterpart here."""
        printed = {row.relation: row for row in TABLE_1 if row.relation is not None}
        rest = [row for row in TABLE_1 if row.relation is None]
        here, below = (
            dict(zip(("printed", "source", "heading"), zip(*map(_printed, rows), strict=True), strict=True))
            for rows in ([printed.get(name) for name in kinds], rest)
        )
        cell = CellInfo(of="printed", under="source", title="heading", tone="dim")
        return here, [cell], {"relation": [row.label for row in rest], **below}

    def method(self, n: str, meta: AnyMapping, corpus: str) -> tuple[str, list[str]]:
        """What is right, and where the paper's figures are from."""
        rows = meta.get("options", {}).get("rows", "mean")
        from_word = "the mean over its pieces" if rows == "mean" else "that of its first piece"
        return (
            "For each word of a sentence, the word that a head looks at most (dep→head), or that looks at "
            f"it most (head→dep), is taken for its head in the tree: over {n} in {int(meta['sentences']):,} sentences "
            f"of {corpus} (Clark et al. 2019, §4.2, table 1, and figure 5 for the sentences).",
            [
                f"Attention to a word is the sum over its pieces, from a word {from_word}; special tokens and "
                "the word itself are left out, and nothing is renormalised.",
                f"“{ALL}” counts every word, punctuation and the sentence's root included, and the root is "
                f"always wrong; “{WITHOUT}” leaves both out, as UAS mostly does.",
                orientation(
                    " on the Wall Street Journal with Stanford dependencies", "model, corpus and labels"
                )
                + " Its labels, as UD's: "
                + ", ".join(
                    f"{row.label} as {row.relation}"
                    for row in TABLE_1
                    if row.relation not in (None, row.label, row.label.lower())
                )
                + "; pobj and prep have no counterpart, since in UD the preposition depends on its noun (case).",
            ],
        )


def _printed(row: Printed | None) -> tuple[float | None, str | None, str | None]:
    """A figure of the paper, what it is of, and what it stands beside there."""
    if row is None:
        return None, None, None
    best = f"best offset {share(row.baseline / 100)} {signed(row.offset, 'at')}"
    return row.accuracy / 100, f"{row.label} {row.head}", f"{row.label}: head {row.head}, {best}"


WORDS = 3, 16
"""The fewest and the most words of a sentence that is drawn."""


def section(study: Study, *, seed: int = 0) -> list[Section]:
    """Table 1 on a treebank (the built-in one by default), and sentences for the best head of each relation."""
    model, treebank = study.model, study.treebank or builtin_trees()
    limit = study.sentences(study.treebank)
    result = syntax(model, treebank, seed=seed, limit=limit, progress=study.progress)
    made = Syntax(result, command=study.typed and study.typed.on("syntax", "--treebank"))
    engine = Dependencies(model)
    return [shown_on(made, study, engine, engine.asked(treebank, limit), WORDS, seed)]
