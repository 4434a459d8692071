"""What a section of a report is."""

from __future__ import annotations

from typing import Protocol

from headscope.views.blobs import Blobs
from headscope.views.payload import SectionInfo


class Section(Protocol):
    """One section of the report."""

    def info(self, blobs: Blobs) -> SectionInfo | None:
        """What travels to the page, with the section's own arrays kept in `blobs`; None: nothing to show."""
        ...
