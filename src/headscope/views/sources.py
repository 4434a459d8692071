"""What travels of the sources of an answer."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from headscope.views.payload import ExplorerPayload, PictureInfo


class CarrierInfo(TypedDict):
    """A head that carries a span to the answer: its part of the estimate.

    `effect` is what the answer loses where this head alone does not see the span; None: not measured.
    """

    part: str
    layer: int
    head: int
    estimate: float | None
    effect: float | None


class SourceInfo(TypedDict):
    """A span of a prompt: its characters (none: −1), or its `box` on the picture; its first and last token.

    Figures are those of `headscope.why`, None where there is none. `words` are what each of the answer loses (empty:
    not masked); `heads` are the first that carry it; `without` is what the model writes where it is masked; `note` what
    its attention says beside its effect.
    """

    level: str
    text: str
    start: int
    end: int
    first: int
    last: int
    box: list[float] | None
    effect: float | None
    low: float | None
    high: float | None
    q: float | None
    share: float | None
    estimate: float | None
    deleted: float | None
    lexical: float | None
    attention: float | None
    words: list[float | None]
    heads: list[CarrierInfo]
    without: str
    note: str


class StatementInfo(TypedDict):
    """A statement of an answer, by its first and its last word, with q of what it loses without each span."""

    words: list[int]
    q: list[float | None]


class SourcesState(TypedDict):
    """How sources are shown: shaded `by` what, spans of which `level`, and what is chosen (None: nothing).

    Of the answer these are `words` in a row: the first and the last.
    """

    by: Literal["effect", "estimate"]
    level: str
    words: list[int] | None
    span: int | None
    theme: Literal["auto", "light", "dark"]


class SourcesPayload(TypedDict):
    """Which part of a prompt made an `answer` (words), or that rather than `against`: `says` what figures say."""

    kind: Literal["sources"]
    version: Literal[1]
    title: str
    model: str
    prompt: str
    answer: list[str]
    against: str
    origin: Literal["given", "wrote", "said"]
    spans: list[SourceInfo]
    statements: list[StatementInfo]
    says: list[str]
    state: SourcesState
    picture: NotRequired[PictureInfo]
    maps: NotRequired[ExplorerPayload]


class NearUnit(TypedDict):
    """A unit of a text or, with its `box`, a picture: what the similarity loses without it, and q (None: unmeasured).

    `first` and `last` are its tokens; `heads` those through which it reaches the vector.
    """

    level: str
    text: str
    first: int
    last: int
    effect: float | None
    q: float | None
    box: list[float] | None
    heads: list[CarrierInfo]


class NearTexts(TypedDict):
    """Two texts, or a text and a `picture`: units of A and B, and of each two the interaction and its q.

    ``[unit of A, unit of B]``
    """

    name: str
    similarity: float | None
    says: str
    units: list[list[NearUnit]]
    interactions: list[list[float | None]]
    q: list[list[float | None]]
    picture: PictureInfo | None


class SimilarState(TypedDict):
    """Which of several documents is shown, how, units of which `level`, and the pinned unit: its side, its place."""

    input: int
    drawn: Literal["lines", "matrix"]
    level: str
    pin: list[int] | None
    theme: Literal["auto", "light", "dark"]


class SimilarPayload(TypedDict):
    """Why texts that are read apart are near; `notes` say how they were read, `ranked` is a line a document."""

    kind: Literal["similar"]
    version: Literal[1]
    title: str
    model: str
    pairs: list[NearTexts]
    ranked: list[str]
    notes: list[str]
    state: SimilarState
