"""Links of an input as questions to its maps: among which candidates a head chooses for each source, which are right.

An axis is cut into units: the words given, the tokens, or, where spans are of characters, the words of the text, parted
where a span begins or ends within one. A span of several units is one more unit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from headscope.corpora import Example
from headscope.errors import InputError
from headscope.link import Link, Side, Span, Unit, located
from headscope.measures.measure import Floats
from headscope.tokens import BoolArray, IntArray, Tokens, strip_markers

Direction = Literal["row", "column"]
"""Where a head's choice is read: in the source's row (what it looks at most) or its column (what looks at it most)."""

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

Candidates = Literal["any", "earlier", "later", "other", "listed", "earlier listed"]
"""Among what a head chooses: any other unit of the input; those before the source, or after it; those of the other
text; those that the link lists, or which of them are before the source."""

_NONE = -1


class Way(NamedTuple):
    """One way in which a head chooses."""

    name: str
    direction: Direction
    candidates: Candidates


def directions_of(ways: Sequence[Way]) -> list[Direction]:
    """The directions of some ways."""
    return [direction for direction in DIRECTIONS if any(way.direction == direction for way in ways)]


class Axis:
    """The units of an axis.

    Attributes:
        tokens: of the axis.
        groups: the tokens of each unit.
        first, last: of each unit, the first and the last of the axis' own units that it has.
        text: 0 or 1 of each of the axis' own units, for text A or B.
    """

    def __init__(self, tokens: Tokens, unit: Unit, spans: Sequence[Span], *, alone: bool) -> None:
        """The axis' own units.

        Args:
            tokens: of the axis.
            unit: what the numbers of spans count.
            spans: all that are on this axis.
            alone: whether the axis holds one text only, whichever it is.
        """
        self.tokens, self._alone = tokens, alone
        self.unit: Unit = unit
        self.remarks: dict[Span, str] = {}
        self._known: dict[Span, IntArray] = {}
        self._extra: dict[tuple[int, ...], int] = {}
        sequence = tokens.sequence_ids
        if unit in ("tokens", "cells"):
            self.groups = [np.array([place]) for place in range(len(tokens))]
            sides = np.zeros(len(tokens), np.int64) if sequence is None or alone else np.maximum(sequence, 0)
            self._starts = (0, 0)
        elif unit == "words":
            self.groups, self._starts = _words(tokens, alone)
            sides = np.zeros(len(self.groups), np.int64)
            sides[self._starts[1] :] = 1
        else:
            found = {span: self._located(span) for span in dict.fromkeys(spans)}
            self.groups = _parted(tokens, list(found.values()))
            of_token = np.full(len(tokens), _NONE)
            for number, group in enumerate(self.groups):
                of_token[group] = number
            self._known = {span: np.unique(of_token[group]) for span, group in found.items()}
            sides = np.zeros(len(self.groups), np.int64)
            if sequence is not None and not alone:
                sides = np.array([int(sequence[group[0]]) for group in self.groups], np.int64)
        self.own = len(self.groups)
        self.first = list(range(self.own))
        self.last = list(range(self.own))
        self.text = sides

    def _located(self, span: Span) -> IntArray:
        sequence = None if self._alone else ("a", "b").index(span.text)
        found, remark = located(span, self.unit, self.tokens, sequence=sequence)
        if remark:
            self.remarks[span] = remark
        return found

    def units(self, span: Span) -> Sequence[int]:
        """The axis' own units of a span. Raises `InputError` for one that is not on the axis."""
        if self.unit == "characters":
            return self._known[span].tolist()
        start = 0 if self._alone else self._starts[span.text == "b"]
        end = self.own if self._alone or span.text == "b" else self._starts[1] or self.own
        if start + span.end > end:
            raise InputError(f"expected {self.unit} up to {end - start}, found {span.start} to {span.end}")
        return range(start + span.start, start + span.end)

    def one(self, units: Sequence[int]) -> int:
        """The unit that is all of some units."""
        if len(units) == 1:
            return units[0]
        key = tuple(units)
        if key not in self._extra:
            self._extra[key] = len(self.groups)
            self.groups.append(np.concatenate([self.groups[unit] for unit in units]))
            self.first.append(min(units))
            self.last.append(max(units))
        return self._extra[key]

    @cached_property
    def strings(self) -> list[str]:
        """What each of the axis' units says, in lower case."""
        return [
            "".join(strip_markers(self.tokens.pieces[int(token)]) for token in group).lower()
            for group in self.groups
        ]


