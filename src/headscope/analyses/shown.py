"""What a command says of a result, as data: the command line writes and prints it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from headscope.analyses.record import Analysis
from headscope.core.saving import PAGES, PICTURES, TABLES

if TYPE_CHECKING:
    from headscope.views.blocks import Block

Theme = Literal["auto", "light", "dark"]
Save = Callable[[Path], str]
"""Writes a file, and says what it is."""

Files = Sequence[tuple[Path | None, Save]]
"""Files, None where one is not wanted, with what writes each."""


class WrittenSuffixes(NamedTuple):
    """Of a path: that a command writes there, the suffixes it may have, and what writes it of the parts of shards."""

    suffixes: tuple[str, ...]
    of_parts: str = "-o of merge writes a figure"


Picture = Annotated[Path, WrittenSuffixes(PICTURES)]
Page = Annotated[Path, WrittenSuffixes(PAGES)]
Table = Annotated[Path, WrittenSuffixes(TABLES)]
TableOrPicture = Annotated[Path, WrittenSuffixes((*TABLES, *PICTURES), "give it to merge")]


@dataclass(frozen=True)
class ShownResult:
    """A result as a command writes and prints it.

    Attributes:
        rows: the table that is written, or printed as JSON.
        blocks: what is printed of it: paragraphs and tables, as the page and a notebook show them.
        dataset: what ``.nc`` holds, and what describes the run; None: the rows' attributes do.
        remarks: lines on stderr, before the table.
        drawn: writes ``-o`` where that is no table, and says what it is.
        files: other files, None where one is not wanted, with what writes each and says what it is.
    """

    rows: Any
    blocks: Sequence[Block] = ()
    dataset: Any = None
    remarks: Sequence[str] = ()
    drawn: Save | None = None
    files: Files = ()

    @property
    def text(self) -> str:
        """The blocks on a terminal."""
        from headscope.views.terminal import written

        return written(self.blocks)


def of_result(
    result: Any,
    *,
    analysis: Analysis,
    figure: Picture | None = None,
    all_heads: bool = False,
    **options: Any,
) -> ShownResult:
    """A result as its analysis tells it: its table, its findings and its blocks.

    Args:
        result: of the analysis, a comparison, or a table.
        analysis: its record, where a table does not tell it.
        figure: also a figure: .svg, .pdf or .png.
        all_heads: every head and direction, not only the best ones.
        **options: those of the figure.
    """
    from headscope.analyses.tables import analysis_of, blocks_of, table
    from headscope.views.blocks import rows_of

    def drawn(path: Path) -> str:
        result.save(path)
        return "a figure"

    def pictured(path: Path) -> str:
        taken = signature(analysis.load(analysis.figure)).parameters
        chosen = {name: value for name, value in options.items() if name in taken}
        result.figure(**chosen).save(path)
        return "a figure"

    data = getattr(result, "figures", result)
    if not hasattr(data, "data_vars"):
        blocks, remarks = blocks_of(data, analysis)
        return ShownResult(data, blocks, remarks=remarks)
    analysis = analysis_of(data, "table")
    files = [(figure, pictured)]
    if all_heads:
        rows = analysis.load(analysis.every)(data)
        return ShownResult(rows, rows_of(rows, of=analysis.name), data, files=files)
    blocks, remarks = blocks_of(data, analysis)
    return ShownResult(table(data), blocks, data, remarks, drawn, files)
