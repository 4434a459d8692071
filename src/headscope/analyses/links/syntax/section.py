"""The section on dependency relations: table 1 of Clark et al. 2019, and sentences as in its figure 5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypedDict

import xarray as xr

from headscope.analyses.clusters import note
from headscope.analyses.links.section import (
    BestRow,
    Terms,
    best_row,
    finding,
    of_kind,
    split_note,
)
from headscope.analyses.links.syntax.statistics import ALL, WITHOUT, table
from headscope.analyses.published import TABLE_1, Printed, orientation
from headscope.analyses.study import LEVEL
from headscope.core.heads import Head
from headscope.measures.dataset import description
from headscope.views.blobs import Blobs
from headscope.views.page import plain_text
from headscope.views.payload import Part, Pin, Reason, SectionInfo
from headscope.views.section import Section


class PrintedFigure(TypedDict):
    """A row of table 1 of Clark et al. 2019: its label, best head, accuracy, and the best offset's."""

    label: str
    head: str
    value: float
    offset: int
    baseline: float


class TreeSentence(TypedDict):
    """A sentence with its tree: the place of each word's head (-1: the root), and its place among the examples."""

    words: list[str]
    heads: list[int]
    relations: list[str]
    example: int | None


class TreeShown(TypedDict):
    """What a head does in a sentence.

    `words` are those in the relation, `predicted` the head's choices for them, `right` whether they are their heads.
    `arcs` are [word, word, weight]: attention from the first to the second. `pins` are the tokens at which the words
    begin, on the side where the head is read.
    """

    sentence: int
    words: list[int]
    pins: list[Pin]
    predicted: list[int]
    right: list[bool]
    arcs: list[list[float]]


class SyntaxRow(BestRow):
    """A relation and its best head, beside the best offset and the printed figure.

    `right` and `wrong` are sentences in which the head is right on all words of the relation, or wrong on one or more.
    """

    relation: str
    offset: int | None
    printed: PrintedFigure | None
    right: list[TreeShown]
    wrong: list[TreeShown]


class SyntaxSection(SectionInfo):
    """Table 1: the best head of each relation, and sentences that show it. `others` have no counterpart here.

    `clusters` are what intervals are over: documents, or sentences.
    """

    kind: Literal["syntax"]
    clusters: str
    rows: list[SyntaxRow]
    sentences: list[TreeSentence]
    others: list[PrintedFigure]
    notes: list[str]
    command: str | None


class Drawn(NamedTuple):
    """Sentences in which a relation's best head is right on all its words, and others; drawn from so many."""

    right: Sequence[TreeShown] = ()
    wrong: Sequence[TreeShown] = ()
    looked: int = 0


@dataclass(frozen=True)
class Syntax(Section):
    """The best head of each relation, a row each.

    Attributes:
        result: from `headscope.syntax`.
        sentences: those that `examples` name by their indices.
        examples: for each relation.
        command: what gives the same table.
    """

    result: xr.Dataset
    sentences: Sequence[TreeSentence] = ()
    examples: Mapping[str, Drawn] = field(default_factory=dict[str, Drawn])
    command: str | None = None
    pictured: ClassVar[str | None] = "syntax"

    def findings(self) -> list[list[Part]]:
        """A sentence for the summary."""
        rows: Any = table(self.result)
        relations = [row for row in rows.itertuples() if row.relation not in (ALL, WITHOUT)]
        return [finding(relations, description(self.result), _TERMS, self._reason)]

    def marks(self) -> dict[str, list[Head]]:
        """The heads that find a relation better than the best offset."""
        rows: Any = table(self.result)
        heads = [
            Head(int(row.layer), int(row.head))
            for row in rows.itertuples()
            if row.relation not in (ALL, WITHOUT) and not row.few and row.q < LEVEL
        ]
        return {"dependencies": sorted({*heads})} if heads else {}

    def named(self) -> Iterator[tuple[Head, int]]:
        """The best head of each relation, on its sentences."""
        rows: Any = table(self.result)
        for row in rows.itertuples():
            shown = self.examples.get(row.relation, Drawn())
            for each in (*shown.right, *shown.wrong):
                if (example := self.sentences[each["sentence"]]["example"]) is not None:
                    yield Head(int(row.layer), int(row.head)), example

    def info(self, blobs: Blobs) -> SyntaxSection:
        """The rows and the sentences; nothing travels beside them."""
        best: Any = table(self.result)
        return SyntaxSection(
            kind="syntax",
            title="Dependency relations, head by head",
            about=self._about(),
            clusters=str(description(self.result)["clusters"]),
            rows=[self._row(row) for row in best.itertuples() if row.relation != "root"],
            sentences=[{**each, "words": [*map(plain_text, each["words"])]} for each in self.sentences],
            others=[_printed(row) for row in TABLE_1 if row.relation is None],
            notes=self._notes(),
            command=self.command,
        )

    def _reason(self, row: Any) -> Reason:
        return of_kind(row, _TERMS, self.examples, self.sentences)

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

    def _row(self, row: Any) -> SyntaxRow:
        name = str(row.relation)
        examples = self.examples.get(name, Drawn())
        figures = best_row(row, examples.looked, self._reason(row))
        return SyntaxRow(
            **figures,
            relation=name,
            offset=None if figures["baseline"] is None else int(row.baseline_offset),
            printed=next((_printed(each) for each in TABLE_1 if each.relation == name), None),
            right=list(examples.right),
            wrong=list(examples.wrong),
        )


def _printed(row: Printed) -> PrintedFigure:
    return PrintedFigure(
        label=row.label,
        head=row.head,
        value=row.accuracy / 100,
        offset=row.offset,
        baseline=row.baseline / 100,
    )


def _rule(row: Any) -> str:
    return "by offset "


_TERMS = Terms("dependency relation", "words", "the other word", "offset", _rule, False)