def _words(tokens: Tokens, alone: bool) -> tuple[list[IntArray], tuple[int, int]]:
    """The tokens of each word, of both texts one after another, and where those of each text begin."""
    if tokens.word_ids is None:
        raise InputError("expected a tokenizer that tells words from pieces, found none")
    groups: list[IntArray] = []
    starts = [0]
    sequence = tokens.sequence_ids
    second = sequence is not None and not alone and bool((sequence == 1).any())
    for side in (0, 1) if second else (0,):
        own = tokens.word_ids >= 0
        if second:
            assert sequence is not None
            own = own & (sequence == side)
        places = np.flatnonzero(own)
        words = tokens.word_ids[places]
        count = int(words.max(initial=-1)) + 1
        ends = np.searchsorted(words, np.arange(count + 1)) if (np.diff(words) >= 0).all() else None
        groups += (
            [places[ends[word] : ends[word + 1]] for word in range(count)]
            if ends is not None
            else [places[words == word] for word in range(count)]
        )
        starts.append(len(groups))
    return groups, (0, starts[1])


def _parted(tokens: Tokens, spans: Sequence[IntArray]) -> list[IntArray]:
    """The words of a text, parted where spans begin or end within one; special tokens are none."""
    words = np.arange(len(tokens)) if tokens.word_ids is None else tokens.word_ids
    sequence = np.zeros(len(tokens), np.int64) if tokens.sequence_ids is None else tokens.sequence_ids
    special = np.zeros(len(tokens), np.bool_) if tokens.special_mask is None else tokens.special_mask
    parts = np.zeros(len(tokens) + 1, np.bool_)
    parts[1:-1] = (words[1:] != words[:-1]) | (sequence[1:] != sequence[:-1]) | special[1:] | special[:-1]
    for span in spans:
        parts[[span[0], span[-1] + 1]] = True
    parts[[0, -1]] = True
    ends = np.flatnonzero(parts)
    return [np.arange(start, end) for start, end in pairwise(ends.tolist()) if not special[start]]


@dataclass(frozen=True)
class Read:
    """What is read in one direction.

    Attributes:
        source: the unit of each source, −1 where it is not on this side.
        target: which units are right, ``[source unit]``; `sure`: which of them must be found.
        allowed: by candidates, which units a head may choose, ``[source unit]``.
        heard: the same for rules that look at no attention: what a causal model hides counts as well.
    """

    source: IntArray
    target: BoolArray
    sure: BoolArray
    allowed: dict[Candidates, BoolArray]
    heard: dict[Candidates, BoolArray]


@dataclass(frozen=True)
class Question:
    """What is asked of an input.

    Attributes:
        query, key: the axes of its maps; one and the same in self-attention.
        labels: of each source.
        aligned: whether all words of the linked texts are asked for, for the alignment error rate.
        bare: those of them that no link names.
        read: by direction.
        remarks: what is to be said of spans, each with its link.
    """

    query: Axis
    key: Axis
    labels: Sequence[str]
    aligned: bool
    bare: BoolArray
    read: dict[Direction, Read] = field(default_factory=dict[Direction, Read])
    remarks: Sequence[str] = ()

    @property
    def crossed(self) -> bool:
        """Whether queries and keys are of different texts."""
        return self.query is not self.key


