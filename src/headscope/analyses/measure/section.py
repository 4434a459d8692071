"""Sections that draw the figures of all heads, and say what they mean."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from headscope.views.blobs import Blobs
from headscope.views.page import plain_text
from headscope.views.payload import (
    Absent,
    AbsentSection,
    ClassesSection,
    FailedSection,
    HeadsSection,
    LayersSection,
    MeasuresSection,
    MethodsSection,
    PanelInfo,
)

POINTS = (
    "Each point is a head, the grey line the mean of a layer, the dashed line uniform attention. "
    "Choose a point to see where the head looks."
)


@dataclass(frozen=True)
class Measures:
    """Every measure small, one of them large. `command` gives the same figures."""

    command: str | None = None

    def info(self, blobs: Blobs) -> MeasuresSection:
        """The section; nothing travels beside the figures."""
        about = "Layers down, heads across. Choose a measure to see it large; choose a head to see where it looks."
        return MeasuresSection(kind="measures", title="Every head", about=about, command=self.command)


@dataclass(frozen=True)
class Layers:
    """Measures against the layer, a chart each.

    Attributes:
        title: of the section.
        about: its caption, after what the points are.
        measures: names of its measures.
        command: what gives the same figures.
    """

    title: str
    about: str
    measures: Sequence[str]
    command: str | None = None

    def info(self, blobs: Blobs) -> LayersSection | None:
        """The names of its measures; None where there are none."""
        if not self.measures:
            return None
        return LayersSection(
            kind="layers",
            title=self.title,
            about=f"{POINTS} {self.about}",
            measures=list(self.measures),
            command=self.command,
        )


@dataclass(frozen=True)
class Classes:
    """Kinds of tokens over one another, by layer (Clark et al. 2019, figures 2 and 3).

    Attributes:
        title: of the section.
        about: its caption.
        panels: the title of each panel, and the name of each of its measures by what it is called there.
        there: the measures of the report; others are left out, and a panel with fewer than two measures too.
        command: what gives the same figures.
    """

    title: str
    about: str
    panels: Mapping[str, Mapping[str, str]]
    there: Collection[str]
    command: str | None = None

    def info(self, blobs: Blobs) -> ClassesSection | None:
        """The names of its measures; None where no panel is left."""
        panels: list[PanelInfo] = []
        for title, measures in self.panels.items():
            kept = {called: name for called, name in measures.items() if name in self.there}
            if len(kept) > 1:
                panels.append(PanelInfo(title=title, measures=list(kept.values()), names=list(kept)))
        if not panels:
            return None
        return ClassesSection(
            kind="classes", title=self.title, about=self.about, panels=panels, command=self.command
        )


@dataclass(frozen=True)
class Failed:
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


@dataclass(frozen=True)
class Heads:
    """The table of all heads and figures. `command` gives the same."""

    command: str | None = None

    def info(self, blobs: Blobs) -> HeadsSection:
        """The section; nothing travels beside the figures."""
        return HeadsSection(kind="heads", title="All heads, all figures", about="", command=self.command)


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
