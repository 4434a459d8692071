"""What the figures say, in plain sentences.

How far heads look on pictures and in sounds, in sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from headscope.analyses.roles.statistics import BROAD
from headscope.core.arrays import Floats
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.core.tokens import WHAT, Kind
from headscope.measures.dataset import description
from headscope.reports.leads import Finding, lead
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import Block, BlocksSection, ColumnsBlock, ItemsBlock, PicturedItem
from headscope.views.digits import percent
from headscope.views.marks import map_of_marks
from headscope.views.payload import Part
from headscope.views.reasons import because
from headscope.views.section import Section
from headscope.views.sentences import NAMED, comma, head_name, sentence, text


class _DistanceUnit(NamedTuple):
    """The unit of a distance, and how many digits it has after the point."""

    name: str
    digits: int

    def __call__(self, value: float) -> str:
        return f"{value:.{self.digits}f} {self.name}"


_FAR = {"distance_pixels": _DistanceUnit("px", 0), "distance_seconds": _DistanceUnit("s", 2)}
_GIVEN = {
    "cls": "[CLS]",
    "to_register": "registers",
    "after_sound": "the silence after the sound",
}
_MOVED = 0.1
"""A mean that is by so much larger or smaller, as a share, has grown or fallen."""


def far(
    values: Mapping[str, Floats],
    chance: Mapping[str, Floats],
    layers: Sequence[int],
    heads: Sequence[int],
    noun: str = WHAT["images"],
) -> Iterator[tuple[str | None, list[Part], str]]:
    """What distances say from layer to layer, and what all heads together give to tokens that are no patch or frame.

    Args:
        values: of each measure ``[layer head]``.
        chance: of uniform attention ``[layer]``.
        layers, heads: the model's indices.
        noun: what the inputs are.

    Yields the measure that a sentence has the picture of (None: a head has it), its parts, and its headline (empty:
    none).
    """
    there = [name for name, figures in values.items() if len(layers) > 1 and bool(np.isfinite(figures).any())]
    for name, unit in _FAR.items():
        if name in there:
            words = _distance(name, unit, values[name], chance[name], layers, heads)
            yield name, words, f"Attention distance {_verb(values[name]).strip(',')} from first to last layer"
            yield None, _first(name, unit, values[name], layers, heads), ""
    if not any(name in values for name in _FAR):  # of texts other sentences say it
        return
    for name, whom in {**_GIVEN, "to_image": f"the {noun}"}.items():
        if name in there:
            first, last = _ends(values[name])
            even = float(chance[name][0])
            against = f"; even attention would give {percent(even)}" if np.isfinite(even) else ""
            opening = f"Heads give {whom} {percent(first)} of their attention on average in layer {layers[0]}"
            yield (
                name,
                [text(f"{opening}, and {percent(last)} in layer {layers[-1]}{against}.")],
                f"Heads give {whom} {percent(first)}, in the last layer {percent(last)}",
            )


def _ends(values: Floats) -> tuple[float, float]:
    """The means over the heads of the first and of the last layer."""
    means: Any = np.nanmean(values, axis=1)
    return float(means[0]), float(means[-1])


def _verb(values: Floats) -> str:
    first, last = _ends(values)
    moved = (last - first) / max(first, 1e-12)
    return "grows" if moved > _MOVED else "falls" if moved < -_MOVED else "stays about the same,"


def _distance(
    name: str,
    unit: _DistanceUnit,
    values: Floats,
    chance: Floats,
    layers: Sequence[int],
    heads: Sequence[int],
) -> list[Part]:
    """From the first layer to the last, and the heads that look farthest and closest."""
    first, last = _ends(values)
    verb = _verb(values)
    even = float(np.nanmean(chance)) if np.isfinite(chance).any() else float("nan")
    against = f" (even attention: {unit(even)})" if np.isfinite(even) else ""
    ends = [(int(np.nanargmax(values)), "farthest"), (int(np.nanargmin(values)), "closest")]
    named: list[str | Part] = []
    for place, which in ends:
        layer, head = divmod(place, values.shape[1])
        value = float(values[layer, head])
        name_of = Head(layers[layer], heads[head])
        named += [
            f"{' and' if named else ''} {which} ",
            head_name(name_of, because("attention distance", unit(value), measure=name)),
            f" ({unit(value)})",
        ]
    return sentence(
        f"Mean attention distance {verb} from {unit(first)} in layer {layers[0]} to {unit(last)} in layer "
        f"{layers[-1]}{against};",
        *named,
        ".",
    )


def _first(
    name: str, unit: _DistanceUnit, values: Floats, layers: Sequence[int], heads: Sequence[int]
) -> list[Part]:
    """How far heads of the first layer look: some far, some near (Dosovitskiy et al. 2021, figure 7)."""
    row = values[0]
    near, most = int(np.nanargmin(row)), int(np.nanargmax(row))
    parts = [
        head_name(
            Head(layers[0], heads[place]),
            because("attention distance", unit(float(row[place])), measure=name),
        )
        for place in (near, most)
    ]
    return sentence(
        f"In layer {layers[0]} ",
        parts[0],
        f" looks closest ({unit(float(row[near]))}), ",
        parts[1],
        f" farthest ({unit(float(row[most]))}).",
    )


HALF = 0.5
_THESE = "In these inputs, "  # no claim on others

_PHRASES: Mapping[Kind, Mapping[str, str]] = {
    "text": {
        "previous": "the previous token",
        "next": "the next token",
        "current": "the token itself",
        "first": "the first token",
        "cls": "[CLS]",
        "sep": "separators",
        "punctuation": "punctuation",
    },
    "images": {
        "current": "the patch itself",
        "locality": "the patch and those around it",
        "same_row": "its row",
        "same_column": "its column",
        "cls": "[CLS]",
        "to_register": "registers",
        "to_artefact": "artefacts",
    },
    "sounds": {
        "current": "the frame itself",
        "locality_seconds": "what is up to 0.1 s away",
        "after_sound": "the silence after the sound",
    },
}
"""Where a share of attention goes, by measure."""


_Scored = tuple[Head, float]

LEADS = 5
"""As many findings have room beside the picture of the model."""


@dataclass(frozen=True)
class Summary(Section):
    """The section that opens the report: what its figures say.

    Attributes:
        dataset: with the measures.
        values: of each ``[layer head]``.
        low: the lower ends of their intervals, which hold for all heads at once; NaN where there is none.
        chance: of uniform attention ``[layer]``.
        layers, heads: the model's indices.
        sections: those whose findings are told as well.
        kind: of the inputs.
        shown: the sections that are on the page.
        examples: whether there are some on the page.
    """

    dataset: xr.Dataset
    values: Mapping[str, Floats]
    low: Mapping[str, Floats]
    chance: Mapping[str, Floats]
    layers: Sequence[int]
    heads: Sequence[int]
    sections: Sequence[Section] = ()
    kind: Kind = "text"
    shown: Sequence[Any] = ()
    examples: bool = False

    def info(self, blobs: Blobs) -> BlocksSection | None:
        """The section; None where no head has a figure. Of each other section the most telling sentence comes first."""
        opening, others, aside = (
            [_of_section(section) for section in self.sections if (section.opens, section.aside) == place]
            for place in ((True, False), (False, False), (False, True))
        )
        groups = [*opening, self._of_measures(), *others, *aside]
        first = [findings[0] for findings in groups if findings]
        findings = [*first, *(finding for findings in groups for finding in findings[1:])]
        if not findings:
            return None
        items = [
            lead(finding, self.shown, self.dataset, examples=self.examples) for finding in findings[:LEADS]
        ]
        leads: list[Block] = [ItemsBlock(kind="items", items=items)]
        if rest := findings[LEADS:]:
            items = [PicturedItem(picture=[], blocks=[blocks.paragraph(*finding.parts)]) for finding in rest]
            leads.append(
                blocks.folded(plural(len(rest), "more finding"), ItemsBlock(kind="items", items=items))
            )
        marks = {name: heads for section in self.sections for name, heads in section.marks().items()}
        if not marks:
            return blocks.section("summary", "", "", leads)
        there = np.argwhere(np.isfinite(list(self.values.values())).any(axis=0))
        heads = [Head(self.layers[row], self.heads[column]) for row, column in there]
        picture = map_of_marks(heads, marks, out={*marks} - {BROAD})
        return blocks.section("summary", "", "", [ColumnsBlock(kind="beside", columns=[picture, leads])])

    def _of_measures(self) -> list[Finding]:
        covered = {name for section in self.sections for name in section.covered}
        covered |= {"first"} if "cls" in covered else set()  # the same token
        ranked = {name: heads for name, values in self.values.items() if (heads := self._ranked(values))}
        named = _PHRASES[self.kind]
        phrases = {name: phrase for name, phrase in named.items() if name in ranked and name not in covered}
        if "first" in phrases:
            phrases.pop("cls", None)  # the same token
        known = any(np.isfinite(self.low[name]).any() for name in phrases)
        above = {name: self._above_half(name, known=known) for name in phrases}
        noun = description(self.dataset).get("corpus", {}).get("noun", WHAT[self.kind])
        findings = [
            Finding(parts, name, headline)
            for name, parts, headline in far(self.values, self.chance, self.layers, self.heads, noun)
        ]
        findings += [
            Finding(
                _above_half(heads, name, phrases[name], known=known),
                name,
                f"{plural(len(heads), 'head')} look{'s' * (len(heads) == 1)} mostly at {phrases[name]}",
            )
            for name, heads in above.items()
            if heads
        ]
        quiet = {name: ranked[name][0] for name in phrases if not above[name]}
        if quiet:
            none = "No head is known to look" if known else "No head looks"
            headline = f"{none} mostly at {_listed(quiet, phrases)}"
            findings.append(Finding(_quiet(quiet, phrases, known=known), None, headline))
        if "entropy" in ranked:
            broadest = ranked["entropy"][0][0]
            uniform = float(self.chance["entropy"][list(self.layers).index(broadest.layer)])
            broad, sharp = ranked["entropy"][0][0], ranked["entropy"][-1][0]
            headline = f"{broad} looks most broadly, {sharp} most narrowly"
            findings.append(
                Finding(_entropy(ranked["entropy"], uniform), "entropy", "" if broad == sharp else headline)
            )
        return findings

    def _above_half(self, name: str, *, known: bool) -> list[_Scored]:
        """The heads above half: by their intervals, or by their figures where no measure has one."""
        values = self.values[name]
        above = (self.low[name] if known else values) > HALF
        return self._ranked(np.where(above, values, np.nan))

    def _ranked(self, values: Floats) -> list[_Scored]:
        """The heads that have a figure, the largest first."""
        scored = [
            (Head(self.layers[row], self.heads[column]), float(value))
            for (row, column), value in np.ndenumerate(values)
            if np.isfinite(value)
        ]
        return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


def _of_section(section: Section) -> list[Finding]:
    return [
        Finding(parts, section.pictured, "" if place else section.headline())
        for place, parts in enumerate(section.findings())
    ]


def _above_half(above: Sequence[_Scored], name: str, phrase: str, *, known: bool) -> list[Part]:
    verb, their = ("head puts", "its") if len(above) == 1 else ("heads put", "their")
    begin = "" if known else _THESE
    parts = [text(f"{begin}{len(above)} {verb} more than half of {their} attention on {phrase}: ")]
    for position, (head, share) in enumerate(above[:NAMED]):
        parts += [*comma(position), _attending(head, name, phrase, share), text(f" ({percent(share)})")]
    end = ""
    if len(above) > NAMED:
        layers = sorted({head.layer for head, _ in above})
        where = f"in layers {layers[0]} to {layers[-1]}" if len(layers) > 1 else f"all in layer {layers[0]}"
        end = f" and {len(above) - NAMED} more, {where}"
    return [*parts, text(f"{end}.")]


def _listed(names: Iterable[str], phrases: Mapping[str, str]) -> str:
    *most, last = (phrases[name] for name in names)
    return f"{', '.join(most)} or {last}" if most else last


def _quiet(best: Mapping[str, _Scored], phrases: Mapping[str, str], *, known: bool) -> list[Part]:
    listed = _listed(best, phrases)
    none = "No head is known to put" if known else f"{_THESE}no head puts"
    parts = [text(f"{none} more than half of its attention on {listed}; the most here is ")]
    for position, (name, (head, share)) in enumerate(best.items()):
        on = f" on {phrases[name]}" if len(best) > 1 else ""
        parts += [
            *comma(position),
            _attending(head, name, phrases[name], share),
            text(f" ({percent(share)}{on})"),
        ]
    return [*parts, text(".")]


def _attending(head: Head, name: str, phrase: str, share: float) -> Part:
    return head_name(head, because(f"attention on {phrase}", percent(share), measure=name))


def _of_entropy(head: Head, nats: float) -> Part:
    return head_name(head, because("entropy", f"{max(0.0, nats):.2f} nats", measure="entropy"))


def _entropy(ranked: Sequence[_Scored], uniform: float) -> list[Part]:
    (broad, high), (sharp, low) = ranked[0], ranked[-1]
    against = f" of {uniform:.2f} for uniform attention" if np.isfinite(uniform) else ""
    if broad == sharp:
        return sentence("The entropy of ", _of_entropy(broad, high), f" is {high:.2f} nats{against}.")
    return sentence(
        f"Entropies of heads lie between {max(0.0, low):.2f} nats (",
        _of_entropy(sharp, low),
        f") and {high:.2f} (",
        _of_entropy(broad, high),
        f"){against}.",
    )
