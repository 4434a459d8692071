"""What the figures say, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from headscope.heads import Head
from headscope.views.blobs import Blobs
from headscope.views.payload import Part, SectionInfo
from headscope.views.section import Section
from headscope.views.sentences import NAMED, comma, head_name, percent, text

HALF = 0.5

_PHRASES = {
    "previous": "the previous token",
    "next": "the next token",
    "current": "the token itself",
    "first": "the first token",
    "cls": "[CLS]",
    "sep": "separators",
    "punctuation": "punctuation",
}


class SummarySection(SectionInfo):
    """Sentences on what the heads do."""

    kind: Literal["summary"]
    lines: list[list[Part]]


@dataclass(frozen=True)
class Column:
    """One measure's figures: values ``[layer head]``, chance ``[layer]``."""

    name: str
    title: str
    units: str
    values: npt.NDArray[np.float64]
    chance: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Summary(Section):
    """The section that opens the report: what its figures say.

    `layers` and `heads` are the columns' indices; `sections` those whose findings are told as well.
    """

    columns: Sequence[Column]
    layers: Sequence[int]
    heads: Sequence[int]
    sections: Sequence[Section] = ()

    def info(self, blobs: Blobs) -> SummarySection | None:
        """The section; None where no head has a figure."""
        first, last = (
            [line for one in self.sections if one.opens is opens for line in one.findings()]
            for opens in (True, False)
        )
        lines = [*first, *summary(self.columns, self.layers, self.heads), *last]
        return SummarySection(kind="summary", title="", about="", lines=lines) if lines else None


def summary(columns: Sequence[Column], layers: Sequence[int], heads: Sequence[int]) -> list[list[Part]]:
    """A few sentences on what the heads do, in parts, so that a head's name can open its picture."""
    ranked = {column.name: _ranked(column, layers, heads) for column in columns}
    ranked = {name: places for name, places in ranked.items() if places}
    phrases = {name: phrase for name, phrase in _PHRASES.items() if name in ranked}
    if "first" in phrases:
        phrases.pop("cls", None)  # the same token
    sentences = [
        _above_half(ranked[name], phrase) for name, phrase in phrases.items() if ranked[name][0][1] > HALF
    ]
    quiet = {phrase: ranked[name][0] for name, phrase in phrases.items() if ranked[name][0][1] <= HALF}
    if quiet:
        sentences.append(_quiet(quiet))
    for column in columns:
        if column.name == "entropy" and column.name in ranked:
            sentences.append(_entropy(ranked["entropy"], column, layers))
    return sentences


_Place = tuple[Head, float]


def _ranked(column: Column, layers: Sequence[int], heads: Sequence[int]) -> list[_Place]:
    places = [
        (Head(layer, head), float(column.values[row, place]))
        for row, layer in enumerate(layers)
        for place, head in enumerate(heads)
        if np.isfinite(column.values[row, place])
    ]
    return sorted(places, key=lambda place: (-place[1], place[0]))


def _above_half(ranked: Sequence[_Place], phrase: str) -> list[Part]:
    above = [place for place in ranked if place[1] > HALF]
    one = len(above) == 1
    verb, their = ("head puts", "its") if one else ("heads put", "their")
    parts = [text(f"{len(above)} {verb} more than half of {their} attention on {phrase}: ")]
    for position, (head, share) in enumerate(above[:NAMED]):
        parts += [*comma(position), head_name(head), text(f" ({percent(share)})")]
    rest = len(above) - NAMED
    if rest > 0:
        found = sorted({head.layer for head, _ in above})
        where = f", in layers {found[0]} to {found[-1]}" if len(found) > 1 else f", all in layer {found[0]}"
        return [*parts, text(f" and {rest} more{where}.")]
    return [*parts, text(".")]


def _quiet(best: Mapping[str, _Place]) -> list[Part]:
    phrases = list(best)
    listed = phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"
    parts = [text(f"No head puts more than half of its attention on {listed}; the most is ")]
    for position, (phrase, (head, share)) in enumerate(best.items()):
        on = f" on {phrase}" if len(phrases) > 1 else ""
        parts += [*comma(position), head_name(head), text(f" ({percent(share)}{on})")]
    return [*parts, text(".")]


def _entropy(ranked: Sequence[_Place], column: Column, layers: Sequence[int]) -> list[Part]:
    (broad, high), (sharp, low) = ranked[0], ranked[-1]
    uniform = float(column.chance[list(layers).index(broad.layer)])
    against = f" of {uniform:.2f} for uniform attention" if np.isfinite(uniform) else ""
    parts = [text("The broadest head is "), head_name(broad), text(f" (entropy {high:.2f} nats{against})")]
    if broad == sharp:
        return [*parts, text(".")]
    return [*parts, text(", the sharpest "), head_name(sharp), text(f" ({max(0.0, low):.2f} nats).")]
