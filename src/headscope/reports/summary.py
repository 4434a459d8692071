"""What the figures say, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headscope.analyses.compare_groups.section import Groups
from headscope.analyses.compare_models.section import Compare
from headscope.analyses.summary_compare import comparison, two_groups
from headscope.analyses.summary_linguistics import linguistics
from headscope.heads import Head
from headscope.views.blobs import Blobs
from headscope.views.payload import Part, SummarySection
from headscope.views.section import Section
from headscope.views.sentences import comma, head_name, percent, text

HALF = 0.5
_NAMED = 5  # heads named in a sentence; the rest are counted

_PHRASES = {
    "previous": "the previous token",
    "next": "the next token",
    "current": "the token itself",
    "first": "the first token",
    "cls": "[CLS]",
    "sep": "separators",
    "punctuation": "punctuation",
}


@dataclass(frozen=True)
class Column:
    """One measure's figures: values ``[layer head]``, chance ``[layer]``."""

    name: str
    title: str
    units: str
    values: npt.NDArray[np.float64]
    chance: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Summary:
    """The section that opens the report: what its figures say.

    `layers` and `heads` are the columns' indices; `roles` the leading role of heads that have one, None where
    roles were not looked for; `sections` those whose figures are told of as well: the linguistic ones, two models.
    """

    columns: Sequence[Column]
    layers: Sequence[int]
    heads: Sequence[int]
    roles: Mapping[Head, str] | None = None
    sections: Sequence[Section] = ()

    def info(self, blobs: Blobs) -> SummarySection | None:
        """The section; None where no head has a figure."""
        lines = summary(self.columns, self.layers, self.heads)
        if self.roles is not None:
            there = sum(np.isfinite(np.stack([one.values for one in self.columns])).any(0).ravel())
            lines.insert(0, _roles(self.roles, int(there)))
        lines += linguistics(self.sections)
        for one in self.sections:
            if isinstance(one, Compare):
                lines += comparison(one)
            if isinstance(one, Groups):
                lines.append(two_groups(one))
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


def _roles(roles: Mapping[Head, str], heads: int) -> list[Part]:
    """How many heads have a role, and which roles there are, each with a first head."""
    if not roles:
        return [text(f"None of the {heads} heads has one of the roles that are tested for.")]
    having = "head has" if len(roles) == 1 else "heads have"
    parts = [text(f"{len(roles)} of {heads} {having} a role: ")]
    by_role: dict[str, list[Head]] = {}
    for head, role in sorted(roles.items()):
        by_role.setdefault(role, []).append(head)
    for position, (role, own) in enumerate(sorted(by_role.items(), key=lambda one: -len(one[1]))):
        parts += [text(f"{'; ' if position else ''}{role} ")]
        for place, head in enumerate(own[:_NAMED]):
            parts += [*comma(place), head_name(head)]
        if len(own) > _NAMED:
            parts.append(text(f" and {len(own) - _NAMED} more"))
    return [*parts, text(".")]


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
    for position, (head, share) in enumerate(above[:_NAMED]):
        parts += [*comma(position), head_name(head), text(f" ({percent(share)})")]
    rest = len(above) - _NAMED
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
