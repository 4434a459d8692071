"""Links of an input as questions to its maps: among which candidates a head chooses for each source, which is right."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from headscope.analyses.links.axis import LinkAxis
from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.link import OUT_OF_SIGHT, Link, Region, Side, Span, Unit
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora import Example
from headscope.errors import InputError

Direction = Literal["row", "column"]
"""Where a head's choice is read: in the source's row (what it looks at most) or its column (what looks at it most)."""

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

Candidates = Literal["any", "earlier", "later", "other", "listed", "earlier listed"]
"""Among what a head chooses: any other unit of the input; those before the source, or after it; those of the other
text; those that the link lists, or which of them are before the source. Units are patches where targets are regions of
a picture, else words or tokens."""

ALL = "all"
"""The name of the row over all labels, and of no label."""

_NONE = -1


class Way(NamedTuple):
    """One way in which a head chooses."""

    name: str
    direction: Direction
    candidates: Candidates


def directions_of(ways: Sequence[Way]) -> list[Direction]:
    """The directions of some ways."""
    return [direction for direction in DIRECTIONS if any(way.direction == direction for way in ways)]


@dataclass(frozen=True)
class ReadDirection:
    """What is read in one direction.

    Attributes:
        source: the unit of each source, −1 where it is not on this side.
        target: which units are right, ``[source unit]``, none that the source is a part of; `sure`: which of them must
            be found.
        allowed: by candidates, which units a head may choose, ``[source unit]``.
        heard: the same for rules that look at no attention: what a causal model hides counts as well.
        patches: of links to regions of a picture all its patches but the source's own, ``[source unit]``, and
            `within`: those in the regions.
    """

    source: Ints
    target: Bools
    sure: Bools
    allowed: dict[Candidates, Bools]
    heard: dict[Candidates, Bools]
    patches: Bools
    within: Bools


@dataclass(frozen=True)
class Question:
    """What is asked of an input.

    Attributes:
        query, key: the axes of its maps; one and the same in self-attention.
        labels: of each source.
        aligned: whether all words of the linked texts are asked for, for the alignment error rate.
        bare: those of them that no link names.
        idle: sources without a candidate in any way, which ask nothing.
        read: by direction.
        notes: what is to be said of links, by its kind: ``remarks`` of spans; regions that the model does not see,
            which are left out (``unseen``); sources that are ``idle``.
    """

    query: LinkAxis
    key: LinkAxis
    labels: Sequence[str]
    aligned: bool
    bare: Bools
    idle: Bools
    read: dict[Direction, ReadDirection] = field(default_factory=dict[Direction, ReadDirection])
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    @property
    def crossed(self) -> bool:
        """Whether queries and keys are of different texts."""
        return self.query is not self.key

    @property
    def sure(self) -> Question:
        """The same, of which only what must be found is right."""
        read = {name: dataclasses.replace(read, target=read.sure) for name, read in self.read.items()}
        return dataclasses.replace(self, read=read)


@dataclass(frozen=True, kw_only=True)
class AskedExample(Example):
    """An input with its question.

    Attributes:
        number: its place in the run, from 0.
        question: what is asked.
        decoder: what an encoder-decoder's decoder reads.
        ready: what the module takes, where that is more than tokens: speech.
    """

    number: int
    question: Question
    decoder: Tokens | None = None
    ready: AnyMapping | None = None

    @classmethod
    def of(cls, example: Example, number: int, question: Question, **more: Any) -> AskedExample:
        """An example with its question; `more` are other attributes."""
        attributes: AnyDict = {**vars(example), **more, "number": number, "question": question}
        return cls(**attributes)


def question(
    links: Sequence[Link],
    ways: Sequence[Way],
    key: Tokens,
    query: Tokens | None = None,
    *,
    causal: bool = False,
    aligned: bool = False,
) -> Question:
    """What some links of an input ask.

    Args:
        links: of the input.
        ways: in which heads choose.
        key: the tokens of the input, or those of an encoder.
        query: those of the decoder, where links are of cross-attention.
        causal: whether a query sees only what stands before it.
        aligned: where all links are of words of one text and those of the other, ask as well for the words that no
            link names.

    Raises `InputError` that begins with the link's place.
    """
    crossed = query is not None
    units = _units(links, key, query)
    if not crossed and len(set(units.values())) > 1:
        raise InputError(
            f"expected spans of one unit in an input, found {' and '.join(sorted(set(units.values())))}"
        )
    aligned = aligned and set(units.values()) == {"words"} and bool(links) and all(map(_between, links))
    keys = queries = _axis(links, key, units["a"], None if query is None else "a")
    if query is not None:
        queries = _axis(links, query, units["b"], "b")
    links, unseen = _in_sight(links, keys)
    if aligned:
        links = [*links, *_bare(links, keys, queries)]
    directions = directions_of(ways)
    sides: dict[Direction, _LinkSide]
    if crossed:
        ends: dict[Direction, tuple[LinkAxis, LinkAxis, Side]] = {
            "row": (queries, keys, "b"),
            "column": (keys, queries, "a"),
        }
        sides = {
            direction: _LinkSide(*ends[direction][:2], len(links), only=ends[direction][2])
            for direction in directions
        }
    else:  # in both directions sources and targets are the same
        sides = dict.fromkeys(directions, _LinkSide(keys, keys, len(links)))
    listed = any("listed" in way.candidates for way in ways)
    for number, link in enumerate(links):
        try:
            if link.label == ALL:
                raise InputError(f"expected another label than {ALL!r}, which names the row over all labels")
            for side in dict.fromkeys(sides.values()):
                side.add(number, link, listed)
        except InputError as error:
            raise InputError(f"{link.place}: {error}" if link.place else str(error)) from None
    read: dict[Direction, ReadDirection] = {}
    made: dict[Any, ReadDirection] = {}  # of both directions one, where it is the same
    for direction, side in sides.items():
        kinds: tuple[Candidates, ...] = (*(way.candidates for way in ways if way.direction == direction),)
        sees = direction if causal and not crossed else None
        read[direction] = made.get((side, kinds, sees)) or side.read(kinds, sees)
        made[side, kinds, sees] = read[direction]
    bare = np.array([link.place == _BARE for link in links], np.bool_)
    divided = {**keys.remarks, **queries.remarks}
    remarks = [
        f"{link.place}: {divided[span]}"
        for link in links
        if divided
        for span in link.spans
        if span in divided
    ]
    idle = ~np.any([read[way.direction].allowed[way.candidates].any(1) for way in ways], 0)
    notes = {
        "remarks": remarks,
        "unseen": unseen,
        "idle": [links[place].place for place in np.flatnonzero(idle & ~bare).tolist()],
    }
    return Question(queries, keys, [link.label for link in links], aligned, bare, idle, read, notes)


def _axis(links: Sequence[Link], tokens: Tokens, unit: Unit, only: Side | None) -> LinkAxis:
    """The axis of the ends that some links have in one text, or of all."""
    ends = [end for link in links for end in link.ends if only in (None, end.text)]
    try:
        return LinkAxis(tokens, unit, ends, alone=only is not None)
    except InputError as error:
        for link in links:  # the first that is not on it
            try:
                LinkAxis(
                    tokens,
                    unit,
                    [end for end in link.ends if only in (None, end.text)],
                    alone=only is not None,
                )
            except InputError as of_link:
                raise InputError(f"{link.place}: {of_link}" if link.place else str(of_link)) from None
        raise error


def _in_sight(links: Sequence[Link], axis: LinkAxis) -> tuple[list[Link], list[str]]:
    """Links without the regions of which the model sees nothing, and what is to be said of these.

    A link goes with its source, and with the last of its targets.
    """
    hidden = {end for end, remark in axis.remarks.items() if remark == OUT_OF_SIGHT}
    if not hidden:
        return list(links), []
    kept: list[Link] = []
    notes: list[str] = []
    for link in links:
        lost = [end for end in dict.fromkeys(link.ends) if end in hidden]
        notes += [f"{link.place}: {end}" for end in lost]
        targets, possible, candidates = (
            tuple(end for end in ends if end not in hidden)
            for ends in (link.targets, link.possible, link.candidates or ())
        )
        gone = not targets and not possible and (link.targets or link.possible)
        if link.source not in hidden and not gone:
            among = None if link.candidates is None else candidates
            kept.append(dataclasses.replace(link, targets=targets, possible=possible, candidates=among))
    return kept, notes


def _units(links: Sequence[Link], key: Tokens, query: Tokens | None) -> dict[Side, Unit]:
    """What the numbers of spans count in each text: where there are none, words if the text has any, else tokens.

    Raises `InputError` where links do not agree.
    """
    units: dict[Side, Unit] = {}
    for link in links:
        for span in link.spans:
            unit: Unit = link.unit if span is link.source else link.target_unit or link.unit
            if units.setdefault(span.text, unit) != unit:
                raise InputError(
                    f"{link.place}: expected {units[span.text]} as in the links before, found {unit}"
                )
    if query is None and units:
        return {"a": units.get("a", units.get("b", "words")), "b": units.get("b", units.get("a", "words"))}
    for text, tokens in zip(get_args(Side), (key, query or key), strict=True):
        units.setdefault(text, "tokens" if tokens.word_ids is None else "words")
    return units


_BARE = "\0bare"


def _between(link: Link) -> bool:
    return len(link.spans) == len(link.ends) and all(
        span.text != link.source.text for span in (*link.targets, *link.possible)
    )


def _bare(links: Sequence[Link], keys: LinkAxis, queries: LinkAxis) -> list[Link]:
    """For each label, a link without a target for each unit of its sources' text that has none."""
    more: list[Link] = []
    for label in dict.fromkeys(link.label for link in links):
        group = [link for link in links if link.label == label]
        side = group[0].source.text
        axis = queries if side == "b" else keys
        units = [
            number for number in range(axis.size) if keys is not queries or axis.text[number] == (side == "b")
        ]
        begin = units[0] if units else 0
        named = {
            begin + place
            for link in group
            if isinstance(link.source, Span)
            for place in range(link.source.start, link.source.end)
        }
        more += [
            Link(Span(unit - begin, unit - begin + 1, side), (), label, unit=group[0].unit, place=_BARE)
            for unit in units
            if unit not in named
        ]
    return more