@dataclass(frozen=True, kw_only=True)
class Asked(Example):
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
    ready: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, example: Example, number: int, question: Question, **more: Any) -> Asked:
        """An example with its question; `more` are other attributes."""
        known = {each.name: getattr(example, each.name) for each in dataclasses.fields(Example)}
        return cls(**{**known, **more}, number=number, question=question)


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
    units = _units(links)
    if not crossed and len(set(units.values())) > 1:
        raise InputError(
            f"expected spans of one unit in an input, found {' and '.join(sorted(set(units.values())))}"
        )
    aligned = aligned and set(units.values()) == {"words"} and bool(links) and all(map(_between, links))
    spans = [span for link in links for span in link.spans]
    keys = Axis(key, units["a"], [span for span in spans if not crossed or span.text == "a"], alone=crossed)
    queries = (
        keys
        if query is None
        else Axis(query, units["b"], [span for span in spans if span.text == "b"], alone=True)
    )
    if aligned:
        links = [*links, *_bare(links, keys, queries)]
    directions = directions_of(ways)
    sides: dict[Direction, _Side]
    if crossed:
        ends: dict[Direction, tuple[Axis, Axis, Side]] = {
            "row": (queries, keys, "b"),
            "column": (keys, queries, "a"),
        }
        sides = {each: _Side(*ends[each][:2], len(links), only=ends[each][2]) for each in directions}
    else:  # in both directions sources and targets are the same
        sides = dict.fromkeys(directions, _Side(keys, keys, len(links)))
    listed = any("listed" in way.candidates for way in ways)
    for number, link in enumerate(links):
        try:
            for side in dict.fromkeys(sides.values()):
                side.add(number, link, listed)
        except InputError as error:
            raise InputError(f"{link.place}: {error}" if link.place else str(error)) from None
    read: dict[Direction, Read] = {}
    made: dict[Any, Read] = {}  # of both directions one, where it is the same
    for each, side in sides.items():
        kinds: tuple[Candidates, ...] = (*(way.candidates for way in ways if way.direction == each),)
        sees = each if causal and not crossed else None
        read[each] = made.get((side, kinds, sees)) or side.read(kinds, sees)
        made[side, kinds, sees] = read[each]
    bare = np.array([link.place == _BARE for link in links], np.bool_)
    divided = {**keys.remarks, **queries.remarks}
    remarks = [
        f"{link.place}: {divided[span]}"
        for link in links
        if divided
        for span in link.spans
        if span in divided
    ]
    return Question(queries, keys, [link.label for link in links], aligned, bare, read, remarks)


def _units(links: Sequence[Link]) -> dict[Side, Unit]:
    """What the numbers of spans count in each text. Raises `InputError` where links do not agree."""
    units: dict[Side, Unit] = {}
    for link in links:
        for span in link.spans:
            unit: Unit = link.unit if span is link.source else link.target_unit or link.unit
            if units.setdefault(span.text, unit) != unit:
                raise InputError(
                    f"{link.place}: expected {units[span.text]} as in the links before, found {unit}"
                )
    return {"a": units.get("a", units.get("b", "words")), "b": units.get("b", units.get("a", "words"))}


_BARE = "\0bare"


def _between(link: Link) -> bool:
    return all(span.text != link.source.text for span in (*link.targets, *link.possible))


def _bare(links: Sequence[Link], keys: Axis, queries: Axis) -> list[Link]:
    """For each label, a link without a target for each unit of its sources' text that has none."""
    more: list[Link] = []
    for label in dict.fromkeys(link.label for link in links):
        own = [link for link in links if link.label == label]
        side = own[0].source.text
        axis = queries if side == "b" else keys
        units = [
            number for number in range(axis.own) if keys is not queries or axis.text[number] == (side == "b")
        ]
        begin = units[0] if units else 0
        named = {begin + place for link in own for place in range(link.source.start, link.source.end)}
        more += [
            Link(Span(unit - begin, unit - begin + 1, side), (), label, unit=own[0].unit, place=_BARE)
            for unit in units
            if unit not in named
        ]
    return more


