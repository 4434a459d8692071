"""What a command says of a result, as data: the command line writes and prints it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from headscope.analyses.record import Analysis
from headscope.core.saving import PAGES, PICTURES, TABLES

if TYPE_CHECKING:
    from headscope.views.blocks import Block

Theme = Literal["auto", "light", "dark"]


class WrittenSuffixes(tuple[str, ...]):
    """Of a path: that a command writes there, and the suffixes it may have."""


Page = Annotated[Path, WrittenSuffixes(PAGES)]
Table = Annotated[Path, WrittenSuffixes(TABLES)]
TableOrPicture = Annotated[Path, WrittenSuffixes((*TABLES, *PICTURES))]


@dataclass(frozen=True)
class ShownResult:
    """A result as a command writes and prints it.

    Attributes:
        rows: the table that is written, or printed as JSON.
        blocks: what is printed of it: paragraphs and tables, as the page and a notebook show them.
        dataset: what ``.nc`` holds, and what describes the run; None: the rows' attributes do.
        remarks: lines on stderr, before the table.
        save: writes ``-o`` where that is no table.
    """

    rows: Any
    blocks: Sequence[Block] = ()
    dataset: Any = None
    remarks: Sequence[str] = ()
    save: Callable[[Path], object] | None = None

    @property
    def text(self) -> str:
        """The blocks on a terminal."""
        from headscope.views.terminal import written

        return written(self.blocks)

    @property
    def findings(self) -> list[str]:
        """What is said of the rows: the paragraphs among the blocks."""
        from headscope.views.terminal import written

        texts = (written([block]).strip() for block in self.blocks if block["kind"] == "text")
        return [one for one in texts if one[:1] != "…"]  # of how many rows are not printed


def of_result(result: Any, *, analysis: Analysis, all_heads: bool = False, **options: Any) -> ShownResult:
    """A result as its analysis tells it: its table, its findings and its blocks.

    Args:
        result: of the analysis, a comparison, or a table.
        analysis: its record, where a table does not tell it.
        all_heads: every head and direction, not only the best ones.
        **options: those of the section.
    """
    from headscope.analyses.result import analysis_of, blocks_of, table
    from headscope.views.blocks import rows_of

    data = getattr(result, "figures", result)
    if not hasattr(data, "data_vars"):
        blocks, remarks = blocks_of(data, analysis, **options)
        return ShownResult(data, blocks, remarks=remarks)
    analysis = analysis_of(data, "table")
    if all_heads:
        rows = analysis.load(analysis.every)(data)
        return ShownResult(rows, rows_of(rows, of=analysis.name), data)
    blocks, remarks = blocks_of(data, analysis, **options)
    rows = analysis.load(analysis.rows)(data) if analysis.rows else table(data)
    return ShownResult(rows, blocks, data, remarks, result.save)


def save_figure(result: Any, figure: Page, *, analysis: Analysis, **options: Any) -> str:
    """Draw a result.

    Args:
        result: of the analysis, or a comparison.
        figure: also a figure: .svg, .pdf, .png or .html.
        analysis: its record.
        **options: those of the figure.
    """
    from headscope.analyses.result import figure as draw

    data = getattr(result, "figures", result)
    draw(data, **analysis.taken(analysis.figure, options)).save(figure)
    return "a figure"
