"""Gold links of an input: the tokens that they name on each part's axes, and whether a head looks where they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from headscope.core import words as _words
from headscope.core.failures import warn
from headscope.core.link import AnyLinks, End, Link, Named, Side, Unit, as_links, located
from headscope.core.maps import AttentionMaps
from headscope.core.media import Picture
from headscope.core.region import Region
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.views.payload import LinkInfo, OutlineInfo
from headscope.views.sheet import Laid, Sheet

Parts = Mapping[str, AttentionMaps]

_Way = Literal["from", "to"]
_Units = Literal["tokens", "words"]


def of_parts(given: AnyLinks, parts: Parts) -> dict[str, list[LinkInfo]]:
    """Links as the parts of an input show them.

    Args:
        given: what `headscope.core.link.as_links` takes. A matrix is ``[query key]`` of self-attention or, where there
            is one, of cross-attention.
        parts: of the input. In an encoder-decoder text A is what the encoder reads and text B what the decoder reads:
            links within one of them are of its own part, those between the two of ``cross``.

    Returns the links of each part that has some; those of one source and label are one. Links with regions of a picture
    or classes of tokens are of the parts that have these. Warns of pieces that a span divides, and of regions that the
    model does not see. Raises `InputError` that begins with ``links[i]`` for a span that is not on its axis.
    """
    links = _of_matrix(given, parts) if isinstance(given, np.ndarray) else as_links(given)
    by_part: dict[str, dict[tuple[Any, ...], _Gathered]] = {}
    remarks: list[str] = []
    for index, link in enumerate(links):
        place = f"links[{index}]" + (f" ({link.place})" if link.place not in ("", f"links[{index}]") else "")
        try:
            notes = _add(link, parts, by_part)
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
        remarks += [f"{place}: {remark}" for remark in notes]
    if remarks:
        more = f" (and {len(remarks) - 1} more)" if len(remarks) > 1 else ""
        warn(remarks[0] + more, 4)
    for name, gathered in by_part.items():
        _divide(list(gathered.values()), parts[name])
    pictures = _pictures([axis for maps in parts.values() for axis in (maps.query, maps.key)])
    return {
        name: [link.info(parts[name], pictures) for link in gathered.values()]
        for name, gathered in by_part.items()
    }


def _of_matrix(matrix: npt.NDArray[Any], parts: Parts) -> list[Link]:
    maps = next((maps for maps in parts.values() if maps.kind == "cross"), None) or next(iter(parts.values()))
    links = as_links(matrix)
    shape = len(maps.query), len(maps.key)
    if matrix.shape != shape:
        raise InputError(f"links: expected a matrix [query key] of {shape}, found {matrix.shape}")
    if maps.kind != "cross":
        return links
    return [
        Link(source._replace(text="b"), link.targets, link.label, unit=link.unit, place=link.place)
        for link in links
        for source in link.spans[:1]
    ]


class _Gathered:
    """What all links of one source and label say of a part; `divides`: its spans are of characters."""

    def __init__(self, label: str, way: _Way, source: list[int], units: _Units, divides: bool) -> None:
        self.label, self.source, self.divides = label, source, divides
        self.way: _Way = way
        self.units: _Units = units
        self.targets: dict[tuple[int, ...], None] = {}
        self.candidates: dict[tuple[int, ...], None] | None = None
        self.regions: dict[tuple[Region, bool], None] = {}  # each with whether it is the source

    def info(self, maps: AttentionMaps, pictures: Sequence[Laid]) -> LinkInfo:
        """The link as it travels. What a mask hides from the source may see it: it is then drawn the other way."""
        targets = sorted({place for group in self.targets for place in group})
        hides = maps.kind != "cross" and not _seen(maps, self.source, targets)
        turned = hides and _seen(maps, targets, self.source)
        side: _Way = "to" if turned else self.way
        other: _Way = "from" if side == "to" else "to"
        info = LinkInfo(
            label=self.label,
            side=side,
            source=self.source,
            targets=[list(group) for group in self.targets],
            candidates=None if self.candidates is None else [list(group) for group in self.candidates],
            units=self.units,
        )
        if self.regions:
            info["outlines"] = [
                OutlineInfo(
                    side=side if of_source else other,
                    points=pictures[region.picture - 1].on_sheet(np.array(points)).tolist(),
                )
                for region, of_source in self.regions
                for points in region.outlines()
            ]
        return info


def _divide(links: Sequence[_Gathered], maps: AttentionMaps) -> None:
    """Where spans of characters begin or end within a word, its parts are what a head chooses among, not the word."""
    edges: tuple[set[int], set[int]] = (set(), set())
    if maps.kind != "cross":
        edges = (edges[0], edges[0])
    for link in links:
        side = link.way == "to"
        others = [*link.targets, *(link.candidates or ())]
        for group, axis in ((link.source, side), *((other, not side) for other in others)):
            edges[axis].update((group[0], group[-1] + 1) if link.divides else ())
    for link in links:
        key = link.way == "from"
        axis = maps.key if key else maps.query
        units = _units(axis, "words", sorted(edges[key]))
        if link.divides and link.candidates is None and units != _units(axis, "words"):
            link.candidates = dict.fromkeys(map(tuple, units))


def _seen(maps: AttentionMaps, queries: Sequence[int], keys: Sequence[int]) -> bool:
    """Whether one of the queries can see one of the keys, in any layer and head."""
    layers = range(1 if maps.visible is None else len(maps))
    return any(bool(maps.sight(place)[:, queries][:, :, keys].any()) for place in layers)


def _add(link: Link, parts: Parts, by_part: dict[str, dict[tuple[Any, ...], _Gathered]]) -> list[str]:
    """Add a link to the parts that it is of; returns what is to be said of its spans."""
    remarks: list[str] = []
    taken = False
    to_picture = link.to_picture
    for name, maps in parts.items():
        sides = _sides(name, maps, parts, link)
        if link.source.text not in sides:
            continue
        from_query = maps.kind != "cross" or link.source.text == "b"
        source_axis = maps.query if from_query else maps.key
        axis = maps.key if from_query else maps.query
        others: tuple[Side, ...] = ("a" if from_query else "b",) if maps.kind == "cross" else tuple(sides)
        targets = [span for span in (*link.targets, *link.possible) if span.text in others]
        if not targets and (link.targets or link.possible or maps.kind == "cross"):
            continue
        taken = True
        alone = maps.kind == "cross" or len(sides) == 1
        tokens = partial(_tokens, alone=alone, remarks=remarks)
        unit = link.target_unit or link.unit
        source = tokens(link.source, source_axis, link.unit)
        groups: dict[End, tuple[int, ...]] = {span: tokens(span, axis, unit) for span in targets}
        right = {span: group for span, group in groups.items() if group}
        if not source or (targets and not right):  # of regions that the model does not see
            continue
        way: _Way = "from" if from_query else "to"
        units: _Units = "tokens" if to_picture or unit in ("tokens", "cells") else "words"
        gathered = by_part.setdefault(name, {}).setdefault(
            (way, source, link.label, units, to_picture),
            _Gathered(link.label, way, list(source), units, unit == "characters" and not to_picture),
        )
        gathered.targets |= dict.fromkeys(right.values())
        ends = [(link.source, True), *((span, False) for span in right)]
        gathered.regions |= {(end, of_source): None for end, of_source in ends if isinstance(end, Region)}
        if link.candidates is not None:
            listed = [tokens(span, axis, unit) for span in link.candidates if span.text in others]
            gathered.candidates = (gathered.candidates or {}) | dict.fromkeys(filter(None, listed))
        elif to_picture:
            gathered.candidates = {(place,): None for place in np.flatnonzero(axis.mask("patch")).tolist()}
    if not taken:
        if len(link.spans) < len(link.ends):
            raise InputError(f"expected ends that one part has, found others in {', '.join(parts)}")
        texts = sorted({span.text for span in (link.source, *link.targets, *link.possible)})
        raise InputError(
            f"expected spans of texts that one part shows, found {' and '.join(texts)} in {', '.join(parts)}"
        )
    return list(dict.fromkeys(remarks))


def _tokens(span: End, axis: Tokens, unit: Unit, *, alone: bool, remarks: list[str]) -> tuple[int, ...]:
    """The places of an end of a link; adds to `said` what is to be said of it."""
    second = axis.sequence_ids is not None and bool((axis.sequence_ids == 1).any())
    if span.text == "b" and not alone and not second:
        raise InputError("expected an input with a text B, found one text")
    places, remark = located(span, unit, axis, sequence=None if alone else "ab".index(span.text))
    remarks.extend([remark] if remark else [])
    return tuple(places.tolist())


def _sides(name: str, maps: AttentionMaps, parts: Parts, link: Link) -> Sequence[Side]:
    """The texts of a link that a part is of; none where it has not got its regions and classes of tokens."""
    if len(parts) > 1 and not all(_has(maps, end, parts) for end in link.ends):
        return ()
    if maps.kind == "cross":
        return ("a", "b")
    if maps.kind == "encoder":
        return ("a",)
    if any(other.kind in ("cross", "encoder") for other in parts.values()):
        return ("b",)
    reads = [other for other in parts.values() if other.query.ids is not None] or list(parts.values())
    if link.spans and maps is not reads[0]:
        return ()  # a second tower
    return ("a", "b")


def _has(maps: AttentionMaps, end: End, parts: Parts) -> bool:
    """Whether one of the axes of some maps has a class of tokens; or regions, of all pictures of the input."""
    axes = (maps.query, maps.key)
    if isinstance(end, Region):
        seen = _pictures(axes)
        every = _pictures([axis for other in parts.values() for axis in (other.query, other.key)])
        return 0 < len(seen) == len(every)
    return not isinstance(end, Named) or any(end.name in axis.named for axis in axes)


def _pictures(axes: Sequence[Tokens]) -> list[Laid]:
    return [one for one in Sheet(axes).laid if isinstance(one.medium, Picture)]


def _units(tokens: Tokens, units: _Units, edges: Sequence[int] = ()) -> list[list[int]]:
    """Each token, or the tokens of each word, which is divided before `edges`; special ones are none."""
    if units == "tokens":
        return [[place] for place in range(len(tokens))]
    special = tokens.special
    number = np.arange(len(tokens)) if tokens.word_ids is None else _words.group(tokens)
    starts = np.diff(number, prepend=-1) != 0
    starts[[edge for edge in edges if edge < len(tokens)]] = True
    number = np.cumsum(starts)
    groups: dict[int, list[int]] = {}
    for place in np.flatnonzero(~special).tolist():
        groups.setdefault(int(number[place]), []).append(place)
    return list(groups.values())