class _Side:
    """Sources on one axis and their targets on another, as they are gathered."""

    def __init__(self, sources: Axis, targets: Axis, count: int, only: Side | None = None) -> None:
        self._sources, self._targets, self._only = sources, targets, only
        self._source = [_NONE] * count
        self._pairs: list[tuple[int, int]] = []
        self._sure: list[tuple[int, int]] = []
        self._listed: list[tuple[int, int]] = []

    def add(self, number: int, link: Link, listed: bool) -> None:
        """The link of this number, where its source is of this side's text."""
        if self._only not in (None, link.source.text):
            return
        axis = self._targets
        self._source[number] = self._sources.one(self._sources.units(link.source))
        sure = [unit for span in link.targets for unit in axis.units(span)]
        also = [unit for span in link.possible for unit in axis.units(span)]
        if listed:
            if link.candidates is None:
                raise InputError("expected a list of candidates, found none")
            right, must = {*sure, *also}, set(sure)
            sure, also = list[int](), list[int]()
            for span in link.candidates:
                units = axis.units(span)
                one = axis.one(units)
                self._listed.append((number, one))
                if right.issuperset(units):
                    right_ones = sure if must.issuperset(units) else also
                    right_ones.append(one)
            if right and not sure and not also:
                raise InputError("expected a target among the candidates listed, found none")
        self._sure += [(number, unit) for unit in sure]
        self._pairs += [(number, unit) for unit in (*sure, *also)]

    def read(self, candidates: Sequence[Candidates], sees: Direction | None) -> Read:
        """All of it as arrays, of what is visible in this direction of a causal model, or of all."""
        axis, own = self._targets, self._sources
        count = len(axis.groups)
        source = np.array(self._source, np.int64)
        there = source != _NONE
        first, last = np.array(axis.first), np.array(axis.last)
        low, high = np.array(own.first)[source][:, None], np.array(own.last)[source][:, None]
        base = np.arange(count) < axis.own
        same = axis is own
        apart = (first > high) | (last < low) if same else np.ones((len(source), count), np.bool_)
        seen = np.ones((1, count), np.bool_)
        if sees is not None:
            seen = first <= high if sees == "row" else last >= low
        allowed: dict[Candidates, BoolArray] = {}
        heard: dict[Candidates, BoolArray] = {}
        for kind in dict.fromkeys(candidates):
            if not same and kind in ("earlier", "later"):
                raise InputError(f"candidates: expected any, other or listed between two texts, found {kind}")
            if kind == "other" and same and not axis.text.any():
                raise InputError(
                    "candidates: expected a text B whose words are the other ones, found text A alone"
                )
            which = self._filled(self._listed, count) if "listed" in kind else base & np.ones_like(apart)
            if "earlier" in kind:
                which = which & (last < low)
            elif kind == "later":
                which = which & (first > high)
            elif kind == "other" and same:
                which = which & (axis.text[first] != own.text[low])
            heard[kind] = which & apart & there[:, None]
            allowed[kind] = heard[kind] & seen
        return Read(source, self._filled(self._pairs, count), self._filled(self._sure, count), allowed, heard)

    def _filled(self, pairs: Sequence[tuple[int, int]], count: int) -> BoolArray:
        filled = np.zeros((len(self._source), count), np.bool_)
        if pairs:
            rows, columns = zip(*pairs, strict=True)
            filled[list(rows), list(columns)] = True
        return filled


def offsets_of(question: Question, offsets: Sequence[int], name: str = "target") -> BoolArray:
    """Whether the unit at each offset from the source is right, ``[offset source]``; never between unlike units."""
    right = np.zeros((len(offsets), len(question.labels)), np.bool_)
    if question.query.unit != question.key.unit:
        return right
    for read, axis, own in _sides(question):
        target: BoolArray = getattr(read, name)
        places = np.array(own.first)[read.source] + np.array(offsets, np.int64)[:, None]
        inside = (places >= 0) & (places < axis.own) & (read.source >= 0)
        right |= inside & target[np.arange(len(read.source)), np.where(inside, places, 0)]
    return right


def nearest(question: Question, name: str = "target") -> BoolArray:
    """Whether the nearest candidate is right (of two the one before), and that with the same string, ``[2 source]``.

    Between two axes that is the one nearest to the source's share of its own.
    """
    right = np.zeros((2, len(question.labels)), np.bool_)
    for read, axis, own in _sides(question):
        target: BoolArray = getattr(read, name)
        which = next(iter(read.heard.values()))
        if not which.size:
            continue
        codes = {string: code for code, string in enumerate(dict.fromkeys((*own.strings, *axis.strings)))}
        strings, others = (np.array([codes[each] for each in side.strings]) for side in (own, axis))
        alike = which & (strings[read.source][:, None] == others)
        places, base = np.array(axis.first) + 0.5, np.array(own.first)[read.source][:, None] + 0.5
        apart = places - base * (axis.own / own.own)
        far = np.abs(apart) - 1e-6 * (apart < 0)
        rows = np.arange(right.shape[1])
        for rule, each in enumerate((which, alike)):
            best = np.where(each, far, np.inf).argmin(1)
            right[rule] |= each[rows, best] & target[rows, best]
    return right


def by_chance(question: Question, ways: Sequence[Way], name: str = "target") -> Floats:
    """How many of the candidates are right, as a share: that of the way where it is largest, ``[source]``."""
    shares = np.zeros(len(question.labels))
    for way in ways:
        read = question.read[way.direction]
        allowed, target = read.allowed[way.candidates], getattr(read, name)
        shares = np.maximum(shares, (allowed & target).sum(1) / np.maximum(1, allowed.sum(1)))
    return shares


def _sides(question: Question) -> list[tuple[Read, Axis, Axis]]:
    """What is read, the targets' axis and the sources': once where both directions say the same."""
    sides = [
        (read, *((question.key, question.query) if direction == "row" else (question.query, question.key)))
        for direction, read in question.read.items()
    ]
    return sides if question.crossed else sides[:1]
