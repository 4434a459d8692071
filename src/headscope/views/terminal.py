"""Blocks on a terminal: paragraphs, lists, and tables with a line a row."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.core.escapes import GREY, PLAIN
from headscope.core.heads import Head
from headscope.views import digits
from headscope.views.blocks import Block, CellInfo, ColumnInfo, ListEntry, TableBlock, Value, table
from headscope.views.payload import Part

ROWS, FEW = 100, 15
"""So many rows of a section's table have room, and of a table of every head."""

TOKENS = 5
"""So many tokens of a cell have room."""

_DRAWN = ("bar", "change", "interval")  # what other cells write


def written(shown: Sequence[Block]) -> str:
    """Blocks as lines: of what is folded the names, and no charts or graphs, whose rows are a table too."""
    lines: list[str] = []
    for block in shown:
        if block["kind"] == "text":
            lines.append(words(block["parts"]))
        elif block["kind"] == "folded":
            names = ", ".join(entry["name"] for inner in block["blocks"] for entry in _entries(inner))
            lines += [f"{block['summary']}: {names}"] if names else []
        elif block["kind"] == "list" and "bar" not in block:
            lines += [f"{entry['name']}: {words(entry['parts'], ', ')}" for entry in block["entries"]]
        elif block["kind"] == "table" and block["cells"]:
            lines += _Table(block).lines()
    return "\n".join(lines)


def _entries(block: Block) -> Sequence[ListEntry]:
    return block["entries"] if block["kind"] == "list" else ()


def tabulated(rows: pd.DataFrame, *, of: str = "", dropped: Sequence[str] = (), most: int = FEW) -> str:
    """The first rows of a table as it is saved, an interval behind its figure; columns in `dropped` are left out.

    >>> figures = {"layer": [0], "head": [2], "q": [1e-9], "score": [0.5], "ci_low": [0.4], "ci_high": [0.6]}
    >>> print(tabulated(pd.DataFrame(figures)))
    head     q                   score
    L0H2  1e−9  0.500 (0.400 to 0.600)
    """
    every: list[str] = [*map(str, rows.columns)]
    names = [name for name in every if name not in ("layer", *dropped)]
    cells = {name: CellInfo(of=name) for name in names}
    for place, low in enumerate(names):
        stem, high = low.removesuffix("_low"), f"{low.removesuffix('_low')}_high"
        if low != stem and high in cells:
            cells[stem if stem in cells else names[place - 1]].update(low=low, high=high)
            del cells[low], cells[high]
    few = range(min(most, len(rows)))
    text = written([table("rows", rows, every, [*cells.values()], title="", of=of, shown=few)])
    more = len(rows) - len(few)
    return f"{text}\n… and {more:,} more; -o FILE writes them all" if more else text


