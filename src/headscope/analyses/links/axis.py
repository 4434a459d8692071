"""The units of an axis: what a head chooses among.

Those of a text are the words given, the tokens, or, where spans are of characters, its words, parted where a span
begins or ends within one. Those of a picture are its patches. A span or a region of several units is one more unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.link import End, Named, Span, Unit, located
from headscope.core.tokens import Tokens
from headscope.core.words import joined
from headscope.errors import InputError

_NONE = -1


class LinkAxis:
    """The units of an axis.

    Attributes:
        tokens: of the axis.
        unit: what the numbers of spans count.
        groups: the tokens of each unit.
        first, last: of each unit, the first and the last of the axis' own units that it has.
        size: how many units the axis has by itself, in the order of their tokens; spans and regions of several follow.
        text: 0 or 1 of each of the axis' own units, for text A or B.
        side: the same, −1 of special tokens.
        patch: which of the axis' own units are patches of a picture.
        aside: which are neither words nor patches: classes of tokens that links name, such as ``cls``.
        remarks: what is to be said of a span.
    """

    def __init__(self, tokens: Tokens, unit: Unit, ends: Sequence[End], *, alone: bool) -> None:
        """Find the axis' own units.

        Args:
            tokens: of the axis.
            unit: what the numbers of spans count.
            ends: all of links that are on this axis.
            alone: whether the axis holds one text only, whichever it is.
        """
        self.tokens, self._alone = tokens, alone
        self.unit: Unit = unit
        self.remarks: dict[End, str] = {}
        self._extra: dict[tuple[int, ...], int] = {}
        self._starts = (0, 0)
        single = unit in ("tokens", "cells")
        known = {
            end: self._located(end)
            for end in dict.fromkeys(ends)
            if unit == "characters" or not isinstance(end, Span)
        }
        groups: list[Ints]
        if single:
            groups = [np.array([place], np.int64) for place in range(len(tokens))]
        elif unit == "words":
            groups, self._starts = _words(tokens, alone)
        else:
            groups = _parted(tokens, [places for end, places in known.items() if isinstance(end, Span)])
        self._words = len(groups)
        patches = tokens.mask("patch") if tokens.boxes is not None else np.zeros(len(tokens), np.bool_)
        kinds = patches if single else np.zeros(len(groups), np.bool_)
        place = np.arange(len(groups))
        if not single and (patches.any() or any(isinstance(end, Named) for end in known)):
            named = [places for end, places in known.items() if isinstance(end, Named)]
            others = np.unique(np.concatenate([np.flatnonzero(patches), *named]))
            others = np.setdiff1d(others, np.concatenate([others[:0], *groups]))
            groups += [np.array([token], np.int64) for token in others.tolist()]
            kinds = np.concatenate([kinds, patches[others]])
            order = np.argsort(_starts(groups), kind="stable")
            kinds, place = kinds[order], np.argsort(order)
            groups = [groups[number] for number in order.tolist()]
        self.groups = groups
        self.size = len(groups)
        self.first = list(range(self.size))
        self.last = list(range(self.size))
        self.patch: Bools = kinds
        self.aside: Bools = ~kinds
        self.aside[place[: self._words]] = False
        self._place: list[int] = place[: self._words].tolist()  # of each word among all units
        self.side = np.zeros(self.size, np.int64)
        if unit == "words":
            self.side[self._place[self._starts[1] :]] = 1
        elif tokens.sequence_ids is not None and not alone:
            firsts = slice(None) if single else _starts(groups)
            self.side = tokens.sequence_ids[firsts]
        self.text = np.maximum(self.side, 0)
        self._known = {end: self._units(places) for end, places in known.items()}

    def _units(self, tokens: Ints) -> list[int]:
        """The own units of some tokens."""
        return np.unique(self._of_token[tokens]).tolist()

    @cached_property
    def _of_token(self) -> Ints:
        """The own unit of each token."""
        units = np.full(len(self.tokens), _NONE)
        for number, group in enumerate(self.groups[: self.size]):
            units[group] = number
        return units

    def _located(self, end: End) -> Ints:
        sequence = None if self._alone else ("a", "b").index(end.text)
        places, remark = located(end, self.unit, self.tokens, sequence=sequence)
        if remark:
            self.remarks[end] = remark
        return places

    def units(self, end: End) -> Sequence[int]:
        """The axis' own units of a span, a region or a class; none of a region that is out of sight.

        Raises `InputError` for a span that is not on the axis.
        """
        if end in self._known:
            return self._known[end]
        assert isinstance(end, Span)
        start = 0 if self._alone else self._starts[end.text == "b"]
        most = self._words if self._alone or end.text == "b" else self._starts[1] or self._words
        if start + end.end > most:
            raise InputError(f"expected {self.unit} up to {most - start}, found {end.start} to {end.end}")
        return self._place[start + end.start : start + end.end]

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
    def stretches(self) -> Ints:
        """The own units of text A and of text B: the first, and how many there are up to the last, ``[text 2]``."""
        stretches = np.zeros((2, 2), np.int64)
        for text in range(2):
            places = np.flatnonzero(self.side == text)
            if len(places):
                stretches[text] = places[0], places[-1] + 1 - places[0]
        return stretches

    def members(self) -> Bools:
        """Which of the axis' own units each unit has, ``[unit own]``."""
        members = np.zeros((len(self.groups), self.size), np.bool_)
        np.fill_diagonal(members, True)
        for units, number in self._extra.items():
            members[number, list(units)] = True
        return members

    def voices(self, *, column: bool) -> Floats:
        """What the own units weigh in the average map of an input: that over the words of its text, ``[own]``.

        A part of a word counts as its share of the word's pieces; in a column parts add up. Where there is no text all
        units count alike; in a column none, as each query gives all of them together the same.
        """
        words, sequence = self.tokens.word_ids, self.tokens.sequence_ids
        if words is None or not (words >= 0).any():
            return np.full(self.size, float(not column))
        text = np.flatnonzero(words >= 0)
        names = words[text]
        if sequence is not None:
            names = names + (names.max() + 1) * np.maximum(sequence[text], 0)
        shares = np.zeros(len(words))
        shares[text] = 1 / np.bincount(names)[names]
        weights = np.array([shares[group].sum() for group in self.groups[: self.size]])
        return np.sign(weights) if column else weights

    def off_centre(self) -> Floats:
        """How far each unit's middle is from the picture's, in pixels; infinite for what is no part of it."""
        tokens, far = self.tokens, np.full(len(self.groups), np.inf)
        if tokens.boxes is not None:
            sizes = [getattr(medium, "size", (0, 0)) for medium in tokens.media]
            away = (tokens.boxes[:, :2] + tokens.boxes[:, 2:] - np.array(sizes)[tokens.medium]) / 2
            for unit, group in enumerate(self.groups):
                if len(group) and np.isfinite(away[group]).all():
                    far[unit] = np.hypot(*away[group].mean(0))
        return far

    @cached_property
    def strings(self) -> list[str]:
        """What each of the axis' units says, in lower case."""
        return [joined([self.tokens.pieces[int(token)] for token in group]).lower() for group in self.groups]


