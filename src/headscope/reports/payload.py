"""What travels of a report."""

from __future__ import annotations

from typing import Literal, TypedDict

from headscope.views.blobs import ArrayRef
from headscope.views.payload import ExplorerPayload, SectionInfo


class ModelInfo(TypedDict):
    """The model that was measured; `unseen` says what of its layers has no attention map (empty: nothing)."""

    name: str
    layers: int
    heads: int
    parameters: int | None
    dtype: str | None
    causal: bool
    revision: str | None
    unseen: str


class CorpusInfo(TypedDict):
    """What it was measured on.

    `noun` is what its inputs are, `shares` the share of the tokens in each class, `split_words` the share of words in
    several pieces.
    """

    noun: str
    name: str
    documents: int | None
    examples: int | None
    tokens: int | None
    words: int | None
    split_words: float | None
    shares: dict[str, float]


class MeasureInfo(TypedDict):
    """One measure: its name, and how to read it."""

    name: str
    title: str
    description: str
    units: str
    by: str
    over: str
    source: str


class ReportPayload(TypedDict):
    """The report page. `layers` and `heads` are the indices along the arrays' axes.

    `value`, `error` and `count` are [measure layer head], `chance` is [measure layer]; NaN: there is none. `seen` is
    [measure layer head 2]: the example and the query's place that show a figure (-1: none does), `here` [measure layer
    head] the figure on that example alone.
    Sections name an example by its place in `examples`; the blobs of the example at place i are named ``i-name``.
    """

    kind: Literal["report"]
    version: Literal[1]
    title: str
    model: ModelInfo
    corpus: CorpusInfo
    measures: list[MeasureInfo]
    layers: list[int]
    heads: list[int]
    value: ArrayRef
    error: ArrayRef
    count: ArrayRef
    chance: ArrayRef
    seen: ArrayRef
    here: ArrayRef
    sections: list[SectionInfo]
    examples: list[ExplorerPayload]
    options: dict[str, str]
    versions: dict[str, str]
    command: str | None
    created: str | None
    seconds: float | None
    route: str | None
