"""The section on prompts and their answers: which part each answer came from, and which was only looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.context_attribution.run import explained
from headscope.analyses.study import LEVEL, Study
from headscope.analyses.why import statistics
from headscope.core.counts import plural
from headscope.core.escapes import beginning
from headscope.core.types import AnyDict
from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import BlocksSection, CellInfo
from headscope.views.payload import Part
from headscope.views.section import Section
from headscope.views.sentences import sentence

PROMPTS = 20
"""So many prompts are explained; the command explains all."""

TEXTS = {
    "answer": ("answer", 20),
    "part": ("part", 28),
    statistics.NOTES[0]: ("only looked at", 14),
    statistics.NOTES[1]: ("used unseen", 14),
}
"""Labels of texts, and how many characters of each are shown; all are saved."""


@dataclass(frozen=True)
class Sources(Section):
    """A row an answer, as `headscope.why` explains it, and the command that explains them all."""

    rows: pd.DataFrame
    command: str | None = None

    def info(self, blobs: Blobs) -> BlocksSection:
        """A row an answer: what it came from, and what its model looked at beside."""
        answer, part, *notes = (
            CellInfo(of=f"{name}, shown", label=label, title=name) for name, (label, _) in TEXTS.items()
        )
        return blocks.section(
            "sources",
            "Which part made these answers",
            "Tool descriptions, documents, messages, calls of tools and their results in each prompt, or "
            "sentences where it has none of these: what the answer loses most by where it does not see it.",
            [
                blocks.table(
                    "sources",
                    self.rows,
                    ("answer", "part", "effect", "q", *statistics.NOTES),
                    (answer, part, "effect", "q", *notes),
                    of="why",
                    title="Answers",
                    faint="unsure",
                )
            ],
            [
                f"A row is grey where q > {LEVEL:g}: other words would have lost as much. Looked at and not used: twice"
                " the usual attention or more, less than ln 2 nats lost; used without looking: half of it or less, and "
                "more lost.",
            ],
            self.command,
        )

    def findings(self) -> list[list[Part]]:
        """Of how many answers a part is named, and how many looked at what they did not use."""
        rows: Any = self.rows
        named, looked = (~rows["unsure"]).sum(), (rows[statistics.NOTES[0]] != "").sum()
        return [
            sentence(
                f"{named} of {plural(len(rows), 'answer')} hang on a part of their prompt; "
                f"{looked} had the model look at a part that it did not use."
            )
        ]


def _row(result: xr.Dataset) -> AnyDict:
    best = statistics.first(result)
    q, texts = float(result["q"][best]), [str(text) for text in result["text"].values]
    notes = statistics.notes(result)
    row: AnyDict = {
        "answer": description(result)["answer"].strip(),
        "part": texts[best],
        "effect": float(result["masked"][best]),
        "q": q,
        "unsure": q > LEVEL,
        **{
            name: "; ".join(text for text, note in zip(texts, notes, strict=True) if note.startswith(name))
            for name in statistics.NOTES
        },
    }
    return row | {f"{name}, shown": beginning(row[name], most) for name, (_, most) in TEXTS.items()}


def section(study: Study) -> list[Section]:
    """Which part of each of the prompts that were given its answer came from."""
    assert study.prompts is not None
    rows = [
        _row(one) for one in explained(study.model, study.prompts, None, min(PROMPTS, study.limit or PROMPTS))
    ]
    if not rows:
        raise InputError("prompts: expected one that the model can read, found none")
    return [Sources(pd.DataFrame(rows), study.typed and study.typed.on("why", "--prompts"))]