def _starts(groups: Sequence[Ints]) -> list[int]:
    """The first token of each unit; of one without any, that of the unit before."""
    starts = [-1]
    for group in groups:
        starts.append(int(group[0]) if len(group) else starts[-1])
    return starts[1:]


def _words(tokens: Tokens, alone: bool) -> tuple[list[Ints], tuple[int, int]]:
    """The tokens of each word, of both texts one after another, and where those of each text begin."""
    if tokens.word_ids is None:
        raise InputError("expected a tokenizer that tells words from pieces, found none")
    groups: list[Ints] = []
    starts = [0]
    sequence = tokens.sequence_ids
    second = sequence is not None and not alone and bool((sequence == 1).any())
    for side in (0, 1) if second else (0,):
        inside = tokens.word_ids >= 0
        if second:
            assert sequence is not None
            inside = inside & (sequence == side)
        places = np.flatnonzero(inside)
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


def _parted(tokens: Tokens, spans: Sequence[Ints]) -> list[Ints]:
    """The words of a text, parted where spans begin or end within one; special tokens and patches are none."""
    words = np.arange(len(tokens)) if tokens.word_ids is None else tokens.word_ids
    sequence = np.zeros(len(tokens), np.int64) if tokens.sequence_ids is None else tokens.sequence_ids
    special = tokens.special
    parts = np.zeros(len(tokens) + 1, np.bool_)
    parts[1:-1] = (words[1:] != words[:-1]) | (sequence[1:] != sequence[:-1]) | special[1:] | special[:-1]
    for span in spans:
        parts[[span[0], span[-1] + 1]] = True
    parts[[0, -1]] = True
    ends = np.flatnonzero(parts)
    return [np.arange(start, end) for start, end in pairwise(ends.tolist()) if not special[start]]
