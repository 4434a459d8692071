"""The section on dependency relations: table 1 of Clark et al. 2019, and sentences as in its figure 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypedDict

import xarray as xr

from headscope.analyses.clusters import CHOSEN_ON, note, untested
from headscope.analyses.printed import TABLE_1, Printed, orientation
from headscope.analyses.study import LEVEL
from headscope.analyses.syntax.statistics import ALL, CHOSEN, COLUMNS, WITHOUT, table
from headscope.heads import Head
from headscope.measures.dataset import description
from headscope.measures.resample import DIVISIONS
from headscope.views.blobs import Blobs
from headscope.views.page import plain_text
from headscope.views.payload import Part, SectionInfo
from headscope.views.section import Section, number
from headscope.views.sentences import NAMED, comma, head_name, percent, text


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
    `arcs` are [word, word, weight]: attention from the first to the second.
    """

    sentence: int
    words: list[int]
    predicted: list[int]
    right: list[bool]
    arcs: list[list[float]]


class SyntaxRow(TypedDict):
    """A relation and its best head, None where it has too few instances for one.

    `low` and `high` are given the choice of the head; `split`, `split_low` and `split_high` include it. `times` that
    head was the choice, of `choices`. `gain` is what choosing gives over the best offset, chosen alike. `effective`
    documents (or sentences) have the relation; figures that need more of them are None.

    `right` and `wrong` are sentences in which the head is right on all words of the relation, or wrong on one or more;
    `looked` is from how many sentences they were drawn.
    """

    relation: str
    n: int
    few: bool
    layer: int | None
    head: int | None
    direction: str | None
    accuracy: float | None
    low: float | None
    high: float | None
    split: float | None
    split_low: float | None
    split_high: float | None
    p: float | None
    q: float | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    times: int | None
    choices: int | None
    effective: float
    offset: int | None
    baseline: float | None
    printed: PrintedFigure | None
    right: list[TreeShown]
    wrong: list[TreeShown]
    looked: int


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

    def findings(self) -> list[list[Part]]:
        """A sentence for the summary."""
        return [_finding(self.result)]

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

    def _about(self) -> str:
        meta = description(self.result)
        n = int(self.result["n"].values[0])
        name = meta.get("corpus", {}).get("name") or "the treebank"
        return (
            "For each word of a sentence, the word that a head looks at most (dep→head), or that looks at "
            "it most (head→dep), is taken for its head in the tree. Each row is a relation with the head "
            f"that is right most often, over {n:,} words in {int(meta['sentences']):,} sentences of "
            f"{plain_text(str(name))} (Clark et al. 2019, §4.2, table 1). Bars are accuracies on the very "
            "words that the head was chosen on, with 95 % intervals given the choice; split is of heads chosen on "
            f"other {meta['clusters']} than they are scored on, choice included. The dashed line is the best fixed "
            "offset. Choose a row to see where its head is right and where it is wrong, as in figure 5."
        )

    def _notes(self) -> list[str]:
        meta = description(self.result)
        rows = meta.get("options", {}).get("rows", "mean")
        least = int(meta["least"])
        from_word = "the mean over its pieces" if rows == "mean" else "that of its first piece"
        return [
            f"Attention to a word is the sum over its pieces, from a word {from_word}; special tokens and "
            "the word itself are left out, and nothing is renormalised.",
            f"“{ALL}” counts every word, punctuation and the sentence's root included, and the root is "
            f"always wrong; “{WITHOUT}” leaves both out, as UAS mostly does.",
            "The best of many heads is best by luck too: “split” is what the head that is best on "
            f"{CHOSEN_ON} of the {meta['clusters']} gets on the rest, over {DIVISIONS} divisions, with its interval, "
            "choice included, and how often that head was the one in the row. q is the share of false "
            "discoveries among the relations up to this one, for the claim that such a head beats the best "
            "offset, chosen and scored alike on the same words.",
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
        name, few = str(row.relation), bool(row.few)
        examples = self.examples.get(name, Drawn())
        printed = next((_printed(each) for each in TABLE_1 if each.relation == name), None)
        figures: Any = {field: number(getattr(row, column)) for field, column in _FIGURES}
        return SyntaxRow(
            relation=name,
            n=int(row.n),
            few=few,
            layer=None if few else int(row.layer),
            head=None if few else int(row.head),
            direction=None if few else str(row.direction),
            **figures,
            times=None if few else int(row.times),
            choices=None if few else int(row.choices),
            effective=float(row.effective),
            offset=None if figures["baseline"] is None else int(row.baseline_offset),
            printed=printed,
            right=list(examples.right),
            wrong=list(examples.wrong),
            looked=examples.looked,
        )


_FIGURES = (
    *zip(("accuracy", "low", "high", "baseline"), (*COLUMNS[6:9], COLUMNS[10]), strict=True),
    *zip(("split", "split_low", "split_high", "p", "q"), CHOSEN[:5], strict=True),
    *zip(("gain", "gain_low", "gain_high"), CHOSEN[6:9], strict=True),
)
"""Figures of a row, and their columns in the table."""


def _printed(row: Printed) -> PrintedFigure:
    return PrintedFigure(
        label=row.label,
        head=row.head,
        value=row.accuracy / 100,
        offset=row.offset,
        baseline=row.baseline / 100,
    )


def _finding(result: xr.Dataset) -> list[Part]:
    """The relations whose best head is known to be better than a fixed offset, both chosen and scored apart."""
    meta = description(result)
    best: Any = table(result)
    enough = [row for row in best.itertuples() if row.relation not in (ALL, WITHOUT) and not row.few]
    rows = [row for row in enough if row.q == row.q]
    if not enough:
        return [text("No dependency relation has enough words here to name its best head.")]
    if not rows:
        return [text(f"No dependency relation can be tested here: {untested(meta)}.")]
    tested = f"{len(rows)} dependency relation{'' if len(rows) == 1 else 's'} with enough words"
    better = "a head that finds the other word better than the best offset"
    clear = sorted((row for row in rows if row.q < LEVEL), key=lambda row: -row.difference)
    if not clear:
        return [text(f"Of {tested}, none is known to have {better}.")]
    parts = [text(f"Of {tested}, {len(clear)} {'have' if len(clear) > 1 else 'has'} {better}: ")]
    for position, row in enumerate(clear[:NAMED]):
        head = Head(int(row.layer), int(row.head))
        own, offset, split = (
            percent(each) for each in (row.accuracy, row.baseline_accuracy, row.split_accuracy)
        )
        said = f"{offset}; {split}, {row.times} of {row.choices}"
        if position == 0:
            said = (
                f"by offset {offset}; {split} where the best head is chosen on other {meta['clusters']}, "
                f"{head} in {row.times} of {row.choices} choices"
            )
        parts += [*comma(position), text(f"{row.relation} "), head_name(head), text(f" ({own}, {said})")]
    more = len(clear) - NAMED
    return [*parts, text(f" and {more} more." if more > 0 else ".")]
