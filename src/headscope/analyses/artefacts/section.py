"""The section on artefacts: how many patches are some, how far they stand out, and which heads look at them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

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
from headscope.views.blocks import Block, BlocksSection
from headscope.views.charts import Chart, ChartColour, numbers, texts
from headscope.views.digits import brief, percent
from headscope.views.payload import Part, Reason
from headscope.views.reasons import because
from headscope.views.section import Section, rounded
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

    def info(self, blobs: Blobs) -> BlocksSection:
        """How many there are, three charts, and what heads give to them; nothing travels beside them."""
        result, heads = self.result, self._heads()
        norms = description(result)["rule"] == "norm"
        of, about = ("norm", NORM) if norms else ("φ", PHI)
        share, low, high, cutoff, median = (
            float(result[name])
            for name in ("artefacts", "artefacts_low", "artefacts_high", "cutoff", "median")
        )
        n = f"{int(result['artefacts_n']):,} patches"
        interval = f" ({percent(low)} to {percent(high)})" if np.isfinite([low, high]).all() else ""
        result_text = (
            f"{percent(share)}{interval} of {n}: {of} above {brief(cutoff)}, median {brief(median)}."
        )
        if not heads:
            result_text = f"None of {n}: no {of} is above {brief(cutoff)}, the median is {brief(median)}."
        drawn = charts(result, of)
        shown = blocks.charts(drawn if heads else drawn[:2], height=150)
        title = "Artefacts" if norms else "Visual sinks"
        return blocks.section(
            "artefacts", title, f"{about} {result_text}", [shown, *heads], self._notes(), self.command
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
            head = Head.at(row)
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


def charts(result: xr.Dataset, of: str) -> list[Chart]:
    """How norms are spread, how they grow from layer to layer, and where artefacts sit in a picture."""
    begins, count, where = (result[name].values for name in ("from", "count", "where"))
    strength = result["strength"].transpose("kind", "state").values
    colour: ChartColour = {"title": "", "of": "heads", "names": ["others", "artefacts"]}
    down, across = where.shape
    most = max(1e-12, float(np.nanmax(where)))
    return [
        {
            "kind": "bars",
            "title": f"Patches by {of}",
            "label": f"How many patches have which {of}",
            "x": {"title": "", "names": [brief(edge, 2) for edge in begins]},
            "y": {"title": "", "root": True},
            "rows": {
                "x": numbers(range(len(begins))),
                "y": numbers(count),
                # An edge is the cutoff but for its last digits.
                "colour": numbers(begins >= float(result["cutoff"]) * (1 - 1e-6)),
            },
            "colour": colour,
        },
        {
            "kind": "layers",
            "title": f"Mean {of} by layer",
            "label": f"Mean {of} behind each layer, of artefacts and of other patches",
            "x": {"title": "", "names": texts(result["state"].values)},
            "y": {"title": ""},
            "rows": {"x": [], "y": []},
            "lines": [
                {"y": numbers(values), "colour": kind, "dots": True}
                for kind, values in enumerate(strength[::-1])
            ],
            "colour": colour,
        },
        {
            "kind": "head_map",
            "title": "Where they sit",
            "label": f"Where artefacts sit in a picture: at most {percent(most)} of the patches of a part",
            "x": {"title": "", "names": [""] * across},
            "y": {"title": "", "names": [""] * down},
            "rows": {
                "x": numbers(np.indices(where.shape)[1]),
                "y": numbers(np.indices(where.shape)[0]),
                "colour": numbers(where),
            },
            "colour": {"title": "", "of": "numbers", "low": 0.0, "high": most},
        },
    ]


def _reason(attention: float) -> Reason:
    return because("attention on artefacts", percent(attention), measure=TO_ARTEFACT)


def section(study: Study) -> list[Section]:
    """Artefacts, and what heads give to them."""
    result = study_artefacts(study)
    if result["artefacts"] > 0:
        study.figures.append(to_artefacts(result))
    return [Artefacts(result, study.typed and study.typed.command("artefacts"))]


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
