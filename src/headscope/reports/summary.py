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
from headscope.views.sentences import NAMED, comma, head_name, percent, sentence, text

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


_Scored = tuple[Head, float]


@dataclass(frozen=True)
class Summary(Section):
    """The section that opens the report: what its figures say.

    Attributes:
        values: of each measure ``[layer head]``.
        chance: of uniform attention ``[layer]``.
        layers, heads: the model's indices.
        sections: those whose findings are told as well.
    """

    values: Mapping[str, npt.NDArray[np.float64]]
    chance: Mapping[str, npt.NDArray[np.float64]]
    layers: Sequence[int]
    heads: Sequence[int]
    sections: Sequence[Section] = ()

    def info(self, blobs: Blobs) -> SummarySection | None:
        """The section; None where no head has a figure."""
        first, last = (
            [line for section in self.sections if section.opens is opens for line in section.findings()]
            for opens in (True, False)
        )
        lines = [*first, *self.findings(), *last]
        return SummarySection(kind="summary", title="", about="", lines=lines) if lines else None

    def findings(self) -> list[list[Part]]:
        """A few sentences on what the heads do, in parts, so that a head's name can open its picture."""
        ranked = {name: heads for name, values in self.values.items() if (heads := self._ranked(values))}
        phrases = {name: phrase for name, phrase in _PHRASES.items() if name in ranked}
        if "first" in phrases:
            phrases.pop("cls", None)  # the same token
        busy = [name for name in phrases if ranked[name][0][1] > HALF]
        sentences = [_above_half(ranked[name], phrases[name]) for name in busy]
        quiet = {phrase: ranked[name][0] for name, phrase in phrases.items() if name not in busy}
        if quiet:
            sentences.append(_quiet(quiet))
        if "entropy" in ranked:
            broadest = ranked["entropy"][0][0]
            uniform = float(self.chance["entropy"][list(self.layers).index(broadest.layer)])
            sentences.append(_entropy(ranked["entropy"], uniform))
        return sentences

    def _ranked(self, values: npt.NDArray[np.float64]) -> list[_Scored]:
        """The heads that have a figure, the largest first."""
        scored = [
            (Head(self.layers[row], self.heads[column]), float(value))
            for (row, column), value in np.ndenumerate(values)
            if np.isfinite(value)
        ]
        return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


def _above_half(ranked: Sequence[_Scored], phrase: str) -> list[Part]:
    above = [(head, share) for head, share in ranked if share > HALF]
    verb, their = ("head puts", "its") if len(above) == 1 else ("heads put", "their")
    parts = [text(f"{len(above)} {verb} more than half of {their} attention on {phrase}: ")]
    for position, (head, share) in enumerate(above[:NAMED]):
        parts += [*comma(position), head_name(head), text(f" ({percent(share)})")]
    end = ""
    if len(above) > NAMED:
        layers = sorted({head.layer for head, _ in above})
        where = f"in layers {layers[0]} to {layers[-1]}" if len(layers) > 1 else f"all in layer {layers[0]}"
        end = f" and {len(above) - NAMED} more, {where}"
    return [*parts, text(f"{end}.")]


def _quiet(best: Mapping[str, _Scored]) -> list[Part]:
    phrases = list(best)
    listed = phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"
    parts = [text(f"No head puts more than half of its attention on {listed}; the most is ")]
    for position, (phrase, (head, share)) in enumerate(best.items()):
        on = f" on {phrase}" if len(phrases) > 1 else ""
        parts += [*comma(position), head_name(head), text(f" ({percent(share)}{on})")]
    return [*parts, text(".")]


def _entropy(ranked: Sequence[_Scored], uniform: float) -> list[Part]:
    (broad, high), (sharp, low) = ranked[0], ranked[-1]
    against = f" of {uniform:.2f} for uniform attention" if np.isfinite(uniform) else ""
    begin = sentence("The broadest head is ", head_name(broad), f" (entropy {high:.2f} nats{against})")
    if broad == sharp:
        return sentence(*begin, ".")
    return sentence(*begin, ", the sharpest ", head_name(sharp), f" ({max(0.0, low):.2f} nats).")
