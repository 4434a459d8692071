"""Sections that belong to every report: what failed, what was not measured, what the figures mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from headscope.analyses.clusters import alike
from headscope.views.blobs import Blobs
from headscope.views.page import plain_text
from headscope.views.payload import Absent, SectionInfo
from headscope.views.section import Ready, Section
from headscope.views.wire import CarriedPayload


class FailedSection(SectionInfo):
    """A section that could not be made, and why."""

    kind: Literal["failed"]
    name: str
    reason: str
    command: str | None


class AbsentSection(SectionInfo):
    """Measures that do not apply to this model or corpus."""

    kind: Literal["absent"]
    absent: list[Absent]


class MethodsSection(SectionInfo):
    """What each measure means and how it was averaged."""

    kind: Literal["methods"]
    notes: list[str]


class CarriedSection(SectionInfo):
    """The model itself, to type and look: it is unpacked when a reader asks for it."""

    kind: Literal["carried"]
    page: CarriedPayload


@dataclass(frozen=True)
class Carried(Section):
    """The model, put into the page by what `headscope.live.standalone.carry` gives."""

    put: Callable[[Blobs], CarriedPayload]

    def info(self, blobs: Blobs) -> CarriedSection:
        """The section, and the model's arrays."""
        return CarriedSection(
            kind="carried",
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

    def info(self, blobs: Blobs) -> FailedSection:
        """The section; nothing travels beside it."""
        return FailedSection(
            kind="failed",
            title=self.title,
            about="",
            name=self.name,
            reason=plain_text(self.reason),
            command=self.command,
        )


def absent(reasons: Mapping[str, Any]) -> list[Section]:
    """Measures that do not apply to this model or corpus, and why; no section where all apply."""
    infos = [Absent(measure=name, reason=str(reason)) for name, reason in reasons.items()]
    return (
        [Ready(AbsentSection(kind="absent", title="Not measured here", about="", absent=infos))]
        if infos
        else []
    )


def methods(document: str, same: int = 0) -> Section:
    """What each figure means, what was taken as one document, and how many are the same as one before."""
    unit = f" (here {document})" if document else ""
    return Ready(
        MethodsSection(
            kind="methods",
            title="What each figure means",
            about=f"Every figure is a mean over the corpus with its standard error, by document{unit}.",
            notes=[
                f"Standard errors are of the jackknife over documents{f'; {alike(same)}' if same else ''}.",
                "The dashed line is what attention spread evenly over the visible tokens would give.",
                "Bars of 0.5 are a convention.",
                "Where a head gives part of its attention to a learned sink, or parks it on a token, its entropy and "
                "its other shares are of what is left.",
            ],
        )
    )
