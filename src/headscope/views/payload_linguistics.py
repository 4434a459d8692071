"""What travels to the report's page of syntax, coreference and probes. A part of `headscope.views.payload`."""

from __future__ import annotations

from typing import Literal, TypedDict


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


class SyntaxSection(TypedDict):
    """Table 1: the best head of each relation, and sentences that show it. `others` have no counterpart here."""

    kind: Literal["syntax"]
    title: str
    about: str
    rows: list[SyntaxRow]
    sentences: list[TreeSentence]
    others: list[PrintedFigure]
    notes: list[str]
    command: str | None


class CorefCell(TypedDict):
    """An accuracy and its interval, where there is one."""

    accuracy: float
    low: float | None
    high: float | None


class CorefWindow(TypedDict):
    """A text with mentions, [first word, word after its last, head word] each; its place among the examples.

    `spaces` tells whether white space follows each word, where the corpus does.
    """

    words: list[str]
    mentions: list[list[int]]
    example: int | None
    spaces: list[bool] | None


class CorefShown(TypedDict):
    """A mention, the word that a head chooses for it, and the mentions that would be right, by their places."""

    window: int
    mention: int
    predicted: int
    weight: float
    antecedents: list[int]
    right: bool


class CorefRow(TypedDict):
    """A system: a rule, or the best head for a definition of candidates. `cells` are by type, None where none is."""

    system: str
    candidates: str
    layer: int | None
    head: int | None
    cells: list[CorefCell | None]
    split: CorefCell | None
    shown: list[CorefShown]


class PrintedRow(TypedDict):
    """A row of a printed table, None where nothing is printed."""

    label: str
    values: list[float | None]


class CorefSection(TypedDict):
    """Table 2: systems by types of mentions. `counts` are mentions of each type."""

    kind: Literal["coref"]
    title: str
    about: str
    types: list[str]
    counts: list[int]
    rows: list[CorefRow]
    windows: list[CorefWindow]
    printed: list[PrintedRow]
    notes: list[str]
    command: str | None


class ProbeRow(TypedDict):
    """A probe's scores with their intervals; None where it has none."""

    probe: str
    uas: float | None
    low: float | None
    high: float | None
    uuas: float | None
    spearman: float | None
    control: float | None
    selectivity: float | None
    parameters: int
    printed: float | None


class ProbesSection(TypedDict):
    """Table 3. `small` says why nothing is to be concluded from it, where that is so."""

    kind: Literal["probes"]
    title: str
    about: str
    small: str | None
    rows: list[ProbeRow]
    printed: list[PrintedRow]
    notes: list[str]
    command: str | None
