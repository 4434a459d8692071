"""What sections of blocks send to the page, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def name_of(info: Any) -> str:
    """What a section is about."""
    return info.get("name", info["kind"])


def table(info: Any, name: str) -> Any:
    """A table of a section."""
    (found,) = (block for block in every(info["blocks"]) if block.get("name") == name)
    return found


def names(info: Any) -> list[str]:
    """The tables of a section."""
    return [block["name"] for block in every(info["blocks"]) if block["kind"] == "table"]


def every(blocks: list[Any]) -> Iterator[Any]:
    """Blocks, and those within them."""
    for block in blocks:
        columns = block["columns"] if block["kind"] == "beside" else []
        items = [one["blocks"] for one in block.get("items", [])]
        yield block
        for within in (block.get("blocks", []), *columns, *items):
            yield from every(within)


def cards_of(info: Any) -> list[Any]:
    """The cards of a section."""
    return [block for block in every(info["blocks"]) if block["kind"] == "cards"]


def rows(info: Any, name: str) -> list[dict[str, Any]]:
    """The rows of a table of a section, each with the reason to open its head, and its cases."""
    found = table(info, name)
    values = found["values"]
    count = len(next(iter(values.values())))
    more = {"reason": found["reasons"], "cases": found.get("cases", {}).get("rows")}
    return [
        {name: own[place] if own else None for name, own in more.items()}
        | {name: own[place] for name, own in values.items()}
        for place in range(count)
    ]


def shown(row: Any, *, right: bool) -> list[Any]:
    """The sentences of a row in which its head is right, or wrong."""
    return [one for one in row["cases"]["links"] if all(one["right"]) is right] if row["cases"] else []


def said(info: Any) -> list[str]:
    """The paragraphs of a section."""
    return [
        "".join(part["text"] for part in block["parts"])
        for block in info["blocks"]
        if block["kind"] == "text"
    ]
