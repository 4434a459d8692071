"""The section on dependency relations: table 1 of Clark et al. 2019, and sentences as in its figure 5."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import xarray as xr

from headscope.analyses.printed import CORPORA, TABLE_1, Printed
from headscope.analyses.study import LEVEL
from headscope.analyses.syntax.statistics import ALL, WITHOUT, table
from headscope.heads import Head
from headscope.views.blobs import Blobs
from headscope.views.page import plain_text
from headscope.views.payload import Part, SectionInfo
from headscope.views.section import Section
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
    offset: int | None
    baseline: float | None
    printed: PrintedFigure | None
    right: list[TreeShown]
    wrong: list[TreeShown]
    looked: int


class SyntaxSection(SectionInfo):
    """Table 1: the best head of each relation, and sentences that show it. `others` have no counterpart here."""

    kind: Literal["syntax"]
    rows: list[SyntaxRow]
    sentences: list[TreeSentence]
    others: list[PrintedFigure]
    notes: list[str]
    command: str | None


ROOT = "root"


@dataclass(frozen=True)
class Tree:
    """A sentence with its tree.

    Attributes:
        words, heads, relations: as in `headscope.corpora.Example`.
        example: its place among the page's examples; None where it is not among them.
    """

    words: Sequence[str]
    heads: Sequence[int]
    relations: Sequence[str]
    example: int | None = None


@dataclass(frozen=True)
class Looked:
    """What a relation's best head does in a sentence.

    Attributes:
        sentence: its place among the section's.
        words: those in the relation.
        predicted: the head's choice for each.
        right: whether it is the word's head.
        arcs: word, word, weight: attention from the first to the second.
    """

    sentence: int
    words: Sequence[int]
    predicted: Sequence[int]
    right: Sequence[bool]
    arcs: Sequence[tuple[int, int, float]]


@dataclass(frozen=True)
class Shown:
    """Sentences in which a relation's best head is right on all its words, and others; drawn from
    `looked`."""

    right: Sequence[Looked] = ()
    wrong: Sequence[Looked] = ()
    looked: int = 0


@dataclass(frozen=True)
class Syntax(Section):
    """The best head of each relation, a row each.

    Attributes:
        found: from `headscope.syntax`.
        trees: the sentences that are shown.
        shown: which of them for each relation.
        command: what gives the same table.
    """

    found: xr.Dataset
    trees: Sequence[Tree] = ()
    shown: Mapping[str, Shown] = field(default_factory=dict[str, Shown])
    command: str | None = None

    def findings(self) -> list[list[Part]]:
        """A sentence for the summary."""
        return [_finding(self.found)]

    def info(self, blobs: Blobs) -> SyntaxSection:
        """The rows and the sentences; nothing travels beside them."""
        best: Any = table(self.found)
        rows = [self._row(row) for row in best.itertuples() if row.relation != ROOT]
        return SyntaxSection(
            kind="syntax",
            title="Dependency relations, head by head",
            about=self._about(),
            rows=rows,
            sentences=[
                TreeSentence(
                    words=[plain_text(word) for word in one.words],
                    heads=list(one.heads),
                    relations=list(one.relations),
                    example=one.example,
                )
                for one in self.trees
            ],
            others=[_printed(one) for one in TABLE_1 if one.relation is None],
            notes=self._notes(),
            command=self.command,
        )

    def _about(self) -> str:
        meta: dict[str, Any] = json.loads(self.found.attrs["meta"])
        n = int(self.found["n"].values[0])
        name = meta.get("corpus", {}).get("name") or "the treebank"
        return (
            "For each word of a sentence, the word that a head looks at most (dep→head), or that looks at "
            "it most (head→dep), is taken for its head in the tree. Each row is a relation with the head "
            f"that is right most often, over {n:,} words in {int(meta['sentences']):,} sentences of "
            f"{plain_text(str(name))} (Clark et al. 2019, §4.2, table 1). Bars are accuracies on the very "
            "words that the head was chosen on, with 95 % intervals (split: on other sentences); the dashed "
            "line is the best fixed offset. Choose a row to see where its head is right and where it is "
            "wrong, as in figure 5."
        )

    def _notes(self) -> list[str]:
        meta: dict[str, Any] = json.loads(self.found.attrs["meta"])
        rows = meta.get("options", {}).get("rows", "mean")
        least = int(meta["least"])
        from_word = "the mean over its pieces" if rows == "mean" else "that of its first piece"
        return [
            f"Attention to a word is the sum over its pieces, from a word {from_word}; special tokens and "
            "the word itself are left out, and nothing is renormalised.",
            f"“{ALL}” counts every word, punctuation and the sentence's root included, and the root is "
            f"always wrong; “{WITHOUT}” leaves both out, as UAS mostly does.",
            "The best of many heads is best by luck too: “split” is its accuracy where it was chosen on one "
            "half of the sentences and scored on the other, over 100 halvings; q is the share of false "
            "discoveries among the relations up to this one, for the claim that such a head beats the best "
            "offset, chosen and scored alike. Intervals are of a bootstrap over sentences "
            f"({int(meta['replicates']):,} replicates, seed {int(meta['seed'])}).",
            f"Relations of fewer than {least} instances are grey and have no best head.",
            f"{CORPORA} Its labels, as UD's: "
            + ", ".join(
                f"{one.label} as {one.relation}"
                for one in TABLE_1
                if one.relation not in (None, one.label, one.label.lower())
            )
            + "; pobj and prep have no counterpart, since in UD the preposition depends on its noun (case).",
        ]

    def _row(self, row: Any) -> SyntaxRow:
        name, few = str(row.relation), bool(row.few)
        shown = self.shown.get(name, Shown())
        printed = next((one for one in TABLE_1 if one.relation == name), None)
        return SyntaxRow(
            relation=name,
            n=int(row.n),
            few=few,
            layer=None if few else int(row.layer),
            head=None if few else int(row.head),
            direction=None if few else str(row.direction),
            accuracy=_number(row.accuracy),
            low=_number(row.ci_low),
            high=_number(row.ci_high),
            split=_number(row.split_accuracy),
            split_low=_number(row.split_low),
            split_high=_number(row.split_high),
            p=_number(row.p),
            q=_number(row.q),
            offset=None if _number(row.baseline_accuracy) is None else int(row.baseline_offset),
            baseline=_number(row.baseline_accuracy),
            printed=None if printed is None else _printed(printed),
            right=[_shown(one) for one in shown.right],
            wrong=[_shown(one) for one in shown.wrong],
            looked=shown.looked,
        )


def _printed(one: Printed) -> PrintedFigure:
    return PrintedFigure(
        label=one.label,
        head=one.head,
        value=one.accuracy / 100,
        offset=one.offset,
        baseline=one.baseline / 100,
    )


def _shown(one: Looked) -> TreeShown:
    return TreeShown(
        sentence=one.sentence,
        words=list(one.words),
        predicted=list(one.predicted),
        right=list(one.right),
        arcs=[[start, end, round(weight, 3)] for start, end, weight in one.arcs],
    )


def _number(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None


def _finding(found: xr.Dataset) -> list[Part]:
    """The relations whose best head is better than a fixed offset, both chosen and scored apart."""
    best: Any = table(found)
    rows = [row for row in best.itertuples() if row.relation not in (ALL, WITHOUT) and not row.few]
    if not rows:
        return [text("No dependency relation has enough words here to name its best head.")]
    tested = f"{len(rows)} dependency relation{'' if len(rows) == 1 else 's'} with enough words"
    clear = [row for row in rows if row.q < LEVEL]
    clear.sort(key=lambda row: row.baseline_accuracy - row.split_accuracy)
    verb = "have" if len(clear) > 1 else "has"
    if not clear:
        return [text(f"Of {tested}, none has a head that finds the other word better than the best offset.")]
    parts = [
        text(
            f"Of {tested}, {len(clear)} {verb} a head that finds the other word better than the best offset: "
        )
    ]
    for position, row in enumerate(clear[:NAMED]):
        share, offset = percent(row.split_accuracy), percent(row.baseline_accuracy)
        beside = ", by offset" if position == 0 else ","
        parts += [*comma(position), text(f"{row.relation} "), head_name(Head(int(row.layer), int(row.head)))]
        parts.append(text(f" ({share}{beside} {offset})"))
    more = len(clear) - NAMED
    return [*parts, text(f" and {more} more." if more > 0 else ".")]
