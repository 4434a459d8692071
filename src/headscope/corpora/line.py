"""A line of a file, by which readers say where they are."""

from __future__ import annotations

from typing import NamedTuple

from headscope.errors import CorpusError


class Line(NamedTuple):
    """A line of a file without its end; lines count from 1."""

    path: str
    number: int
    text: str

    @property
    def source(self) -> str:
        """Where the line is, such as ``news.txt:12``."""
        return f"{self.path}:{self.number}"

    def error(self, message: str) -> CorpusError:
        """An error that begins with the line's file and number."""
        return CorpusError(self.path, self.number, message)
