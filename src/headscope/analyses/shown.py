"""What a command says of a result, as data: the command line writes and prints it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from headscope.analyses.record import Analysis
from headscope.core.escapes import GREY, PLAIN
from headscope.core.heads import Head
from headscope.core.saving import PAGES, PICTURES, TABLES
from headscope.measures.columns import column

if TYPE_CHECKING:
    from headscope.views.section import Section

SHOWN = 15
"""Rows of a long table that is printed."""

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
        return Shown(rows, "\n".join(first_rows(rows, on_screen(rows.head(SHOWN)))), result, files=files)
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


def drawn(figure: Callable[[], Any], description: str = "a figure") -> Save:
    """What saves a figure; it is drawn only then."""

    def save(path: Path) -> str:
        figure().save(path)
        return description

    return save


def first_rows(rows: Any, shown: str) -> list[str]:
    """A table that is shown by its first rows, and how many more there are."""
    more = len(rows) - SHOWN
    return [shown, f"… and {more:,} more; -o FILE writes them all"] if more > 0 else [shown]


def on_screen(
    rows: Any,
    few: Sequence[bool] = (),
    *,
    dropped: Sequence[str] = (),
    head: str = "head",
    name: Callable[[int, int], str] | None = None,
) -> str:
    """A table of heads to read: their names first, three digits; rows of `few` instances grey on a terminal.

    Columns in `dropped` are left out. `name` gives a name to a layer and what the column `head` has.
    """
    heads = zip(rows["layer"], rows[head], strict=True)
    missing = rows[head].isna()
    names = ["" if missing.iloc[place] else (name or _name)(*spot) for place, spot in enumerate(heads)]
    shown = rows.drop(columns=[head, *dropped]).rename(columns={"layer": "name"}).assign(name=names)
    lines: list[str] = printed(shown).splitlines()
    if few and sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        grey = [f"{GREY}{line}{PLAIN}" if one else line for line, one in zip(lines[1:], few, strict=True)]
        lines[1:] = grey
    return "\n".join(lines)


def printed(rows: Any, digits: int = 3) -> str:
    """A table to read under the names that it is saved with: `cells`."""
    return str(cells(rows, digits).to_string(index=False))


def cells(rows: Any, digits: int = 3) -> Any:
    """A table whose numbers are texts of so many digits; nothing where there is none.

    A probability (`headscope.measures.columns`) is never 0.
    """
    texts = rows.astype(object).where(rows.notna(), "")
    for name in rows.select_dtypes("float"):
        least = 10**-digits if column(str(name)).format == "probability" else 0
        texts[name] = [_digits(value, digits, least) for value in rows[name]]
    return texts


def _digits(value: float, digits: int, least: float) -> str:
    if value != value:
        return ""
    return f"<{least:.{digits}f}" if 0 <= value < least / 2 else f"{value:.{digits}f}"


def _name(layer: int, head: int) -> str:
    return str(Head(layer, head))
