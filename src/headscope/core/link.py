"""Links: what belongs to what in an input, by any annotation.

A `Link` says of a source (a pronoun, a word, a variable, a spoken word) which targets are right (its antecedents, its
head, its definition, the frames in which it is heard, the part of the picture where it is seen). `headscope.links`
measures which heads look from the one to the other; `headscope.view` draws links over the maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self, cast, get_args

import numpy as np

from headscope.core.arrays import Bools, Ints
from headscope.core.kinds import is_list, is_list_or_tuple
from headscope.core.media import Picture
from headscope.core.region import Region, shown
from headscope.core.tokens import Tokens, strip_markers
from headscope.core.validation import expect, expect_fields, from_zero
from headscope.errors import InputError

Unit = Literal["tokens", "words", "characters", "cells"]
"""What the numbers of spans count: tokens (special ones included), the words given, characters of a text, or places of
an axis that is no text (patches, frames)."""

Side = Literal["a", "b"]
"""Text A or B of an input; of an encoder-decoder, what its encoder (A) and its decoder (B) read."""


class _Span(NamedTuple):
    start: int
    end: int
    text: Side = "a"


class Span(_Span):
    """Tokens, words, characters or cells from `start` up to, not with, `end`, of text A or B.

    >>> Span(4, 10, "b")
    Span(start=4, end=10, text='b')

    Raises `InputError` for a start that is no number from 0, an end that is not after it, and another text.
    """

    __slots__ = ()

    def __new__(cls, start: int, end: int, text: Side = "a") -> Self:
        """A span by its numbers."""
        start, end = from_zero("start", start), from_zero("end", end)
        if end <= start:
            raise InputError(f"end: expected one after the start, {start}, found {end}")
        if type(text) is not str or text not in ("a", "b"):
            expect("text", text, Side)
        return super().__new__(cls, start, end, text)


class _NamedSpan(NamedTuple):
    name: str
    text: Side = "a"


class Named(_NamedSpan):
    """All tokens of a class (`headscope.Tokens.named`), such as ``cls`` or ``register``.

    >>> Named("cls")
    Named(name='cls', text='a')
    """

    __slots__ = ()

    def __new__(cls, name: str, text: Side = "a") -> Self:
        """A class by its name."""
        expect("name", name, str)
        if not name:
            raise InputError("name: expected the name of a class of tokens, found ''")
        expect("text", text, Side)
        return super().__new__(cls, name, text)


End = Span | Region | Named
"""Where a link begins or ends. It ends at spans or at regions of a picture."""


@dataclass(frozen=True)
class Link:
    """A source and its targets: any of them is right.

    Attributes:
        source: where the link begins.
        targets: where it may end: spans, or regions of a picture; none for a source that has no right target, which no
            head gets right.
        label: the relation, such as ``nsubj`` or ``antecedent``.
        candidates: among what a head chooses, where the annotation lists it; None: it does not.
        possible: targets that are right as well where one of them is chosen, but need not be found (the possible links
            of a word alignment).
        unit: what the numbers of all these spans count (regions count pixels).
        target_unit: what those of all spans but the source count, where that is something else (a spoken word is a word
            of the decoder's text, and is heard in cells, which are frames); None: `unit`.
        place: where the link is written, such as ``links[3]``, for messages.

    >>> Link(Span(5, 6), (Span(1, 2),), "antecedent").targets[0].start
    1
    """

    source: End
    targets: tuple[Span | Region, ...]
    label: str = "link"
    candidates: tuple[Span | Region, ...] | None = None
    possible: tuple[Span | Region, ...] = ()
    unit: Unit = "words"
    place: str = ""
    target_unit: Unit | None = None

    def __post_init__(self) -> None:
        for name in ("targets", "candidates", "possible"):
            ends: Any = getattr(self, name)
            if is_list(ends):
                object.__setattr__(self, name, ends := tuple(ends))
            if type(ends) is not tuple or not all(isinstance(end, Span | Region) for end in cast(Any, ends)):
                expect_fields(self, name)
        if not isinstance(self.source, Span):
            expect_fields(self, "source")
        named = self.label, self.unit, self.place
        if {*map(type, named)} != {str} or self.unit != "words" or self.target_unit is not None:
            expect_fields(self, "label", "unit", "target_unit", "place")

    @property
    def ends(self) -> tuple[End, ...]:
        """All that it names, the source first."""
        return self.source, *self.targets, *self.possible, *(self.candidates or ())

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans among them."""
        return tuple(end for end in self.ends if isinstance(end, Span))

    @property
    def to_picture(self) -> bool:
        """Whether its targets are regions of a picture. Raises `InputError` where only some are."""
        regions = {isinstance(end, Region) for end in self.ends[1:]}
        if len(regions) > 1:
            raise InputError("expected spans or regions of a picture as targets, found both")
        return regions == {True}


AnyLinks = Sequence[Any] | Bools
"""How the links of an input may be given in Python: `Link`s, pairs of numbers or spans, or a matrix ``[query key]``."""


def as_links(given: AnyLinks, *, unit: Unit = "tokens", label: str = "link") -> list[Link]:
    """Links, from `Link`s, pairs or a matrix.

    Args:
        given: `Link`s, which stay as they are; pairs ``(source, target)``, each end a number, ``(start, end)``,
            ``(start, end, text)`` or a `headscope.Region` of the picture, and a source also the name of a class of
            tokens, such as ``cls``; or a boolean matrix ``[query key]``, true where the query's token belongs to the
            key's.
        unit: what numbers count, for pairs.
        label: of pairs and matrices.

    Raises `InputError` that names the link and what was expected.

    >>> as_links([(5, 1), (5, 2)])[0].targets
    (Span(start=1, end=2, text='a'),)
    >>> [link.source.start for link in as_links(np.eye(3, dtype=bool))]
    [0, 1, 2]
    """
    expect("unit", unit, Unit)
    if isinstance(given, np.ndarray):
        return _of_matrix(given, label)
    if isinstance(given, str) or not isinstance(given, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            f"links: expected a list of links or pairs, or a matrix, found {type(given).__name__}"
        )
    links: list[Link] = []
    for index, item in enumerate(given):
        place = f"links[{index}]"
        if isinstance(item, Link):
            links.append(item)
            continue
        if not is_list_or_tuple(item) or len(item) != 2:
            raise InputError(f"{place}: expected a Link or a pair (source, target), found {shown(item)}")
        source, target = (_end(end, place) for end in item)
        if isinstance(target, Named):
            raise InputError(f"{place}: expected {_ENDS}, found {shown(target.name)}")
        links.append(Link(source, (target,), label, unit=unit, place=place))
    return links


def _of_matrix(matrix: np.ndarray[Any, Any], label: str) -> list[Link]:
    if matrix.dtype != np.bool_ or matrix.ndim != 2:
        raise InputError(f"links: expected a boolean matrix [query key], found {matrix.dtype} {matrix.shape}")
    return [
        Link(
            Span(query, query + 1),
            tuple(Span(key, key + 1) for key in np.flatnonzero(row).tolist()),
            label,
            unit="tokens",
            place=f"links[{query}]",
        )
        for query, row in enumerate(matrix)
        if row.any()
    ]


_ENDS = "a number, (start, end), (start, end, text) or a region"


def _end(end: Any, place: str) -> End:
    """A region, a class by its name, or a span, from a number (of one), ``(start, end)`` or ``(start, end, text)``."""
    if isinstance(end, Region | Named):
        return end
    if isinstance(end, str):
        return Named(end)
    start: Any
    stop: Any
    text: Any
    if isinstance(end, int | np.integer) and not isinstance(end, bool):
        number = int(cast(int, end))
        start, stop, text = number, number + 1, "a"
    elif is_list_or_tuple(end) and len(end) in (2, 3):
        start, stop, text = (*end, "a")[:3]
    else:
        raise InputError(f"{place}: expected {_ENDS}, found {shown(end)}")
    integers = all(
        isinstance(bound, int | np.integer) and not isinstance(bound, bool) for bound in (start, stop)
    )
    if not integers or not 0 <= start < stop:
        raise InputError(
            f"{place}: expected a start from 0 and an end after it, found {start!r} and {stop!r}"
        )
    if text not in get_args(Side):
        raise InputError(f"{place}: expected text 'a' or 'b', found {text!r}")
    return Span(int(start), int(stop), text)


OUT_OF_SIGHT = "the model sees nothing of it, or less than half a patch"
"""What is said of a region that no token stands for."""


def located(span: End, unit: Unit, tokens: Tokens, *, sequence: int | None = None) -> tuple[Ints, str]:
    """The tokens of a span on an axis, in order, and what is to be said of them ('' for nothing).

    Args:
        span: of the axis' text; or a region of its picture, or a class of its tokens.
        unit: what its numbers count.
        tokens: the axis.
        sequence: 0 or 1 where the axis has both texts, A and B; None where all of it is the span's text.

    Special tokens belong to no word and no character. A piece that a span of characters divides is taken whole, which
    is said. Raises `InputError` for a span that is not on the axis, or that holds no token.

    The tokens of a region are the patches whose middle is in it: what is looked at is a point there, as in the pointing
    game (Zhang et al. 2016, "Top-down neural attention by excitation backprop"). They allow the point to be 15 pixels
    beside the region, as maps are coarse; here a region without any patch's middle has the patch that holds its own. It
    has none (`OUT_OF_SIGHT`) where the model cuts that part of the picture off. Raises `InputError` for a region that
    is not in the picture, and for tokens without one.
    """
    if isinstance(span, Region):
        return _patches(span, tokens)
    if isinstance(span, Named):
        indices = np.flatnonzero(tokens.mask(span.name))
        if not len(indices):
            raise InputError(f"expected tokens of the class {span.name!r}, found none")
        return indices, ""
    if unit in ("tokens", "cells"):
        if span.end > len(tokens):
            raise InputError(f"expected {unit} up to {len(tokens)}, found {span.start} to {span.end}")
        return np.arange(span.start, span.end), ""
    eligible = ~tokens.special
    if sequence is not None and tokens.sequence_ids is not None:
        eligible &= tokens.sequence_ids == sequence
    elif sequence == 1:
        raise InputError("expected an input with a text B, found one text")
    if unit == "words":
        if tokens.word_ids is None:
            raise InputError("expected a tokenizer that tells words from pieces, found none")
        words = tokens.word_ids
        most = int(words[eligible].max(initial=-1)) + 1
        if span.end > most:
            raise InputError(f"expected words up to {most}, found {span.start} to {span.end}")
        indices = np.flatnonzero(eligible & (words >= span.start) & (words < span.end))
        if not len(indices):
            raise InputError(f"no piece is of the words {span.start} to {span.end}")
        return indices, ""
    if tokens.offsets is None:
        raise InputError(
            "expected a tokenizer that tells where pieces stand in the text, found none: "
            "give words in place of the text"
        )
    starts, ends = tokens.offsets.T
    indices = np.flatnonzero(eligible & (starts < span.end) & (ends > span.start) & (starts < ends))
    if not len(indices):
        most = int(ends[eligible].max(initial=0))
        raise InputError(
            f"no piece is in the characters {span.start} to {span.end}"
            + (f", since the text ends at {most}" if span.start >= most else "")
        )
    divided = _divided(span, tokens, indices)
    return indices, f"{divided!r} is taken whole" if divided else ""


def _patches(region: Region, tokens: Tokens) -> tuple[Ints, str]:
    """The tokens whose areas of the picture a region takes, and what is to be said where there are none."""
    pictures = [(at, medium) for at, medium in enumerate(tokens.media) if isinstance(medium, Picture)]
    if tokens.places is None or not pictures:
        raise InputError("expected tokens that are areas of a picture for a region, found none")
    if region.picture > len(pictures):
        raise InputError(f"picture: expected a number up to {len(pictures)}, found {region.picture}")
    number, picture = pictures[region.picture - 1]
    region.expect_in(picture.size)
    patches = np.flatnonzero(tokens.medium == number)
    left, top, right, bottom = tokens.places[patches, 1:].T
    chosen = patches[region.contains(np.stack([left + right, top + bottom], -1) / 2)]
    if not len(chosen):
        x, y = region.middle
        away = np.maximum.reduce([left - x, x - right, top - y, y - bottom]).clip(0)
        chosen = patches[away == away.min(initial=1.0)]
    return chosen, "" if len(chosen) else OUT_OF_SIGHT


def _divided(span: Span, tokens: Tokens, indices: Ints) -> str:
    """The first piece of a span that reaches out of it by more than its space; empty for none."""
    assert tokens.offsets is not None
    for index in (int(indices[0]), int(indices[-1])):
        start, end = map(int, tokens.offsets[index])
        piece = strip_markers(tokens.pieces[index])
        spaces = end - start - len(piece)
        if start + max(0, spaces) < span.start or end > span.end:
            return piece
    return ""
