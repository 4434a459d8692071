"""Examples with their links: checked, put together, and read from objects of JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, cast, get_args

from headscope.core.kinds import is_list, is_object
from headscope.core.link import End, Link, Named, Side, Span, Unit
from headscope.core.pictures import Video, several
from headscope.core.region import Region
from headscope.core.types import AnyMapping
from headscope.corpora.example import Example
from headscope.corpora.files import Line
from headscope.corpora.jsonlines import KINDS, Fail, string
from headscope.errors import InputError

_REGIONS = ("box", "mask")
_KEYS = ("from", "to", *_REGIONS, "picture", "label", "from_text", "to_text", "candidates", "possible")


def united(links: Iterable[Link]) -> list[Link]:
    """Links with the same source and label (and unit, and kind of targets) as one, in the order of the first of each.

    >>> from headscope.core.link import as_links
    >>> [link.targets for link in united(as_links([(5, 1), (5, 2)]))]
    [(Span(start=1, end=2, text='a'), Span(start=2, end=3, text='a'))]
    """
    groups: dict[tuple[End, str, Unit, bool], list[Link]] = {}
    for link in links:
        groups.setdefault((link.source, link.label, link.unit, link.to_picture), []).append(link)
    merged: list[Link] = []
    for group in groups.values():
        if len(group) == 1 and not group[0].possible:
            merged.append(group[0])
            continue
        targets = _once(link.targets for link in group)
        possible = _once(link.possible for link in group)
        listed = [link.candidates for link in group if link.candidates is not None]
        merged.append(
            replace(
                group[0],
                targets=tuple(targets),
                possible=tuple(span for span in possible if span not in targets),
                candidates=tuple(_once(listed)) if listed else None,
            )
        )
    return merged


def _once(spans: Iterable[Sequence[Span | Region]]) -> dict[Span | Region, None]:
    return dict.fromkeys(span for group in spans for span in group)


def checked(links: Iterable[Link], example: Example, fail: Fail) -> list[Link]:
    """Links as `united` makes them, each span in its text and each target among the candidates that are listed.

    What an example does not tell by itself (tokens of a text) is not looked at.
    """
    made = [
        link if link.place else replace(link, place=f"links[{index}]") for index, link in enumerate(links)
    ]
    for link in made:
        try:
            pictured = link.to_picture or isinstance(link.source, Region)
        except InputError as error:
            raise fail(f"{link.place}: {error}") from None
        if pictured and example.image is None:
            raise fail(f"{link.place}: expected an image for a region, found none")
        seen = example.image if several(example.image) else [example.image]
        if pictured and any(isinstance(one, Video) for one in seen):
            raise fail(f"{link.place}: expected a picture for a region, found a video")
        beyond = [end.picture for end in link.ends if isinstance(end, Region) and end.picture > len(seen)]
        if beyond:
            raise fail(f"{link.place}: picture: expected a number up to {len(seen)}, found {beyond[0]}")
        sizes = _sizes(example, link.unit)
        for span in link.spans if sizes else ():
            where = f"{span.start} to {span.end}"
            if span.text not in sizes:
                raise fail(
                    f"{link.place}: expected {link.unit} of text a, since there is no other, found {where} of text b"
                )
            if not 0 <= span.start < span.end <= sizes[span.text]:
                raise fail(
                    f"{link.place}: expected {link.unit} of text {span.text} up to {sizes[span.text]}, found {where}"
                )
    merged = united(made)
    for link in merged:
        if link.candidates is None:
            continue
        listed = set(link.candidates)
        for span in (*link.targets, *link.possible):
            if span not in listed:
                target = f"{span.start} to {span.end}" if isinstance(span, Span) else str(span)
                raise fail(f"{link.place}: expected targets among the candidates, found the target {target}")
    return merged


def _sizes(example: Example, unit: Unit) -> Mapping[Side, int]:
    """How many of a unit each text has; empty where the example does not tell."""
    a: str | Sequence[str] | None = None
    b: str | Sequence[str] | None = None
    if unit == "tokens":
        a = example.pieces
    elif unit == "words":
        a, b = example.words, example.pair_words
    elif unit == "characters":
        a, b = example.text, example.pair
    sizes: dict[Side, int] = {} if a is None else {"a": len(a)}
    return sizes if b is None else {**sizes, "b": len(b)}


def unit_of(example: Example) -> Unit:
    """What links count where nothing is said."""
    if example.text is not None:
        return "characters"
    return "words" if example.words is not None else "tokens"


def with_links(example: Example, links: Sequence[Link], image: Any, fail: Fail) -> Example:
    """An example with its links, and a picture that stands beside its text, or alone."""
    if image is None:
        return replace(example, links=checked(links, example, fail))
    for key in ("pair", "pair_words", "pieces"):
        if getattr(example, key) is not None:
            name = key.replace("pieces", "tokens")
            raise fail(f"expected a text or words beside an image, found {name!r}")
    linked = replace(example, links=checked(links, replace(example, image=image), fail), image=image)
    if example.words is None:
        return linked
    starts = [0, *accumulate(len(word) + 1 for word in example.words)]

    def by_characters(end: End) -> Any:
        if not isinstance(end, Span):
            return end
        return end._replace(start=starts[end.start], end=starts[end.end] - 1)

    links = [
        replace(
            link,
            source=by_characters(link.source),
            targets=tuple(map(by_characters, link.targets)),
            possible=tuple(map(by_characters, link.possible)),
            candidates=None if link.candidates is None else tuple(map(by_characters, link.candidates)),
            unit="characters",
        )
        for link in linked.links or ()
    ]
    return replace(linked, words=None, text=" ".join(example.words), links=links)


def read_links(row: AnyMapping, example: Example, image: Any, line: Line) -> Example:
    """An example with the links that a line has of it (`headscope.corpora.links`), beside a picture or alone.

    Args:
        row: with ``links``.
        example: of the line, without the picture.
        image: the picture.
        line: for paths and messages.
    """
    given: Any = row.get("links")
    if not is_list(given):
        kind = KINDS[type(given)] if "links" in row else "none"
        raise line.error(f"'links': expected a list of objects, found {kind}")
    alone = image is not None and example.text is None and example.words is None
    unit: Unit = "cells" if alone else unit_of(example)
    made = [_link(item, f"links[{index}]", unit, line) for index, item in enumerate(given)]
    return with_links(example, made, image, line.error)


def _link(item: Any, place: str, unit: Unit, line: Line) -> Link:
    """A link of a line."""

    def fail(message: str) -> InputError:
        return line.error(f"{place}: {message}")

    if not is_object(item):
        raise fail(f"expected an object, found {KINDS[type(item)]}")
    for key in item:
        if key not in _KEYS:
            raise fail(f"expected the keys {', '.join(_KEYS)}, found {key!r}")
    given = {key: value for key, value in item.items() if value is not None}
    ends = [key for key in ("to", *_REGIONS) if key in item]
    if "from" not in item or not ends:
        key = "to" if "from" in item else "from"
        raise fail(f"expected a key {key!r}, found {', '.join(map(repr, item)) or 'none'}")
    if len(ends) > 1:
        raise fail(f"expected one target, found {' and '.join(map(repr, ends))}")
    texts: list[Side] = [given.get(key, "a") for key in ("from_text", "to_text")]
    for key, text in zip(("from_text", "to_text"), texts, strict=True):
        if text not in get_args(Side):
            raise fail(f"{key!r}: expected 'a' or 'b', found {_shown(text)}")
    possible, candidates = given.get("possible", False), given.get("candidates")
    if not isinstance(possible, bool):
        raise fail(f"'possible': expected true or false, found {_shown(possible)}")
    if candidates is not None and not is_list(candidates):
        raise fail(f"'candidates': expected a list of spans, found {_shown(candidates)}")
    source = _end(item["from"], texts[0], "'from'", fail, line)
    (to,) = ends
    region = {to: item[to], **({"picture": item["picture"]} if "picture" in item else {})}
    target = _target(item[to] if to == "to" else region, texts[1], f"{to!r}", fail, line)
    return Link(
        source,
        () if possible else (target,),
        string(given.get("label", "link"), "'label'", fail),
        candidates=None
        if candidates is None
        else tuple(
            _target(candidate, texts[1], f"'candidates'[{index}]", fail, line)
            for index, candidate in enumerate(candidates)
        ),
        possible=(target,) if possible else (),
        unit=unit,
        place=place,
    )


def _target(value: Any, text: Side, name: str, fail: Fail, line: Line) -> Span | Region:
    """A span, or a region."""
    end = _end(value, text, name, fail, line)
    if isinstance(end, Named):
        raise fail(f"{name}: expected an index or [start, end], found {_shown(value)}")
    return end


def _end(value: Any, text: Side, name: str, fail: Fail, line: Line) -> End:
    """A span; a region, ``{"box": …}`` or ``{"mask": …}``; or the name of a class of tokens."""
    if isinstance(value, str):
        return Named(string(value, name, fail))
    if not is_object(value):
        return _span(value, text, name, fail)
    number: Any = value.get("picture", 1)
    value = {key: given for key, given in value.items() if key != "picture"}
    if len(value) != 1 or not value.keys() <= {*_REGIONS}:
        raise fail(f"{name}: expected a key 'box' or 'mask', found {', '.join(map(repr, value)) or 'none'}")
    try:
        if "box" in value:
            return Region([] if value["box"] is None else value["box"], picture=number)
        mask = value["mask"]
        if isinstance(mask, list):
            return Region(polygons=mask, picture=number)
        return Region(
            mask=Path(line.path).parent / mask if isinstance(mask, str) else {} if mask is None else mask,
            picture=number,
        )
    except InputError as error:
        raise fail(f"{name}: {str(error).removeprefix('box: ').removeprefix('mask: ')}") from None


def _span(value: Any, text: Side, name: str, fail: Fail) -> Span:
    """An index, or a start and an end."""
    both: list[Any] = [value, value + 1] if type(value) is int else value
    if not isinstance(both, list) or len(both) != 2 or any(type(end) is not int for end in both):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise fail(f"{name}: expected an index or [start, end], found {_shown(value)}")
    start, end = both
    if not 0 <= start < end:
        raise fail(f"{name}: expected a start from 0 and an end after it, found {_shown(value)}")
    return Span(start, end, text)


def _shown(value: Any) -> str:
    """A value of JSON in few words: itself where it is short, or else its kind."""
    if value is None or isinstance(value, bool | dict):
        return KINDS[type(cast(Any, value))]
    text = repr(value)
    return text if len(text) <= 60 else KINDS[type(value)]
