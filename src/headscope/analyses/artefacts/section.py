"""The section on artefacts: how many patches are some, how far they stand out, and which heads look at them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from headscope.analyses.artefacts import run
from headscope.analyses.artefacts.statistics import SOURCE, TO_ARTEFACT, table, to_artefacts
from headscope.analyses.study import Study
from headscope.core.heads import Head
from headscope.corpora import Example
from headscope.measures.dataset import description
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import Block
from headscope.views.digits import brief, percent
from headscope.views.payload import Part, Reason, SectionInfo
from headscope.views.reasons import because
from headscope.views.section import Section, number, rounded
from headscope.views.sentences import comma, head_name, sentence, text

NORM = (
    "Patches whose state behind the last layer has a norm far above the rest: they hold no content of their own, and "
    "heads look at them."
)
PHI = (
    "Tokens of a picture that are as large as the first token in the very dimensions in which that stands out: they "
    "hold no content of their own, and heads look at them."
)
_NAMED = 4


class ArtefactsSection(SectionInfo):
    """Patches whose norm is far above the rest.

    `of` is what is far above: the norm, or φ. `share` of `n` patches are, those above `cutoff`; `median` is that of
    all. `edges` are of the bins of the histogram `counts`, evenly on a scale of logarithms. `artefacts` and `others`
    are the means behind each of `layers`, and `where` the share of patches that are artefacts in each part of the
    picture, row by row (None: there is none). `blocks` are what heads give to them, where there are some.
    """

    kind: Literal["artefacts"]
    of: str
    share: float
    low: float | None
    high: float | None
    n: int
    cutoff: float
    median: float
    edges: list[float]
    counts: list[int]
    layers: list[int]
    artefacts: list[float | None]
    others: list[float | None]
    where: list[list[float | None]]
    blocks: list[Block]
    notes: list[str]
    command: str | None


@dataclass(frozen=True)
class Artefacts(Section):
    """Artefacts, and a row for each head.

    Attributes:
        result: from `headscope.artefacts`.
        command: what gives the same figures.
    """

    result: xr.Dataset
    command: str | None = None
    pictured: ClassVar[str | None] = "artefacts"

    def info(self, blobs: Blobs) -> ArtefactsSection:
        """The figures; nothing travels beside them."""
        result = self.result
        norms = description(result)["rule"] == "norm"
        edges = [*map(float, result["from"].values), float(result["to"].values[-1])]
        strength = result["strength"].transpose("kind", "state").values
        return ArtefactsSection(
            kind="artefacts",
            title="Artefacts" if norms else "Visual sinks",
            about=NORM if norms else PHI,
            of="norm" if norms else "φ",
            share=float(result["artefacts"]),
            low=number(result["artefacts_low"]),
            high=number(result["artefacts_high"]),
            n=int(result["artefacts_n"]),
            cutoff=rounded(result["cutoff"]) or 0.0,
            median=rounded(result["median"]) or 0.0,
            edges=[rounded(edge) or 0.0 for edge in edges],
            counts=[int(count) for count in result["count"].values],
            layers=[int(layer) for layer in result["state"].values],
            artefacts=[rounded(value) for value in strength[0]],
            others=[rounded(value) for value in strength[1]],
            where=[[rounded(value) for value in row] for row in result["where"].values],
            blocks=self._heads(),
            notes=self._notes(),
            command=self.command,
        )

    def headline(self) -> str:
        """How many patches hold no content."""
        share = float(self.result["artefacts"])
        return f"{percent(share)} of all patches hold no content" if share > 0 else ""

    def findings(self) -> list[list[Part]]:
        """How many patches are artefacts, and which heads give them most."""
        result, share = self.result, float(self.result["artefacts"])
        norms = description(result)["rule"] == "norm"
        what, one, some = (
            ("a norm", "an artefact", "artefacts") if norms else ("φ", "a visual sink", "visual sinks")
        )
        norm = f"{what} above {brief(float(result['cutoff']))}, where the median is {brief(float(result['median']))}"
        if not share > 0:
            return [sentence(f"No patch is {one}: none has {norm}.")]
        n = int(result["artefacts_n"])
        parts = [text(f"{percent(share)} of {n:,} patches are {some}, with {norm}")]
        rows = self._rows()
        above = rows[rows["ci_low"] > rows["chance"].fillna(0.0)]
        for position, row in enumerate(above.head(_NAMED).itertuples()):
            parts += [text("; the heads that look there most are ")] if not position else comma(position)
            head = Head(int(row.layer), int(row.head))
            parts += [
                head_name(head, _reason(row.attention)),
                text(f" ({percent(rounded(row.attention) or 0.0)})"),
            ]
        return [[*parts, text(".")]]

    @property
    def covered(self) -> set[str]:
        """What heads give to artefacts needs no other sentence."""
        return {TO_ARTEFACT}

    def _rows(self) -> Any:
        rows: Any = table(self.result)
        return rows[rows["attention"].notna()]

    def _heads(self) -> list[Block]:
        if not self.result["artefacts"] > 0:
            return []
        rows, ends = self._rows(), ("ci_low", "ci_high")
        cells = ("head", "paper", blocks.bar("attention", *ends), blocks.figure("attention", *ends))
        return [
            blocks.table(
                "heads",
                rows,
                ("layer", "head", "paper", "attention", *ends, "chance", "from_cls"),
                [*cells, "chance", "from_cls"],
                of="artefacts",
                title="What heads give to artefacts",
                reasons=[_reason(attention) for attention in rows["attention"]],
            )
        ]

    def _notes(self) -> list[str]:
        rest = self.result["contrast"].values
        rule = (
            "The cutoff is 6 robust standard deviations above the median of the norms of all patches, and at least 1.5 "
            f"times that ({SOURCE}, reads one from two peaks)."
        )
        if description(self.result)["rule"] != "norm":
            rule = "φ is the largest of the sink dimensions, by the root mean square of all (Kang et al. 2025, §4.1)."
        notes = [
            rule,
            "[CLS] and registers are no patches. Shares are over the tokens of pictures that have artefacts; intervals "
            "are 95 %, by document.",
        ]
        if np.isfinite(rest).all():
            notes.append(
                f"Brightness within an artefact varies by {rest[0]:.1f} of 255, within other patches by {rest[1]:.1f}."
            )
        return notes


def _reason(attention: float) -> Reason:
    return because("attention on artefacts", percent(attention), measure=TO_ARTEFACT)


def section(study: Study) -> list[Section]:
    """Artefacts, and what heads give to them."""
    result = study_artefacts(study)
    if result["artefacts"] > 0:
        study.figures.append(to_artefacts(result))
    return [Artefacts(result, study.typed and study.typed.positional("artefacts"))]


def study_artefacts(study: Study) -> xr.Dataset:
    """The artefacts of the report's pictures."""

    def look() -> xr.Dataset:
        study.say_time("artefacts", 2.5)
        return run.artefacts(study.model, study.corpus, limit=study.limit)

    return study.once("artefacts", look)


def marked(study: Study, examples: Iterable[Example]) -> Iterable[Example]:
    """Examples with the class ``artefact``, where the report's pictures have artefacts."""
    if study.corpus.kind != "images":
        return examples
    try:
        result = study_artefacts(study)
    except Exception:  # said in the sections of roles and of artefacts
        return examples
    if not result["artefacts"] > 0 or description(result)["rule"] != "norm":
        return examples
    see = study.model.see
    seen = (
        example if example.tokens is not None else replace(example, tokens=see(example.image, example.text))
        for example in examples
    )
    return run.marked(study.model, seen, result)
