"""Blocks on a terminal: paragraphs, lists, and tables with a line a row."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import cast

from headscope.core.escapes import GREY, PLAIN
from headscope.core.heads import Head
from headscope.views import digits
from headscope.views.blocks import Block, CellInfo, ColumnInfo, ListEntry, TableBlock, Value
from headscope.views.page import html_text
from headscope.views.payload import Part

ROWS = 100
"""So many rows of a table have room."""

TOKENS = 5
"""So many tokens of a cell have room."""

_DRAWN = ("bar", "change")  # what other cells write


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


def as_html(shown: Sequence[Block]) -> str:
    """Blocks as a notebook shows them: what `written` has, tables as elements."""
    parts: list[str] = []
    for block in shown:
        if block["kind"] == "table" and block["cells"]:
            rows = "".join(f"<tr><td>{'<td>'.join(map(html_text, row))}" for row in _Table(block).texts())
            parts.append(f"<table>{rows}</table>")
        elif text := written([block]):
            parts.append(f"<pre>{html_text(text)}</pre>" if "\n" in text else f"<p>{html_text(text)}</p>")
    return "".join(parts)


def _entries(block: Block) -> Sequence[ListEntry]:
    return block["entries"] if block["kind"] == "list" else ()


def table_texts(block: Block) -> list[list[str]]:
    """The labels of a table, and what the cells of each row say."""
    return _Table(cast("TableBlock", block)).texts()


def words(parts: Sequence[Part], between: str = "") -> str:
    """The text of a sentence, its tokens in quotes."""
    return between.join(repr(part["text"]) if part.get("token") else part["text"] for part in parts)


class _Table:
    def __init__(self, block: TableBlock) -> None:
        self.block, self.values = block, block["values"]
        self.columns = {column["name"]: column for column in (*block["columns"], *block["more"])}
        self.cells = [cell for cell in block["cells"] if cell.get("draw") not in _DRAWN]

    @property
    def rows(self) -> Sequence[int]:
        """The places of the rows that are shown."""
        return self.block.get("shown", range(max(map(len, self.values.values()))))

    def texts(self) -> list[list[str]]:
        """The labels, and what the cells of each row say."""
        rows = [[self._cell(cell, row) for cell in self.cells] for row in self.rows[:ROWS]]
        return [[self._label(cell) for cell in self.cells], *rows]

    def lines(self) -> list[str]:
        """The labels, which may have several lines, and a line a row."""
        (names, *texts), rows = self.texts(), self.rows
        labels = [name.split("\n") for name in names]
        high = max(map(len, labels))
        head = [*zip(*([""] * (high - len(label)) + label for label in labels), strict=True)]
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


def _probability(p: float) -> str:
    """A p or q with its power of ten, which a page leaves out: in a terminal many are compared."""
    if p == 0 or p >= 0.001:
        return digits.bare(digits.fixed(p, 3)) if p else "0"
    mantissa, _, power = f"{p:.0e}".partition("e")
    return f"{mantissa}e{int(power)}".replace("-", "−")


def _written(column: ColumnInfo, value: Value) -> str:
    """A value as its column writes it, as `frontend/src/report/blocks/values.ts` does, but for `_probability`."""
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
        return _probability(value)
    return {"share": digits.share, "fixed": digits.fixed}.get(format, digits.figure)(value, places)
