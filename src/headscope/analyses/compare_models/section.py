"""The section on two models: how far heads moved, which measures changed, which roles were kept, lost and gained."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np
import xarray as xr

from headscope.analyses.compare_models import statistics as two_models
from headscope.analyses.compare_models.comparison import Comparison
from headscope.analyses.compare_models.summary import findings
from headscope.analyses.compare_roles import statistics as two_roles
from headscope.analyses.roles.statistics import ROLES
from headscope.heads import Head
from headscope.views.blobs import Blobs
from headscope.views.page import plain_text
from headscope.views.payload import Part, SectionInfo
from headscope.views.section import Section


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


class CompareSection(SectionInfo):
    """Two models on the same inputs.

    `layer` and `head` are of the heads that were compared, like `js` (nats a row), `js_se`, `cosine` and `example`,
    the place of an example that has the maps of both; all are empty where heads have no counterparts. `names` are those
    of A and B, `of` how many heads each has.
    """

    kind: Literal["compare"]
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


"""What B is: the model with its weights drawn again; the same of a model that is untrained itself; another model."""


@dataclass(frozen=True)
class Compare(Comparison, Section):
    """The section of two models."""

    def findings(self) -> list[list[Part]]:
        """How far heads moved, which layers did, and what became of the roles."""
        return findings(self)

    def info(self, blobs: Blobs) -> CompareSection:
        """The figures; nothing travels beside them."""
        rows: list[Any] = [] if self.figures is None else _rows(two_models.by_drift(self.figures))
        rows.sort(key=lambda row: (row.layer, row.head))
        heads = [Head(int(row.layer), int(row.head)) for row in rows]
        return CompareSection(
            kind="compare",
            title=self._title(),
            about=self._about(),
            names=[plain_text(name) for name in self.names],
            of=[len(set(_heads(table))) for table in self.roles] if self.roles else [len(heads)] * 2,
            layer=[head.layer for head in heads],
            head=[head.head for head in heads],
            js=[_short(row.js) or 0.0 for row in rows],
            js_se=[_short(row.js_se) for row in rows],
            cosine=[_short(row.cosine) or 0.0 for row in rows],
            example=[self.examples.get(head) for head in heads],
            layers=[]
            if self.figures is None
            else [_layer(row) for row in _rows(two_models.by_layer(self.figures))],
            measures=[] if self.figures is None else _measures(self.figures, heads),
            counts=list(self._counts()),
            roles=list(self._changes()),
            notes=self._notes(),
            command=self.command,
        )

    def _title(self) -> str:
        if self.kind == "untrained":
            return "Beside itself untrained"
        if self.kind == "redrawn":
            return "Beside another untrained draw"
        return f"Beside {plain_text(_last(self.names[1]))}"

    def _about(self) -> str:
        a, b = (plain_text(name) for name in self.names)
        said = [f"A is {a}, B is {b}."]
        if self.kind == "redrawn":
            said.append(
                "The model is itself untrained: what differs is what two random draws of weights differ in."
            )
        said += [f"{plain_text(why)}." for why in self.why]
        if self.roles is not None and not list(self._counts()):
            said.append("No head of either has one of the roles.")
        meta = self.meta
        if meta:
            unit = str(meta["over"])
            corpus = meta["corpus"]
            said.append(
                "Drift is the Jensen–Shannon divergence of a head's rows in A and in B, 0 where nothing changed and "
                f"ln 2 ≈ 0.693 nats where they have nothing in common: means over {corpus['tokens']:,} {unit} of "
                f"{corpus['examples']:,} inputs of {corpus['documents']:,} documents of "
                f"{plain_text(str(corpus.get('name') or 'the corpus'))}; ± is a standard error and bars of layers are "
                "95 % intervals, both by document. "
                "Choose a head to see A, B and A − B."
            )
        return " ".join(said)

    def _counts(self) -> Iterator[RoleCount]:
        if self.roles is None:
            return
        for row in _rows(two_roles.by_role(*self.roles)):
            own = [one for one in _rows(self.roles[0]) if one.role == row.role]
            yield RoleCount(
                role=str(row.role),
                units=_units(str(row.role)),
                a=int(row.heads_a),
                b=int(row.heads_b),
                best_a=_short(row.best_a),
                best_b=_short(row.best_b),
                heads=[[int(one.layer), int(one.head)] for one in own],
            )

    def _changes(self) -> Iterator[RoleChange]:
        changes = self.changes
        for row in () if changes is None else _rows(changes):
            yield RoleChange(
                layer=int(row.layer),
                head=int(row.head),
                role=str(row.role),
                units=_units(str(row.role)),
                a=_short(row.a),
                b=_short(row.b),
                q_a=_short(row.q_a),
                q_b=_short(row.q_b),
                change=row.change,
            )

    def _notes(self) -> list[str]:
        notes: list[str] = []
        if self.figures is not None:
            notes.append(
                "Drift is averaged over rows, in causal models without the first, which sees only itself. A head may "
                "look elsewhere and matter as little as before. "
                "Differences are A − B, paired, with standard errors clustered by document. Rows of measures are "
                "ordered by the largest change of a head: a share as it is, other figures as a share of their largest "
                "value."
            )
        if self.examples:
            notes.append(
                f"The {len(set(self.examples.values()))} examples are those of {self.inputs:,} short inputs, drawn "
                "with seed 0, on which the heads' drift is nearest to that over the corpus; a head opens on the one "
                "that is nearest for it."
            )
        counts = list(self._counts())
        if counts:
            broad = " A head that attends almost evenly is “broad”, whether it has learnt that or not."
            notes.append(
                "Roles are tested in each model by itself: one can be lost for want of evidence, so look at both q."
                + (broad if any(row["role"] == "broad" for row in counts) else "")
            )
        if absent := self.meta.get("absent"):
            why = "; ".join(f"{name} ({plain_text(str(reason))})" for name, reason in absent.items())
            notes.append(f"Not measured here: {why}.")
        return notes


def _rows(table: Any) -> list[Any]:
    return list(table.itertuples())


def _heads(table: Any) -> list[tuple[int, int]]:
    return list(zip(table["layer"], table["head"], strict=True))


def _layer(row: Any) -> ComparedLayer:
    return ComparedLayer(
        layer=int(row.layer),
        js=_short(row.js) or 0.0,
        js_se=_short(row.js_se),
        cosine=_short(row.cosine) or 0.0,
        cosine_se=_short(row.cosine_se),
    )


def _measures(found: xr.Dataset, heads: list[Head]) -> list[ComparedMeasure]:
    """Every measure, the one that changed most first."""
    layers = [int(layer) for layer in found["layer"].values]
    places = ([layers.index(head.layer) for head in heads], [head.head for head in heads])
    made: list[tuple[float, ComparedMeasure]] = []
    for name in found["measure"].values:
        one = found.sel(measure=name)
        a, difference, se, n = (
            np.asarray(one[key].transpose("layer", "head").values, np.float64)[places]
            for key in ("a", "difference", "se", "n")
        )
        there = np.isfinite(difference)
        if not there.any():
            continue
        most = (
            1.0
            if str(one["units"].values) == "share"
            else float(np.abs([a[there], (a - difference)[there]]).max())
        )
        size = float(np.abs(difference[there]).max()) / (most or 1.0)
        info = ComparedMeasure(
            name=str(name),
            title=str(one["title"].values),
            units=str(one["units"].values),
            n=int(n[there].max()),
            a=[_short(value) for value in a],
            difference=[_short(value) for value in difference],
            se=[_short(value) for value in se],
        )
        made.append((size, info))
    return [info for _, info in sorted(made, key=lambda one: -one[0])]


def _units(role: str) -> str:
    measures = {one.name: one.measure for one in ROLES}
    return "nats" if measures.get(role) == "entropy" else "share"


def _last(name: str) -> str:
    return name.rstrip("/").split("/")[-1]


def _short(value: Any) -> float | None:
    """Six significant digits; None for what is no number."""
    number = float(value)
    return float(f"{number:.6g}") if math.isfinite(number) else None
