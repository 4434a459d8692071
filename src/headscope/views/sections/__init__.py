"""The sections of a report: each is a small dataclass that says what travels to the page.

The page draws a section with the function of ``frontend/src/report/sections.ts`` that its `kind` names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from headscope.views.payload import (
    Absent,
    AbsentSection,
    Blobs,
    HeadsSection,
    LayersSection,
    MeasureInfo,
    MeasuresSection,
    MethodsSection,
    SectionInfo,
)

_POINTS = (
    "Each point is a head, the grey line the mean of a layer, the dashed line uniform attention. "
    "Choose a point to see where the head looks."
)


class Section(Protocol):
    """One section of the report."""

    def info(self, blobs: Blobs) -> SectionInfo | None:
        """What travels to the page, with the section's own arrays kept in `blobs`; None: nothing to show."""
        ...


@dataclass(frozen=True)
class Measures:
    """Every measure small, one of them large."""

    def info(self, blobs: Blobs) -> MeasuresSection:
        """The section; nothing travels beside the figures."""
        about = "Layers down, heads across. Choose a measure to see it large; choose a head to see where it looks."
        return MeasuresSection(kind="measures", title="Every head", about=about)


@dataclass(frozen=True)
class Layers:
    """Measures against the layer: those that are shares of attention, or the others."""

    measures: Sequence[MeasureInfo]
    shares: bool

    def info(self, blobs: Blobs) -> LayersSection | None:
        """The names of its measures; None where there are none."""
        names = [one["name"] for one in self.measures if (one["units"] == "share") == self.shares]
        if not names:
            return None
        title = "Where heads look, by layer" if self.shares else "How widely heads look, by layer"
        more = (
            "Heads that give more than half of their attention are named."
            if self.shares
            else "A head at 0 nats looks at one token."
        )
        return LayersSection(kind="layers", title=title, about=f"{_POINTS} {more}", measures=names)


@dataclass(frozen=True)
class Heads:
    """The table of all heads and figures."""

    def info(self, blobs: Blobs) -> HeadsSection:
        """The section; nothing travels beside the figures."""
        return HeadsSection(kind="heads", title="All heads, all figures", about="")


@dataclass(frozen=True)
class Unmeasured:
    """Measures that do not apply to this model or corpus: the reason, by name."""

    reasons: Mapping[str, str]

    def info(self, blobs: Blobs) -> AbsentSection | None:
        """The reasons; None where everything was measured."""
        absent = [Absent(measure=name, reason=reason) for name, reason in self.reasons.items()]
        return (
            AbsentSection(kind="absent", title="Not measured here", about="", absent=absent)
            if absent
            else None
        )


@dataclass(frozen=True)
class Methods:
    """What each figure means."""

    def info(self, blobs: Blobs) -> MethodsSection:
        """The section; nothing travels beside the figures."""
        about = (
            "Every figure is a mean over the corpus with its standard error, clustered by document. "
            "The dashed line is what attention spread evenly over the visible tokens would give."
        )
        return MethodsSection(kind="methods", title="What each figure means", about=about)
