"""The section on two models: how far heads moved, which measures changed, which roles were kept, lost and gained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare.models import statistics as two_models
from headscope.analyses.compare.models.summary import ModelComparison
from headscope.analyses.compare.roles import run as two_roles
from headscope.analyses.roles.statistics import BROAD, heads_in, named, roles_of, units_of
from headscope.analyses.study import LEVEL
from headscope.core.heads import Head
from headscope.core.types import AnyDict
from headscope.measures.dataset import description
from headscope.measures.tidy import tidy
from headscope.views import blocks, digits
from headscope.views.blobs import Blobs
from headscope.views.blocks import (
    Block,
    BlocksSection,
    CellInfo,
    MeasuresBlock,
    SeenHead,
    TableBlock,
)
from headscope.views.payload import Part
from headscope.views.section import not_measured, rounded
from headscope.views.sentences import head_name

HEADS = ("layer", "head", "paper", "measure", "a", "b", "difference", "se", "js", "js_se", "cosine")
"""Columns of the heads that are saved."""

LAYERS = ("layer", "js", "js_se", "ci_low", "ci_high", "cosine", "cosine_se")
"""Columns of the layers that are saved."""

NEXT = 2
"""So many heads are named behind the one that changed most."""


@dataclass(frozen=True)
class Compare(ModelComparison):
    """The section of two models."""

    def named(self) -> Iterable[tuple[Head, int]]:
        """The heads that were compared, each on its own example."""
        return self.examples.items()

    def info(self, blobs: Blobs) -> BlocksSection:
        """The figures; nothing travels beside them."""
        counts = self._counts()
        return blocks.section(
            "compare",
            self._title(),
            self._about(some=not counts.empty),
            [*([] if self.figures is None else self._heads(self.figures)), *self._roles(counts)],
            self._notes({*counts.get("role", ())}),
            self.command,
        )

    def _heads(self, figures: xr.Dataset) -> list[Block]:
        """How far each head moved, and what changed most."""
        rows: Any = tidy(figures, (*HEADS, "title", "units", "n"), "difference").dropna(subset=["js"])
        figures_of = rows.select_dtypes("float")
        rows[figures_of.columns] = figures_of.map(rounded)
        means = two_models.by_layer(figures).rename(columns={"js_low": "ci_low", "js_high": "ci_high"})
        seen = {
            str(head): SeenHead(example=example, pin=self.pins.get(head))
            for head, example in self.examples.items()
        }
        return [
            blocks.table("heads", rows, HEADS, [], title="Heads"),
            blocks.table("layers", means, LAYERS, [], title="Layers"),
            MeasuresBlock(kind="measures", seen=seen),
            blocks.paragraph("What changed most", tone="part"),
            self._changed(rows),
        ]

    def _title(self) -> str:
        if self.kind == "untrained":
            return "Beside itself untrained"
        if self.kind == "redrawn":
            return "Beside another untrained draw"
        return f"Beside {self.names[1].rstrip('/').split('/')[-1]}"

    def _about(self, *, some: bool) -> str:
        a, b = self.names
        about = [f"A is {a}, B is {b}."]
        if self.kind == "redrawn":
            about.append(
                "The model is itself untrained: what differs is what two random draws of weights differ in."
            )
        about += [f"{why}." for why in self.why]
        if self.roles is not None and not some:
            about.append("No head of either has one of the roles.")
        if self.meta:
            about.append(
                "Drift is how far apart they attend: 0 where nothing changed, 0.693 nats where they have nothing in "
                "common. Layers down, heads across. Choose a head to see A, B and A − B."
            )
        return " ".join(about)

    def _counts(self) -> Any:
        """How many heads of each model have which role."""
        if self.roles is None:
            return pd.DataFrame()
        counts: Any = two_roles.by_role(*(named(tests, LEVEL) for tests in self.roles))
        broad = counts["role"] == BROAD  # no pattern: last
        units = counts["role"].map(units_of)
        counts = counts.assign(units=units, unit=units.map(_behind))
        return pd.concat([counts[~broad], counts[broad]])

    def _roles(self, counts: Any) -> list[Block]:
        """The same, and what became of the roles where heads have counterparts."""
        if self.roles is None or counts.empty:
            return []
        having = [
            CellInfo(of="role", aside="unit"),
            *(
                CellInfo(of=f"heads_{side}", label=f"{side.upper()}, of {heads_in(tests)}", tone="strong")
                for side, tests in zip("ab", self.roles, strict=True)
            ),
        ]
        changes: Any = self.changes
        title = "Roles of both models"
        if changes is None:
            of = roles_of(named(self.roles[0], LEVEL), broad=True)
            heads = [[self._named(head, role) for head in of if role in of[head]] for role in counts["role"]]
            cells = [*having, "best_a", "best_b", CellInfo(of="heads", draw="heads")]
            columns = ("role", "heads_a", "heads_b", "best_a", "best_b")
            return [
                blocks.table(
                    "roles",
                    counts,
                    columns,
                    cells,
                    title=title,
                    of="compare",
                    units="units",
                    heads={"heads": heads},
                )
            ]
        became = {
            change: [
                [
                    self._named(Head(row.layer, row.head), role, _scores(row))
                    for row in changes[(changes["role"] == role) & (changes["change"] == change)].itertuples()
                ]
                for role in counts["role"]
            ]
            for change in two_roles.CHANGES
        }
        cells = [*having, *(CellInfo(of=change, draw="heads") for change in became)]
        saved = [name for name in two_roles.COLUMNS if name not in ("se", "p", "paired")]
        return [
            blocks.table("roles", changes, saved, [], title="Roles"),
            blocks.folded(
                "What became of the roles",
                blocks.table("became", counts, (), cells, title=title, heads=became),
            ),
        ]

    def _named(self, head: Head, role: str, scores: str = "") -> Part:
        return head_name(head, self.seen(head, role, scores))

    def _changed(self, rows: Any) -> TableBlock:
        """A row a measure, the one that changed most first, with the head that changed most.

        Of measures that are the same in every head, as [CLS] and the first token are, the first has a row.
        """
        sized: list[tuple[float, Any]] = []
        for _, heads in rows.groupby("measure", sort=False):
            share = heads["units"].iloc[0] == "share"
            scale = 1.0 if share else float(heads[["a", "b"]].abs().to_numpy().max()) or 1.0
            sized.append((float(heads["difference"].abs().max()) / scale, heads))
        distinct: dict[Any, tuple[AnyDict, list[Part]]] = {}
        for _, heads in sorted(sized, key=lambda one: -one[0]):
            sizes = heads["difference"].abs()
            ranked = heads.loc[sizes.sort_values(ascending=False, kind="stable").index]
            first = ranked.iloc[0].to_dict()
            unit, places = _behind(first["units"]), 3 if first["units"] == "share" else 2
            parts = [
                head_name(
                    head := Head.at(row),
                    self.seen(
                        head,
                        f"{row.title}, A − B",
                        f"{digits.figure(row.difference, places)}{unit or ''}",
                    ),
                )
                for row in ranked.head(NEXT + 1).itertuples()
            ]
            most = 1.0 if unit is None else max(abs(first["a"]), abs(first["b"]), 1e-12)
            row = {**first, "unit": unit, "change": first["difference"] / most, "n": int(heads["n"].max())}
            distinct.setdefault((unit, *heads["a"], *heads["difference"]), (row, parts))
        reasons = [parts for _, parts in distinct.values()]
        return blocks.table(
            "changed",
            pd.DataFrame([row for row, _ in distinct.values()]),
            (),
            [
                CellInfo(of="title", draw="measure", name="measure", aside="unit"),
                *("head", "a", "b", CellInfo(of="difference", error="se", tone="strong")),
                CellInfo(of="change", draw="change", label="", most=1),
                *(CellInfo(of="next", draw="heads"), "n"),
            ],
            of="compare",
            title="What changed most",
            reasons=[part[0]["reason"] for part in reasons],
            units="units",
            heads={"next": [part[1:] for part in reasons]},
        )

    def _notes(self, roles: set[str]) -> list[str]:
        notes: list[str] = []
        if self.figures is not None:
            corpus = self.meta["corpus"]
            notes.append(
                "Drift is the Jensen–Shannon divergence of a head's rows in A and in B, at most ln 2 ≈ 0.693 nats: "
                f"means over {corpus['tokens']:,} {self.meta['over']} of {corpus['examples']:,} inputs of "
                f"{corpus['documents']:,} documents of {corpus.get('name') or 'the corpus'}; ± is a "
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
        if roles:
            broad = " A head that attends almost evenly is “broad”, whether it has learnt that or not."
            notes.append(
                "Roles are tested in each model by itself. One that only A has is lost, one that only B has gained, "
                "where the two scores differ by more than luck (paired by document; q after Benjamini and Hochberg "
                f"over these rows at {LEVEL:g}); else it is unclear what became of it."
                + (broad if BROAD in roles else "")
            )
        return [*notes, *not_measured(self.meta, "Not measured here")]


def _scores(row: Any) -> str:
    """The scores of a head in both models, and how they differ."""

    def one(text: str, value: float, q: float) -> str:
        known = f" (q {digits.probability(q)})" if q == q else ""
        return f"{text} {digits.figure(value)}{known}"

    every = (("A", row.a, row.q_a), ("B", row.b, row.q_b), ("A − B", row.difference, row.q))
    return ", ".join(one(*row) for row in every if row[1] == row[1])


def _behind(units: str) -> str | None:
    """Units behind a name or a figure, where they are not shares."""
    return None if units == "share" else f" {units}"


def moved(figures: xr.Dataset) -> tuple[list[str | Block], Sequence[str]]:
    """The heads that moved most, and the means of layers; and whether words were compared."""
    layers = two_models.by_layer(figures)
    differ = "the tokenizers differ: compared on words, without special tokens"
    return [
        "the heads that moved most (Jensen–Shannon, nats a row; cosine of the rows)",
        *blocks.rows_of(two_models.by_drift(figures)),
        "\nmeans of layers",
        *blocks.rows_of(layers, most=len(layers)),
    ], [differ] * (description(figures)["over"] == "words")
