"""What travels to the report's page of two models. A part of `headscope.views.payload`."""

from __future__ import annotations

from typing import Literal, TypedDict


class ComparedLayer(TypedDict):
    """The means over the heads of a layer; errors are None where there is one document."""

    layer: int
    js: float
    js_se: float | None
    cosine: float
    cosine_se: float | None


class ComparedMeasure(TypedDict):
    """A measure in every head that was compared, in their order: in A, A − B, and its standard error (None: none)."""

    name: str
    title: str
    units: str
    n: int
    a: list[float | None]
    difference: list[float | None]
    se: list[float | None]


class RoleCount(TypedDict):
    """How many heads of A and of B have a role, the best score of each, and the heads of A that have it."""

    role: str
    units: str
    a: int
    b: int
    best_a: float | None
    best_b: float | None
    heads: list[list[int]]


class RoleChange(TypedDict):
    """What became of a head's role from A to B: its score and q where it has it."""

    layer: int
    head: int
    role: str
    units: str
    a: float | None
    b: float | None
    q_a: float | None
    q_b: float | None
    change: Literal["kept", "lost", "gained"]


class CompareSection(TypedDict):
    """Two models on the same inputs.

    `layer` and `head` are of the heads that were compared, like `js` (nats a row), `js_se`, `cosine` and `example`,
    the place of an example that has the maps of both; all are empty where heads have no counterparts. `names` are those
    of A and B, `of` how many heads each has.
    """

    kind: Literal["compare"]
    title: str
    about: str
    names: list[str]
    of: list[int]
    layer: list[int]
    head: list[int]
    js: list[float]
    js_se: list[float | None]
    cosine: list[float]
    example: list[int | None]
    layers: list[ComparedLayer]
    measures: list[ComparedMeasure]
    counts: list[RoleCount]
    roles: list[RoleChange]
    notes: list[str]
    command: str | None


class GroupInfo(TypedDict):
    """A group: its label, how many inputs it has, and their mean length in tokens."""

    label: str
    inputs: int
    tokens: float


class GroupRow(TypedDict):
    """A measure of a head in both groups: means of inputs, A − B, Hedges' g, and how sure that is.

    `example` is the place of an example with a typical input of each group.
    """

    layer: int
    head: int
    measure: str
    title: str
    units: str
    a: float
    b: float
    difference: float
    se: float | None
    effect: float | None
    p: float
    q: float
    n_a: int
    n_b: int
    example: int | None


class GroupsSection(TypedDict):
    """Two groups of labelled inputs: what differs, or that nothing does.

    `rows` are those with a q of at most `level`, the largest effects first, or, where there are none, those of the
    smallest q; `differ` is how many of the former there are, listed or not.
    """

    kind: Literal["groups"]
    title: str
    about: str
    told: str
    level: float
    differ: int
    groups: list[GroupInfo]
    rows: list[GroupRow]
    notes: list[str]
    command: str | None
