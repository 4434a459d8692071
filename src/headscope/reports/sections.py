"""Sections that belong to every report: what failed, what was not measured, what the figures mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.clusters import alike
from headscope.core.counts import plural
from headscope.core.types import AnyMapping
from headscope.reports.payload import MeasureInfo
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import BlocksSection
from headscope.views.payload import SectionInfo
from headscope.views.section import Ready, Section
from headscope.views.wire import StandalonePayload


class StandaloneSection(SectionInfo):
    """The model itself, to type and look: it is unpacked when a reader asks for it."""

    kind: Literal["standalone"]
    page: StandalonePayload


MOST = 6
"""Of more measures that do not apply the list is folded."""


@dataclass(frozen=True)
class Standalone(Section):
    """The model, put into the page by what `headscope.live.standalone.carry` gives."""

    put: Callable[[Blobs], StandalonePayload]

    def info(self, blobs: Blobs) -> StandaloneSection:
        """The section, and the model's arrays."""
        return StandaloneSection(
            kind="standalone",
            title="Type and look",
            about="The model is in this page: any text, and what changes of its attention do, with no network.",
            page=self.put(blobs),
        )


@dataclass(frozen=True)
class Failed(Section):
    """A section that could not be made. `name` is what ``--sections`` calls it."""

    name: str
    title: str
    reason: str
    command: str | None = None

    def info(self, blobs: Blobs) -> BlocksSection:
        """The section; nothing travels beside it."""
        return blocks.section(
            "failed",
            self.title,
            "",
            [blocks.paragraph(self.reason, tone="why")],
            [],
            self.command,
        )


def absent(reasons: AnyMapping) -> list[Section]:
    """Measures that do not apply to this model or corpus, and why; no section where all apply."""
    if not reasons:
        return []
    texts = {name: str(reason) for name, reason in reasons.items()}
    listed = blocks.definitions(texts)
    rows = pd.DataFrame({"measure": [*texts], "reason": [*texts.values()]})
    info = blocks.section(
        "absent",
        "Not measured here",
        "",
        [
            blocks.table("measures", rows, ("measure", "reason"), [], title="Measures"),
            listed if len(texts) <= MOST else blocks.folded(f"{len(texts)} measures, and why", listed),
        ],
        [],
    )
    return [Ready(info)]


def methods(measures: Sequence[MeasureInfo], document: str, same: int = 0) -> Section:
    """What each figure means, what was taken as one document, and how many are the same as one before."""
    unit = f" (here {document})" if document else ""
    reasons_of: dict[str, str] = {}
    for one in measures:
        how = "share of attention" if one["units"] == "share" else one["units"]
        over = (
            f"mean over {one['by']}s" if one["by"] else "",
            f"between {one['over']}" if one["over"] else "",
        )
        parts = (one["description"], how, *over, one["source"])
        reasons_of[f"{one['title']} ({one['name']})"] = " · ".join(filter(None, parts))
    rows: Any = pd.DataFrame(measures).rename(columns={"name": "measure"})
    info = blocks.section(
        "methods",
        "What each figure means",
        f"Every figure is a mean over the corpus with its standard error, by document{unit}.",
        [
            blocks.table("measures", rows, [*rows], [], title="Measures"),
            blocks.folded(
                f"{plural(len(measures), 'measure')}, with units and sources", blocks.definitions(reasons_of)
            ),
        ],
        [
            f"Standard errors are of the jackknife over documents{f'; {alike(same)}' if same else ''}.",
            "The dashed line is what attention spread evenly over the visible tokens would give.",
            "Bars of 0.5 are a convention.",
            "Where a head gives part of its attention to a learned sink, or parks it on a token, its entropy and "
            "its other shares are of what is left.",
        ],
    )
    return Ready(info)
