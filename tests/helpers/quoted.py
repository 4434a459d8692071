"""Figures that prose quotes, and the figures that stand beside it: what is spoken of must be shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from html.parser import HTMLParser
from typing import NamedTuple

_COUNTED = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_ABOUT = {"third": 1 / 3, "quarter": 1 / 4}
_NEAR = 0.04
"""How far a share may be from what is called a third of something, or six in ten."""

_QUOTES = re.compile(
    r"(?P<part>\d+) of (?:the )?(?P<whole>\d+)\b"
    r"|(?:(?P<low>\d+(?:\.\d+)?) (?:to|and) )?(?P<percent>\d+(?:\.\d+)?) ?%"
    r"|(?<![≈≤≥<>=\d.] )(?<![\w.-])(?P<decimal>\d+\.\d+)(?![\w.])"
    r"|\ba (?P<about>third|quarter)(?= (?:of|and)\b|[.,;:])"
    rf"|\b(?P<tenths>{'|'.join(_COUNTED)}) (?:\w+ ){{0,3}}in ten\b",
    re.IGNORECASE,
)


class Quote(NamedTuple):
    """A figure in prose: how it reads, and what a figure beside it must be."""

    text: str
    value: float
    within: float
    counts: tuple[float, ...] = ()

    def in_(self, shown: Collection[float]) -> bool:
        """Whether the figure that is quoted is among those shown, or the two counts that it is of."""
        near = any(abs(each - self.value) <= self.within * (1 + 1e-9) for each in shown)
        return near or (bool(self.counts) and {*self.counts} <= {*shown})


def quotes(prose: str) -> Iterator[Quote]:
    """The figures that a text quotes as results.

    Not those of code, headings and tables, nor of sentences that speak of a paper or lead to another page.
    """
    plain = re.sub(r"```.*?```|`[^`]*`", " ", prose, flags=re.DOTALL)
    plain = re.sub(r"^[#|].*$", " ", plain, flags=re.MULTILINE)
    plain = re.sub(r"(?:[Ss]ection|Python|version)\s\S+", " ", plain)
    for sentence in re.split(r"(?<=[.:;?!])\s+(?=\W*[A-Z])|\n\s*\n", plain):
        if re.search(r"\bpapers?\b|et\sal\.|\]\(", sentence):
            continue
        for found in _QUOTES.finditer(sentence):
            yield from _meant(found)


def _meant(found: re.Match[str]) -> Iterator[Quote]:
    text = found[0]
    if found["part"]:
        counts = float(found["part"]), float(found["whole"])
        yield Quote(text, counts[0] / counts[1], 0.0005, counts)
    for name in ("low", "percent"):
        if found[name]:
            digits = len(found[name].partition(".")[2])
            yield Quote(f"{found[name]} %", float(found[name]) / 100, 0.5 / 10 ** (digits + 2))
    if found["decimal"]:
        yield Quote(text, float(found["decimal"]), 0.5 / 10 ** len(found["decimal"].partition(".")[2]))
    if found["about"]:
        yield Quote(text, _ABOUT[found["about"].lower()], _NEAR)
    if found["tenths"]:
        yield Quote(text, (_COUNTED.index(found["tenths"].lower()) + 1) / 10, _NEAR)


def figures(shown: str) -> list[float]:
    """The numbers in what is shown; of percentages the shares."""
    found: list[float] = []
    for number, percent in re.findall(r"(?<![\w.])(-?\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)( ?%)?", shown):
        value = float(number.replace(",", ""))
        found.append(value / 100 if percent else value)
    return found


class _Table(HTMLParser):
    """The rows of a table, each the texts of its cells."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.heads: list[list[str]] = []
        self._cell = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
            self.heads.append([])
        self._cell = ""

    def handle_data(self, data: str) -> None:
        self._cell += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self.rows:
            (self.rows if tag == "td" else self.heads)[-1].append(self._cell.strip())


def empty_columns(html: str) -> list[str]:
    """The columns of a table, as pandas shows it, in which no row has a figure or word."""
    table = _Table()
    table.feed(html)
    rows = [row for row in table.rows if row]
    names = next((heads for heads in table.heads if len(heads) > 1), [])
    width = len(rows[0]) if rows else 0
    missing = [place for place in range(width) if all(row[place] in ("NaN", "None", "") for row in rows)]
    return [names[place - width] for place in missing]