class _LinkSide:
    """Sources on one axis and their targets on another, as they are gathered."""

    def __init__(self, sources: LinkAxis, targets: LinkAxis, count: int, only: Side | None = None) -> None:
        self._sources, self._targets, self._only = sources, targets, only
        self._source = [_NONE] * count
        self._pairs: list[tuple[int, int]] = []
        self._sure: list[tuple[int, int]] = []
        self._listed: list[tuple[int, int]] = []
        self._within: list[tuple[int, int]] = []
        self._pictured = np.zeros(count, np.bool_)

    def add(self, number: int, link: Link, listed: bool) -> None:
        """The link of this number, where its source is of this side's text."""
        if self._only not in (None, link.source.text):
            return
        axis = self._targets
        self._source[number] = self._sources.one(self._sources.units(link.source))
        sure = [unit for span in link.targets for unit in axis.units(span)]
        also = [unit for span in link.possible for unit in axis.units(span)]
        self._pictured[number] = link.to_picture
        if link.to_picture:
            self._within += [(number, unit) for unit in (*sure, *also)]
        if listed:
            if link.candidates is None:
                raise InputError("expected a list of candidates, found none")
            right, must = {*sure, *also}, set(sure)
            sure, also = list[int](), list[int]()
            for span in link.candidates:
                units = axis.units(span)
                one = axis.one(units)
                self._listed.append((number, one))
                if isinstance(span, Region):  # one may be within another
                    is_right, is_sure = span in (*link.targets, *link.possible), span in link.targets
                else:
                    is_right, is_sure = right.issuperset(units), must.issuperset(units)
                if is_right:
                    (sure if is_sure else also).append(one)
            if right and not sure and not also:
                raise InputError("expected a target among the candidates listed, found none")
        self._sure += [(number, unit) for unit in sure]
        self._pairs += [(number, unit) for unit in (*sure, *also)]

    def read(self, candidates: Sequence[Candidates], sees: Direction | None) -> ReadDirection:
        """All of it as arrays, of what is visible in this direction of a causal model, or of all."""
        axis, sources = self._targets, self._sources
        count = len(axis.groups)
        source = np.array(self._source, np.int64)
        there = source != _NONE
        first, last = np.array(axis.first), np.array(axis.last)
        low, high = np.array(sources.first)[source][:, None], np.array(sources.last)[source][:, None]
        same, pictures = axis is sources, axis.patch.any()
        if not same:
            apart = np.ones((len(source), count), np.bool_)
        elif not pictures:
            apart = (first > high) | (last < low)
        else:  # a region is no stretch of the axis
            members = axis.members().astype(np.float32)
            apart = members[source] @ members.T == 0
        among = np.ones((len(source), axis.size), np.bool_)
        if axis.unit not in ("tokens", "cells"):
            among = among & ~axis.patch & ~axis.aside
        among = np.where(self._pictured[:, None], axis.patch, among)
        base = self._wide(among, count)
        seen = np.ones((1, count), np.bool_)
        if sees is not None:
            seen = first <= high if sees == "row" else last >= low
        allowed: dict[Candidates, Bools] = {}
        heard: dict[Candidates, Bools] = {}
        for kind in dict.fromkeys(candidates):
            if not same and kind in ("earlier", "later"):
                raise InputError(f"candidates: expected any, other or listed between two texts, found {kind}")
            if kind == "other" and same and not axis.text.any():
                raise InputError(
                    "candidates: expected a text B whose words are the other ones, found text A alone"
                )
            which = self._filled(self._listed, count) if "listed" in kind else base
            if "earlier" in kind:
                which = which & (last < low)
            elif kind == "later":
                which = which & (first > high)
            elif kind == "other" and same:
                which = which & (axis.text[first] != sources.text[low])
            heard[kind] = which & apart & there[:, None]
            allowed[kind] = heard[kind] & seen
        patches = self._wide(self._pictured[:, None] & axis.patch, count) & apart & there[:, None]
        within = self._filled(self._within, count) & patches
        target, sure = (self._filled(pairs, count) & apart for pairs in (self._pairs, self._sure))
        return ReadDirection(source, target, sure, allowed, heard, patches, within)

    @staticmethod
    def _wide(units: Bools, count: int) -> Bools:
        """Own units ``[source own]``, and after them no others, ``[source unit]``."""
        return np.pad(units, ((0, 0), (0, count - units.shape[1])))

    def _filled(self, pairs: Sequence[tuple[int, int]], count: int) -> Bools:
        filled = np.zeros((len(self._source), count), np.bool_)
        if pairs:
            rows, columns = zip(*pairs, strict=True)
            filled[list(rows), list(columns)] = True
        return filled