def texts(rows: pd.DataFrame, of: str = "") -> list[list[str]]:
    """The values of a table as its columns write them, a list a row."""
    block = table("rows", rows, [*map(str, rows.columns)], [], title="", of=of)
    columns = [
        [_written(column, value) for value in block["values"][column["name"]]] for column in block["columns"]
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def words(parts: Sequence[Part], between: str = "") -> str:
    """The text of a sentence, its tokens in quotes."""
    return between.join(repr(part["text"]) if part.get("token") else part["text"] for part in parts)


class _Table:
    def __init__(self, block: TableBlock) -> None:
        self.block, self.values = block, block["values"]
        self.columns = {column["name"]: column for column in (*block["columns"], *block["more"])}
        self.cells = [cell for cell in block["cells"] if cell.get("draw") not in _DRAWN]

    def lines(self) -> list[str]:
        """The labels, which may have several lines, and a line a row."""
        rows = self.block.get("shown", range(max(map(len, self.values.values()))))
        labels = [self._label(cell).split("\n") for cell in self.cells]
        high = max(map(len, labels))
        head = [*zip(*([""] * (high - len(label)) + label for label in labels), strict=True)]
        texts = [[self._cell(cell, row) for cell in self.cells] for row in rows[:ROWS]]
        wide = [max(map(len, column)) for column in zip(*head, *texts, strict=True)]
        left = [self._format(cell) in ("text", "token", "tokens", "head", "flag") for cell in self.cells]
        lines = [
            "  ".join(
                text.ljust(room) if begins else text.rjust(room)
                for text, room, begins in zip(line, wide, left, strict=True)
            ).rstrip()
            for line in (*head, *texts)
        ]
        if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
            for place, row in enumerate(rows[:ROWS], high):
                if self._value(self.block.get("faint"), row):
                    lines[place] = f"{GREY}{lines[place]}{PLAIN}"
        more = len(rows) - ROWS
        return [*lines, f"… and {more:,} more; -o FILE writes them all"] if more > 0 else lines

    def _label(self, cell: CellInfo) -> str:
        name = cell["of"]
        return cell.get("label", self.columns[name].get("label", name.replace("_", " ")))

    def _format(self, cell: CellInfo) -> str:
        return "text" if cell["of"] == "paper" else self.columns[cell["of"]].get("format", "figure")

    def _value(self, name: str | None, row: int) -> Value:
        return self.values[name][row] if name in self.values else None

    def _head(self, row: int) -> Head | None:
        layer, head = (self._value(name, row) for name in ("layer", "head"))
        return Head(layer, head) if isinstance(layer, int) and isinstance(head, int) else None

    def _cell(self, cell: CellInfo, row: int) -> str:
        """What a cell writes: its figure, and behind it what stands below or aside it on the page."""
        name, column = cell["of"], self.columns[cell["of"]]
        low, high = (self._value(cell.get(end), row) for end in ("low", "high"))
        between = _between(column, low, high) if isinstance(low, float) and isinstance(high, float) else ""
        if cell.get("draw") == "range":
            return between
        if cell.get("draw") == "heads":
            return words(self.block.get("heads", {})[name][row], ", ")
        head, value = self._head(row), self._value(name, row)
        if cell is self.block["cells"][0]:
            of = cell.get("name", name)
            text = str(head) if name == "head" and head else _written(self.columns[of], self._value(of, row))
        elif name == "paper":
            text = head.paper if head else ""
        elif column.get("format") == "head":
            text = f"{head} {head.paper}" if head else ""
        else:
            more = self._value(cell.get("name"), row)
            text = _written(column, value) + (f" + {more:,}" if isinstance(more, int) else "")
        error, aside, under = (self._value(cell.get(key), row) for key in ("error", "aside", "under"))
        if cell.get("aside") == "paper" and head is not None:
            aside = f"  {head.paper}"
        texts = [
            f"{text}{'' if aside is None else aside}",
            between and f"({between})",
            f"± {digits.significant(error, 2)}" if isinstance(error, float) and not between else "",
            "" if under is None or not text else str(under),
        ]
        return " ".join(filter(None, texts))


def _between(column: ColumnInfo, low: float, high: float) -> str:
    places = column.get("digits", 3)
    if column.get("format") == "share":
        return digits.span(low, high, places)
    return f"{digits.figure(low, places)} to {digits.figure(high, places)}"


def _written(column: ColumnInfo, value: Value) -> str:
    """A value as its column writes it, as `frontend/src/report/blocks/values.ts` does."""
    format, places = column.get("format", "figure"), column.get("digits", 3)
    if value is None:
        return "" if format in ("text", "token", "tokens", "flag") else "–"
    if isinstance(value, str):
        return " ".join(map(repr, value.split(" ")[:TOKENS])) if format == "tokens" else value
    if isinstance(value, bool):
        return column.get("label", column["name"]) if value else ""
    if format in ("whole", "head"):
        return f"{value:,}"
    if format == "probability":
        return digits.probability(value)
    return {"share": digits.share, "fixed": digits.fixed}.get(format, digits.figure)(value, places)
