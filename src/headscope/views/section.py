"""What a section of a report is, and what an example of two models is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headscope.core.heads import Head
from headscope.core.types import AnyDict, AnyMapping
from headscope.views.blobs import Blobs
from headscope.views.explorer import Input
from headscope.views.payload import Part, Reason, SectionInfo


class Section(ABC):
    """One section of the report."""

    opens: ClassVar[bool] = False
    """Whether its findings open the summary."""

    aside: ClassVar[bool] = False
    """Whether its findings stand after those of all others."""

    pictured: ClassVar[str | None] = None
    """The kind of section, as its info names it, that has a picture to stand beside a finding."""

    @property
    def covered(self) -> Collection[str]:
        """Measures of which its findings tell what there is to say."""
        return ()

    @abstractmethod
    def info(self, blobs: Blobs) -> SectionInfo | None:
        """What travels to the page, with the section's own arrays kept in `blobs`; None: nothing to show."""

    def findings(self) -> Sequence[list[Part]]:
        """Sentences for the report's summary, the most telling first."""
        return ()

    def headline(self) -> str:
        """The first of these in about eight words; empty: it is short itself."""
        return ""

    def named(self) -> Iterable[tuple[Head, int | str]]:
        """The heads that it opens, and the example of the page on which it does, or the measure that is seen there."""
        return ()

    def marks(self) -> Mapping[str, Mapping[Head, Reason]]:
        """What heads are known to do, each with its figure, for the picture of the whole model."""
        return {}


@dataclass(frozen=True)
class Ready(Section):
    """A section that is known as it travels to the page, without arrays of its own."""

    payload: SectionInfo

    def info(self, blobs: Blobs) -> SectionInfo:
        """The section as it is."""
        return self.payload


def rounded(value: Any) -> float | None:
    """A figure to six significant digits; None for what is no number.

    >>> rounded(0.12345678), rounded(float("nan"))
    (0.123457, None)
    """
    number = float(value)
    return float(f"{number:.6g}") + 0.0 if math.isfinite(number) else None


def records(table: Any, exact: Collection[str] = ()) -> list[Any]:
    """The rows of a table as they travel to the page: figures `rounded`, but for the columns `exact`."""
    return [
        {
            name: rounded(value) if isinstance(value, float) and name not in exact else value
            for name, value in row.items()
        }
        for row in table.to_dict("records")
    ]


def not_measured(meta: AnyMapping, begin: str) -> list[str]:
    """A note on the measures that have no figures, and why; none where all have some."""
    why = [f"{name} ({reason})" for name, reason in meta.get("absent", {}).items()]
    return [f"{begin}: {'; '.join(why)}."] if why else []


@dataclass(frozen=True)
class SideBySide:
    """An example with the maps of two models: the report's own, and another.

    Attributes:
        first, second: what each shows; their labels name the models.
        state: what the explorer begins with.
    """

    first: Input
    second: Input
    state: AnyMapping = field(default_factory=AnyDict)


def number(value: Any) -> float | None:
    """A number as it travels to the page: None where it is not finite, which JSON cannot say."""
    return float(value) if math.isfinite(value) else None