def offsets_of(question: Question, offsets: Sequence[int]) -> Bools:
    """Whether the unit at each offset from the source is right, ``[offset source]``; never between unlike units.

    Between two texts that is an offset from the source's place in its own text.
    """
    right = np.zeros((len(offsets), len(question.labels)), np.bool_)
    if question.query.unit != question.key.unit:
        return right
    for read, axis, sources in _sides(question):
        begin, first, size, _ = _stretches(read, axis, sources)
        places = np.array(sources.first)[read.source] - begin + np.array(offsets, np.int64)[:, None]
        inside = (places >= 0) & (places < size) & (read.source >= 0)
        right |= inside & read.target[np.arange(len(read.source)), np.where(inside, first + places, 0)]
    return right


def nearest(question: Question) -> Bools:
    """Whether the nearest candidate is right (of two the one before), and that with the same string, ``[2 source]``.

    Between two texts that is the one nearest to the source's share of its own.
    """
    right = np.zeros((2, len(question.labels)), np.bool_)
    for read, axis, sources in _sides(question):
        which = next(iter(read.heard.values()))
        if not which.size:
            continue
        codes = {string: code for code, string in enumerate(dict.fromkeys((*sources.strings, *axis.strings)))}
        strings, others = (np.array([codes[string] for string in side.strings]) for side in (sources, axis))
        begin, first, size, total = (array[:, None] for array in _stretches(read, axis, sources))
        places, base = np.array(axis.first) - first, np.array(sources.first)[read.source][:, None] - begin
        which = which & (places >= 0) & (places < size)
        alike = which & (strings[read.source][:, None] == others)
        apart = places + 0.5 - (base + 0.5) * (size / total)
        far = np.abs(apart) - 1e-6 * (apart < 0)
        rows = np.arange(right.shape[1])
        for rule, candidates in enumerate((which, alike)):
            best = np.where(candidates, far, np.inf).argmin(1)
            right[rule] |= candidates[rows, best] & read.target[rows, best]
    return right


