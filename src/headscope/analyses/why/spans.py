"""Spans of a prompt: sentences, messages, documents, pictures and what is on them, or what the caller names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Annotated, Any, Literal, NamedTuple, cast, get_args

import numpy as np

from headscope.analyses.sentences.run import Unit as Split
from headscope.analyses.sentences.run import split
from headscope.core.arrays import Bools
from headscope.core.link import Span
from headscope.core.media import Picture
from headscope.core.tokens import Tokens
from headscope.core.validation import Expected
from headscope.errors import InputError

Level = Literal[
    "message",
    "call",
    "result",
    "tool",
    "document",
    "part",
    "paragraph",
    "line",
    "sentence",
    "word",
    "token",
    "image",
    "picture",
    "tile",
    "frame",
    "sound",
]
"""What a prompt is cut into."""

Spans = Annotated[
    str | Sequence[Any],
    Expected(
        "a unit such as 'sentence', several from the largest to the smallest, or a list of spans: characters (start, "
        "end), texts of the prompt, names such as 'picture 2', boxes (left, top, right, bottom), behind the picture or "
        "from and to which frame, or seconds (from, to)"
    ),
]

CELLS = 4
"""A picture is cut into so many rows and columns of cells; a video as a whole, over all its frames."""

SECONDS = 1.0
"""A sound is cut into stretches of so many seconds."""

_NAMES = ", ".join(get_args(Level))
_OWN = ("message", "call", "result", "tool", "document", "part")


class Stretch(NamedTuple):
    """Characters of a prompt's text, and what they are: a message's role, a tool's or document's name.

    What it `says` is what stands there, or of a call its arguments.
    """

    start: int
    end: int
    name: str = ""
    says: str = ""


@dataclass(frozen=True, eq=False)
class Prompt:
    """A prompt, as spans are cut of it.

    Attributes:
        tokens: of the axis that spans are of.
        texts: what the text says where each token stands; joined they are the text.
        parts: messages, calls of tools and their results, tools and documents that the prompt says it has, by their
            level; ``part`` has them beside each other, without the calls in a message.
        pair: the character at which text B begins.
    """

    tokens: Tokens
    texts: Sequence[str]
    parts: Mapping[str, Sequence[Stretch]] = field(default_factory=dict[str, Sequence[Stretch]])
    pair: int = 0

    @cached_property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.texts)

    @cached_property
    def places(self) -> list[int]:
        """The first character of each token that is no white space; -1 for a token without characters."""
        firsts: list[int] = []
        at = 0
        for text in self.texts:
            gap = len(text) - len(text.lstrip())
            firsts.append(-1 if not text else at + (gap if gap < len(text) else 0))
            at += len(text)
        return firsts


@dataclass(frozen=True, eq=False)
class Source:
    """One span of a prompt.

    Attributes:
        level: what it is.
        tokens: which tokens it has.
        start, end: its characters; -1 for what is of no text.
        text: what it says, or where it lies.
        parent: the place of the span that it lies in, among all; -1 for none.
    """

    level: str
    tokens: Bools
    start: int
    end: int
    text: str
    parent: int = -1


def cut(prompt: Prompt, spans: Spans, *, sinks: bool = False) -> list[Source]:
    """The spans of a prompt, level by level, in their order.

    Args:
        prompt: what is cut.
        spans: as in `headscope.why`.
        sinks: leave out the first token, where heads park their attention.

    Raises `InputError` for what names no span, and for a span without tokens that the caller gave.
    """
    given = [spans] if isinstance(spans, str) else list(spans)
    if not given:
        raise InputError("spans: expected at least one, found none")
    levels = all(isinstance(one, str) and one in get_args(Level) for one in given)
    if isinstance(spans, str) and not levels:
        raise InputError(f"spans: expected {_NAMES} or a list of spans, found {spans!r}")
    sources = list(_levels(prompt, cast("list[str]", given)) if levels else _named(prompt, given))
    if spans == "sentence":  # what has no sentences beside the text
        shown = {_MEDIA.get(name.split()[0], "") for name in labels(prompt.tokens)} & {"picture", "frame"}
        looks = [*shown] or (["image"] if prompt.tokens.boxes is not None else [])
        hears = ["sound"] if prompt.tokens.times is not None else []
        sources += [one for level in (*looks, *hears) for one in _levels(prompt, [level])]
    kept = np.ones(len(prompt.tokens), np.bool_)
    if sinks and len(kept):
        kept[0] = False
    made = [replace(one, tokens=one.tokens & kept) for one in sources]
    if not levels:
        for place, one in enumerate(made):
            if not one.tokens.any():
                raise InputError(f"spans[{place}]: expected tokens in it, found none in {one.text!r:.60}")
        return made
    numbers = {
        number: place for place, number in enumerate(n for n, one in enumerate(made) if one.tokens.any())
    }
    if not numbers:
        raise InputError(f"spans: expected {' or '.join(map(str, given))} spans in the prompt, found none")
    return [replace(made[number], parent=numbers.get(made[number].parent, -1)) for number in numbers]


def _levels(prompt: Prompt, levels: Sequence[str]) -> Iterator[Source]:
    within: list[tuple[int, Stretch]] = [(-1, stretch) for stretch in _outermost(prompt, levels[0])]
    count = 0
    for level in levels:
        if level in _SEEN:
            for one in _SEEN[level](prompt.tokens):
                yield one
                count += 1
            continue
        here: list[tuple[int, Stretch]] = []
        for parent, outer in within:
            for stretch in _units(prompt, level, outer):
                yield _source(prompt, level, stretch, parent)
                here.append((count, stretch))
                count += 1
        within = here or within


def _outermost(prompt: Prompt, level: str) -> list[Stretch]:
    """The stretches in which the first level is cut: all the text, or what the prompt says its parts are."""
    parts = prompt.parts.get("part")
    if level in _OWN or not parts:
        sides = [Stretch(0, prompt.pair), Stretch(prompt.pair, len(prompt.text))]
        return sides if prompt.pair and level not in _OWN else [Stretch(0, len(prompt.text))]
    return [*parts]


def _units(prompt: Prompt, level: str, outer: Stretch) -> Iterator[Stretch]:
    text = prompt.text[outer.start : outer.end]
    if level in _OWN and (prompt.parts or level != "document"):
        parts = prompt.parts.get(level)
        if not parts:
            raise InputError(f"spans: expected a prompt with {level}s, found none that it names")
        yield from (one for one in parts if outer.start <= one.start and one.end <= outer.end)
    elif level in ("word", "token"):
        words = re.finditer(r"\w+|[^\w\s]+", text)
        ends = (
            [(match.start(), match.end()) for match in words] if level == "word" else _tokens(prompt, outer)
        )
        yield from (Stretch(outer.start + start, outer.start + end) for start, end in ends)
    else:
        unit = cast("Split", "paragraph" if level == "document" else level)
        yield from (Stretch(outer.start + start, outer.start + end) for start, end in split(text, unit))


def _tokens(prompt: Prompt, outer: Stretch) -> list[tuple[int, int]]:
    places = [place for place in prompt.places if outer.start <= place < outer.end]
    return [(place - outer.start, place - outer.start + 1) for place in places]


def _source(prompt: Prompt, level: str, stretch: Stretch, parent: int = -1) -> Source:
    places = np.array(prompt.places, np.int64)
    tokens = (places >= stretch.start) & (places < stretch.end)
    if level == "token" and tokens.any():
        text = prompt.texts[int(np.flatnonzero(tokens)[0])]
    else:
        text = prompt.text[stretch.start : stretch.end]
    content = stretch.says or text.strip()
    label = f"{stretch.name}: {content}" if stretch.name else content
    return Source(level, tokens, stretch.start, stretch.end, label, parent)


def labels(tokens: Tokens) -> list[str]:
    """The classes of tokens that are pictures, tiles or frames: ``picture 2``, ``frames 0–1``."""
    return [name for name in tokens.classes if _LABEL.fullmatch(name)]


_LABEL = re.compile(r"(picture|tile|frames?) \d+(–\d+| tile \d+)?")
_MEDIA = {"picture": "picture", "frame": "frame", "frames": "frame"}


def _labelled(level: str, tokens: Tokens) -> Iterator[Source]:
    """Each picture, tile or frame."""
    there = [name for name in labels(tokens) if re.findall("picture|tile|frame", name)[-1] == level]
    if not there:
        raise InputError(f"spans: expected a prompt with several {level}s for {level!r}, found none")
    yield from (Source(level, tokens.classes[name], -1, -1, name) for name in there)


def _cells(tokens: Tokens) -> Iterator[Source]:
    pictures = [one for one in tokens.media if isinstance(one, Picture)]
    if not pictures:
        raise InputError("spans: expected a prompt with a picture for 'image', found none")
    for number, picture in enumerate(pictures[:1] if pictures[0].frames else pictures, 1):
        across, down = (side / CELLS for side in picture.size)
        for row in range(CELLS):
            for column in range(CELLS):
                box = column * across, row * down, (column + 1) * across, (row + 1) * down
                yield _region(tokens, (number, *box) if len(pictures) > 1 and not picture.frames else box)


def _region(tokens: Tokens, edges: Sequence[float]) -> Source:
    """What lies in a box on all pictures, on one that stands before its edges, or on frames from and to which."""
    *of, left, top, right, bottom = edges
    shown, named = tokens.on(Picture), ""
    if len(of) == 1:
        named, at = f"picture {of[0]:g}, ", int(of[0]) - 1
        pictures = [number for number, one in enumerate(tokens.media) if isinstance(one, Picture)]
        shown = tokens.medium == (pictures[at] if 0 <= at < len(pictures) else -2)
    elif of:
        named = f"frames {of[0]:g} to {of[1]:g}, "
        frames = [getattr(one, "frames", None) or (0, 0) for one in tokens.media]
        inside = [number for number, (first, after) in enumerate(frames) if first < of[1] and after > of[0]]
        shown = np.isin(tokens.medium, inside)
    assert tokens.boxes is not None
    across, down = ((tokens.boxes[:, side] + tokens.boxes[:, side + 2]) / 2 for side in (0, 1))
    shown = shown & (across >= left) & (across < right) & (down >= top) & (down < bottom)
    return Source("image", shown, -1, -1, f"{named}box {left:g}, {top:g}, {right:g}, {bottom:g}")


def _stretches(tokens: Tokens) -> Iterator[Source]:
    if tokens.times is None:
        raise InputError("spans: expected a prompt with a sound for 'sound', found none")
    end = float(np.nanmax(tokens.times))
    for start in np.arange(0.0, end, SECONDS):
        yield _heard(tokens, (float(start), min(float(start) + SECONDS, end)))


def _heard(tokens: Tokens, seconds: Sequence[float]) -> Source:
    assert tokens.times is not None
    middle = tokens.times.mean(1)
    inside = (middle >= seconds[0]) & (middle < seconds[1])
    return Source("sound", inside, -1, -1, f"{seconds[0]:g} to {seconds[1]:g} s")


_SEEN: Mapping[str, Callable[[Tokens], Iterator[Source]]] = {
    "image": _cells,
    "sound": _stretches,
    **{level: partial(_labelled, level) for level in ("picture", "tile", "frame")},
}
"""What is no text, and how it is cut."""


def _named(prompt: Prompt, given: Sequence[Any]) -> Iterator[Source]:
    """The spans that a caller lists."""
    text, at = prompt.text, 0
    for place, one in enumerate(given):
        where = f"spans[{place}]"
        if one in labels(prompt.tokens):
            yield Source("given", prompt.tokens.classes[one], -1, -1, one)
            continue
        if isinstance(one, str):
            start = text.find(one, at) if one else -1
            start = text.find(one) if start < 0 and one else start
            if start < 0:
                raise InputError(f"{where}: expected a text of the prompt, found {one!r:.60}")
            at = start + len(one)
            yield _source(prompt, "given", Stretch(start, at))
            continue
        edges: Sequence[Any] = cast("Any", one) if isinstance(one, Sequence) else []
        if not edges or not all(isinstance(edge, int | float) for edge in edges[:2]):
            raise InputError(f"{where}: expected a text of the prompt or numbers, found {one!r:.60}")
        if len(edges) in (4, 5, 6) and prompt.tokens.boxes is not None:
            yield _region(prompt.tokens, edges)
        elif len(edges) == 2 and prompt.tokens.times is not None:
            yield _heard(prompt.tokens, edges)
        else:
            yield _source(prompt, "given", _characters(prompt, edges, where))


def _characters(prompt: Prompt, one: Sequence[Any], where: str) -> Stretch:
    second = isinstance(one, Span) and one.text == "b"
    shift, most = (prompt.pair if second else 0), len(prompt.text)
    if len(one) not in (2, 3) or not all(isinstance(edge, int) for edge in one[:2]):
        raise InputError(f"{where}: expected the characters of a span, start and end, found {one!r:.60}")
    start, end = one[0] + shift, one[1] + shift
    if not 0 <= start < end <= most:
        raise InputError(
            f"{where}: expected characters from 0 to {most}, the end after the start, found {one!r:.60}"
        )
    return Stretch(start, end)
