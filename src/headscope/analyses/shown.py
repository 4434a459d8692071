"""What a command says of a result, as data: the command line writes and prints it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from headscope.analyses.record import Analysis
from headscope.core.saving import PAGES, PICTURES, TABLES

if TYPE_CHECKING:
    from headscope.views.section import Section

Theme = Literal["auto", "light", "dark"]
Save = Callable[[Path], str]
"""Writes a file, and says what it is."""

Files = Sequence[tuple[Path | None, Save]]
"""Files, None where one is not wanted, with what writes each."""


class Written(NamedTuple):
    """Of a path: that a command writes there, the suffixes it may have, and what writes it of the parts of shards."""

    suffixes: tuple[str, ...]
    of_parts: str = "-o of merge writes a figure"


Picture = Annotated[Path, Written(PICTURES)]
Page = Annotated[Path, Written(PAGES)]
Table = Annotated[Path, Written(TABLES)]
TableOrPicture = Annotated[Path, Written((*TABLES, *PICTURES), "give it to merge")]


@dataclass(frozen=True)
class Shown:
    """A result as it is written and printed.

    Attributes:
        rows: the table that is written, or printed as JSON.
        text: what is printed of it.
        dataset: what ``.nc`` holds; None: there is no such file.
        described: what made it, by default what the dataset says.
        remarks: lines on stderr, before the table.
        also: printed also where the table is written.
        drawn: writes ``-o`` where that is no table, and says what it is.
        files: other files, None where one is not wanted, with what writes each and says what it is.
        after: lines on stderr, at the end.
        opens: open what ``-o`` wrote in a browser.
    """

    rows: Any
    text: str = ""
    dataset: Any = None
    described: Mapping[str, Any] | None = None
    remarks: Sequence[str] = ()
    also: str = ""
    drawn: Save | None = None
    files: Files = ()
    after: Sequence[str] = ()
    opens: bool = False


def of_result(
    result: Any, *, analysis: Analysis, figure: Picture | None = None, all_heads: bool = False
) -> Shown:
    """The findings of a result, and its tables, as its section of the report has them.

    Args:
        result: of the analysis.
        analysis: its record.
        figure: also a figure: .svg, .pdf or .png.
        all_heads: every head and direction, not only the best ones.
    """
    rows = (
        analysis.load((all_heads and analysis.every) or analysis.table)(result) if analysis.table else result
    )
    files = [] if figure is None else [(figure, drawn(result.figure))]
    if all_heads:
        return Shown(rows, tabulated(rows, of=analysis.name), result, files=files)
    shown = of_section(analysis.load(analysis.section)(result), rows, files)
    if hasattr(result, "data_vars"):
        return replace(shown, dataset=result)
    return replace(shown, described=rows.attrs["meta"])


def of_section(section: Section, rows: Any, files: Files = (), *, findings: bool = True) -> Shown:
    """What a section says on a terminal: over what its figures are, its findings, and its blocks."""
    from headscope.views.blobs import Blobs
    from headscope.views.terminal import words, written

    info: Any = section.info(Blobs())
    lines = [*map(words, section.findings() if findings else ()), written(info["blocks"])]
    return Shown(rows, "\n".join(lines), remarks=info["notes"][:1], files=files)


def tabulated(rows: Any, **options: Any) -> str:
    """A table to be read, as `headscope.views.terminal.tabulated` makes it."""
    from headscope.views import terminal

    return terminal.tabulated(rows, **options)


def drawn(figure: Callable[[], Any], description: str = "a figure") -> Save:
    """What saves a figure; it is drawn only then."""

    def save(path: Path) -> str:
        figure().save(path)
        return description

    return save