def _stretches(read: ReadDirection, axis: LinkAxis, sources: LinkAxis) -> Ints:
    """Where places are counted from, ``[4 source]``: the first unit on the source's axis and on that of its targets,
    and how many units there are on the latter and on the former.

    Both axes are taken whole, but of one that holds two texts, for a source whose targets are all in the other text,
    each text by itself.
    """
    stretches = np.repeat([[0], [0], [axis.size], [sources.size]], len(read.source), 1)
    if axis is not sources:
        return stretches
    side = sources.side[np.array(sources.first)[read.source]]
    others = (read.target & (axis.side[axis.first] != (1 - side)[:, None])).any(1)
    across = (side >= 0) & read.target.any(1) & ~others
    mine, other = (axis.stretches[text[across]].T for text in (side, 1 - side))
    stretches[:, across] = mine[0], other[0], other[1], mine[1]
    return stretches


def central(question: Question) -> Bools:
    """Whether the candidate nearest to the middle of the picture is right, ``[source]``."""
    return _extreme(question, lambda axis: -axis.off_centre())


def largest(question: Question) -> Bools:
    """Whether the candidate of most tokens is right, ``[source]``."""
    return _extreme(question, lambda axis: np.array([len(group) for group in axis.groups], np.float64))


def _extreme(question: Question, score: Callable[[LinkAxis], Floats]) -> Bools:
    """Whether the region with the largest score is right, ``[source]``; of other links never."""
    right = np.zeros(len(question.labels), np.bool_)
    for read, axis, _ in _sides(question):
        if not axis.patch.any():
            continue
        which: Bools = next(iter(read.heard.values())) & read.patches.any(1, keepdims=True)
        best = np.where(which, score(axis), -np.inf).argmax(1)
        rows = np.arange(len(right))
        right |= which[rows, best] & read.target[rows, best]
    return right


def by_chance(question: Question, ways: Sequence[Way]) -> Floats:
    """How many of the candidates are right, as a share: that of the way where it is largest, ``[source]``."""
    shares = np.zeros(len(question.labels))
    for way in ways:
        read = question.read[way.direction]
        allowed = read.allowed[way.candidates]
        shares = np.maximum(shares, (allowed & read.target).sum(1) / np.maximum(1, allowed.sum(1)))
    return shares


def _sides(question: Question) -> list[tuple[ReadDirection, LinkAxis, LinkAxis]]:
    """What is read, the targets' axis and the sources': once where both directions say the same."""
    sides = [
        (read, *((question.key, question.query) if direction == "row" else (question.query, question.key)))
        for direction, read in question.read.items()
    ]
    return sides if question.crossed else sides[:1]
