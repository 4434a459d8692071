"""The section on two models: how far heads moved, which measures changed, which roles were kept, lost and gained."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare.models import statistics as two_models
from headscope.analyses.compare.models.summary import Comparison
from headscope.analyses.compare.roles import statistics as two_roles
from headscope.analyses.roles.statistics import BROAD, heads_in, named, roles_of, units_of
from headscope.analyses.study import LEVEL
from headscope.core.heads import Head
from headscope.views.blobs import Blobs
from headscope.views.page import plain_text
from headscope.views.payload import Pin, SectionInfo
from headscope.views.section import not_measured, records, rounded


class ComparedLayer(TypedDict):
    """The means over the heads of a layer; errors are None where there is one document.

    `low` and `high` are the ends of the 95 % interval of `js`, None with few documents.
    """

    layer: int
    js: float
    js_se: float | None
    low: float | None
    high: float | None
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
    """What became of a head's role from A to B: scores, q in each, A − B between `low` and `high`, and its q."""

    layer: int
    head: int
    role: str
    units: str
    a: float | None
    b: float | None
    q_a: float | None
    q_b: float | None
    change: Literal["kept", "lost", "gained", "unclear"]
    difference: float | None
    low: float | None
    high: float | None
    q: float | None


class CompareSection(SectionInfo):
    """Two models on the same inputs.

    `layer` and `head` are of the heads that were compared, like `js` (nats a row), `js_se`, `cosine`, `example`,
    the place of an example that has the maps of both, and `pin`, the token whose rows differ most there; all are empty
    where heads have no counterparts. `names` are those of A and B, `of` how many heads each has.
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
    pin: list[Pin | None]
    layers: list[ComparedLayer]
    measures: list[ComparedMeasure]
    counts: list[RoleCount]
    roles: list[RoleChange]
    notes: list[str]
    command: str | None


@dataclass(frozen=True)
class Compare(Comparison):
    """The section of two models."""

    def named(self) -> Iterable[tuple[Head, int]]:
        """The heads that were compared, each on its own example."""
        return self.examples.items()

    def info(self, blobs: Blobs) -> CompareSection:
        """The figures; nothing travels beside them."""
        heads: list[Head] = []
        drift: dict[str, list[Any]] = {name: [] for name in ("layer", "head", "js", "js_se", "cosine")}
        layers: list[ComparedLayer] = []
        measures: list[ComparedMeasure] = []
        if self.figures is not None:
            rows: Any = two_models.by_drift(self.figures).sort_values(["layer", "head"])
            heads = [Head(layer, head) for layer, head in zip(rows["layer"], rows["head"], strict=True)]
            drift = {name: [row[name] for row in records(rows)] for name in drift}
            names = {"js_low": "low", "js_high": "high"}
            means: Any = two_models.by_layer(self.figures)
            layers = records(means.drop(columns=["excess", "excess_q"]).rename(columns=names))
            measures = _measures(self.figures, heads)
        of = [len(heads)] * 2
        if self.roles is not None:
            of = [heads_in(tests) for tests in self.roles]
        counts = self._counts()
        return CompareSection(
            kind="compare",
            title=self._title(),
            about=self._about(counts),
            names=[plain_text(name) for name in self.names],
            of=of,
            **drift,
            example=[self.examples.get(head) for head in heads],
            pin=[self.pins.get(head) for head in heads],
            layers=layers,
            measures=measures,
            counts=counts,
            roles=self._changes(),
            notes=self._notes(counts),
            command=self.command,
        )

    def _title(self) -> str:
        if self.kind == "untrained":
            return "Beside itself untrained"
        if self.kind == "redrawn":
            return "Beside another untrained draw"
        return f"Beside {plain_text(self.names[1].rstrip('/').split('/')[-1])}"

    def _about(self, counts: list[RoleCount]) -> str:
        a, b = (plain_text(name) for name in self.names)
        about = [f"A is {a}, B is {b}."]
        if self.kind == "redrawn":
            about.append(
                "The model is itself untrained: what differs is what two random draws of weights differ in."
            )
        about += [f"{plain_text(why)}." for why in self.why]
        if self.roles is not None and not counts:
            about.append("No head of either has one of the roles.")
        if self.meta:
            about.append(
                "Drift is how far apart they attend: 0 where nothing changed, 0.693 nats where they have nothing in "
                "common. Choose a head to see A, B and A − B."
            )
        return " ".join(about)

    def _counts(self) -> list[RoleCount]:
        if self.roles is None:
            return []
        tables = [named(tests, LEVEL) for tests in self.roles]
        counts: Any = two_roles.by_role(*tables)
        counts = counts.drop(columns=["share_a", "share_b"]).rename(columns={"heads_a": "a", "heads_b": "b"})
        broad = counts["role"] == BROAD  # no pattern: last
        counts = pd.concat([counts[~broad], counts[broad]])
        rows = records(counts.assign(units=counts["role"].map(units_of)))
        heads = roles_of(tables[0], broad=True)
        for row in rows:
            row["heads"] = [list(head) for head, roles in heads.items() if row["role"] in roles]
        return rows

    def _changes(self) -> list[RoleChange]:
        changes: Any = self.changes
        if changes is None:
            return []
        rows: Any = changes.rename(columns={"ci_low": "low", "ci_high": "high"})
        return records(
            rows.drop(columns=["paper", "se", "p", "paired"]).assign(units=changes["role"].map(units_of))
        )

    def _notes(self, counts: list[RoleCount]) -> list[str]:
        notes: list[str] = []
        if self.figures is not None:
            corpus = self.meta["corpus"]
            notes.append(
                "Drift is the Jensen–Shannon divergence of a head's rows in A and in B, at most ln 2 ≈ 0.693 nats: "
                f"means over {corpus['tokens']:,} {self.meta['over']} of {corpus['examples']:,} inputs of "
                f"{corpus['documents']:,} documents of {plain_text(str(corpus.get('name') or 'the corpus'))}; ± is a "
                "standard error and bars of layers are 95 % intervals, both by document."
            )
            notes.append(
                "Drift is averaged over rows, in causal models without the first, which sees only itself. A head may "
                "look elsewhere and matter as little as before. "
                "Differences are A − B, paired, with standard errors of a jackknife by document. Rows of measures are "
                "ordered by the largest change of a head: a share as it is, other figures as a share of their largest "
                "value."
            )
        if self.examples:
            notes.append(
                f"The {len(set(self.examples.values()))} examples are those of {self.inputs:,} short inputs, drawn "
                "with seed 0, on which the heads' drift is nearest to that over the corpus; a head opens on the one "
                "that is nearest for it."
            )
        if counts:
            broad = " A head that attends almost evenly is “broad”, whether it has learnt that or not."
            notes.append(
                "Roles are tested in each model by itself. One that only A has is lost, one that only B has gained, "
                "where the two scores differ by more than luck (paired by document; q after Benjamini and Hochberg "
                f"over these rows at {LEVEL:g}); else it is unclear what became of it."
                + (broad if any(row["role"] == "broad" for row in counts) else "")
            )
        return [*notes, *not_measured(self.meta, "Not measured here")]


def _measures(dataset: xr.Dataset, heads: list[Head]) -> list[ComparedMeasure]:
    """Every measure, the one that changed most first."""
    layers = dataset["layer"].values.tolist()
    at = ([layers.index(head.layer) for head in heads], [head.head for head in heads])
    measures: list[tuple[float, ComparedMeasure]] = []
    for name in dataset["measure"].values:
        figures = dataset.sel(measure=name)
        a, difference, se, n = (
            figures[key].transpose("layer", "head").values[at] for key in ("a", "difference", "se", "n")
        )
        there = np.isfinite(difference)
        if not there.any():
            continue
        scale = 1.0
        if figures["units"].item() != "share":
            scale = float(np.abs([a[there], (a - difference)[there]]).max()) or 1.0
        info = ComparedMeasure(
            name=str(name),
            title=figures["title"].item(),
            units=figures["units"].item(),
            n=int(n[there].max()),
            a=list(map(rounded, a)),
            difference=list(map(rounded, difference)),
            se=list(map(rounded, se)),
        )
        measures.append((float(np.abs(difference[there]).max()) / scale, info))
    return [info for _, info in sorted(measures, key=lambda pair: -pair[0])]
