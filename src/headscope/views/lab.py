"""What travels of a page of several views, and of the lab beside them."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from headscope.views.charts import ChartsPayload
from headscope.views.payload import ExplorerPayload, ExplorerState
from headscope.views.sources import SimilarPayload, SourcesPayload


class FiguresPayload(TypedDict):
    """A table as it is read."""

    kind: Literal["figures"]
    version: Literal[1]
    title: str
    columns: list[str]
    rows: list[list[str]]


class LabGuess(TypedDict):
    """What is to be guessed before a picture is shown."""

    ask: str
    choices: list[str]


class LabCheck(TypedDict, total=False):
    """What has to be so for a task to be solved; all that is there has to be.

    One of `heads` is open, a token at one of the places `pin` is pinned, the state has what `state` has, one of
    `changes` is made, `own_text`: a text of the reader's is read, and a figure from `low` to `high` is typed.
    """

    heads: list[list[int]]
    pin: list[int]
    state: ExplorerState
    changes: list[str]
    own_text: bool
    low: float
    high: float


class LabTask(TypedDict):
    """A task of a lab: where its picture begins, what is asked, and what is right.

    The picture of `text`, `pair` and `state` comes after the `guess`, where there is one.
    """

    title: str
    guess: LabGuess | None
    text: str
    pair: str | None
    state: ExplorerState
    ask: str
    check: LabCheck
    hint: str
    answer: str


class LabInfo(TypedDict):
    """A lab beside its picture; with `answers` it is the instructor's."""

    title: str
    intro: str
    tasks: list[LabTask]
    answers: bool


class ViewsPayload(TypedDict):
    """A page of explorers, sources of answers, and figures. The blobs of the view at place i are named ``i-name``."""

    kind: Literal["views"]
    version: Literal[1]
    title: str
    views: list[ExplorerPayload | SourcesPayload | SimilarPayload | FiguresPayload | ChartsPayload]
    lab: NotRequired[LabInfo]
