"""What a section of a report is, and what an example of two models is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headscope.views.blobs import Blobs
from headscope.views.explorer import Input
from headscope.views.payload import Part, SectionInfo


class Section(ABC):
    """One section of the report."""

    opens: ClassVar[bool] = False
    """Whether its findings open the summary."""

    @abstractmethod
    def info(self, blobs: Blobs) -> SectionInfo | None:
        """What travels to the page, with the section's own arrays kept in `blobs`; None: nothing to show."""

    def findings(self) -> Sequence[list[Part]]:
        """Sentences for the report's summary."""
        return ()


@dataclass(frozen=True)
class Beside:
    """An example with the maps of two models: the report's own, and another.

    Attributes:
        first, second: what each shows; their labels name the models.
        state: what the explorer begins with.
    """

    first: Input
    second: Input
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])


def number(value: Any) -> float | None:
    """A number as it travels to the page: None where it is not finite, which JSON cannot say."""
    return float(value) if math.isfinite(value) else None
