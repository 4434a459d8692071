"""Texts and pictures with links: what belongs to what, in JSON lines or given in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, cast, get_args

from headscope.corpora.corpus import Corpus
from headscope.corpora.cuts import by_lines
from headscope.corpora.example import Example
from headscope.corpora.files import Line, Paths
from headscope.corpora.jsonlines import (
    KINDS,
    Documents,
    Fail,
    each_of,
    fields,
    json_object,
    named,
    scalar,
    string,
    strings,
)
from headscope.corpora.readers import numbers_of
from headscope.corpora.speech import heard_in, of_object
from headscope.doors import validated
from headscope.errors import InputError
from headscope.link import AnyLinks, End, Link, Named, Side, Span, Unit, as_links
from headscope.region import Region

_REGIONS = ("box", "mask")
_KEYS = ("from", "to", *_REGIONS, "label", "from_text", "to_text", "candidates", "possible")


@validated
def links(paths: Paths, *, document: str | None = None, strict: bool = False) -> Corpus:
    """JSON lines with links, one input each: what belongs to what.

    A line has `text` (and `pair`), and its links count characters (code points); or `words` (and `pair_words`), and
    they count words; or `tokens` (taken as they are, special ones included), and they count tokens. Its `links` are a
    list, which may be empty, of objects:

    - ``from``, ``to``: source and target, an index from 0 or a half-open ``[start, end]``;
    - ``label``: the relation; by default ``link``;
    - ``from_text``, ``to_text``: ``a`` (by default) or ``b``, the text that they are in;
    - ``candidates``: a list of the spans among which a head chooses, in the target's text;
    - ``possible``: true where the target is right if it is chosen but need not be found (a possible link of a word
      alignment).

    A line with an ``image``, a path from the file's folder on, is a picture, alone or beside a ``text`` or ``words``
    (which are joined by spaces). Its links have regions as well:

    - ``box`` in place of ``to``: left, top, right and bottom in the picture's pixels; or ``mask``: COCO's segmentation
      (polygons, or runs), or the path of a picture that is black outside of the region;
    - ``from``, ``to`` and candidates may be ``{"box": …}`` or ``{"mask": …}``, and ``from`` the name of a class of
      tokens, such as ``"cls"``.

    Links of one line with the same source and label are one `headscope.Link` with several targets, of which any is
    right, and their candidates together. A line may have a `label` and a `document` as in `headscope.corpora.jsonl`.
    Lines with `audio` are speech, as `headscope.corpora.spoken` reads it.

    Args:
        paths: a file or several.
        document: another key of the document, which each line must have then.
        strict: refuse lines that are anything else (a span that is not in its text, a target that is no candidate, an
            unknown key of a link) with a `CorpusError` that names file and line; else they are left out and listed
            (`Corpus`).

    >>> example = next(iter(hs.corpora.links("links.jsonl")))
    >>> example.text, example.links[0].source, example.links[0].targets
    ('x = 1; print(x)', Span(start=13, end=14, text='a'), (Span(start=0, end=1, text='a'),))
    """
    expected = "expected JSON objects, found blank lines only"
    read, ends = partial(_examples, document), each_of(document, "line")
    return Corpus.of_files(
        paths, read, strict=strict, expected=expected, documents=ends, within=by_lines(read)
    )


@validated
def linked(
    items: Sequence[str | tuple[str, str] | Sequence[str] | tuple[Sequence[str], Sequence[str]] | None],
    links: Sequence[AnyLinks],
    *,
    images: Sequence[Any] | None = None,
    unit: Unit | None = None,
    documents: Sequence[str | int] | None = None,
    strict: bool = False,
) -> Corpus:
    """Texts in memory, or pictures, each with its links.

    Args:
        items: strings, or pairs ``(A, B)`` of them; or lists of words, or pairs of lists. None for a picture alone.
        links: of each item a list of pairs ``(source, target)``, each end a number, ``(start, end)`` or ``(start, end,
            text)``, of a picture also a `headscope.Region`, and a source the name of a class of tokens, such as
            ``cls``; or of `headscope.Link`; or a boolean matrix ``[query key]`` of its tokens, special ones included.
            Links with the same source and label are one with several targets.
        images: of each item the picture beside it, as `headscope.capture` takes it; None for one without.
        unit: what the numbers of pairs count; by default ``characters`` of strings, ``words`` of lists of words,
            ``cells`` (tokens) of pictures alone.
        documents: of each item the name of its document; by default each is a document of its own.
        strict: refuse items that are longer than the model takes; else they are left out and listed (`Corpus`).

    Raises `InputError` that names the item and the link where a span is not in its text.

    >>> corpus = hs.corpora.linked([["The", "cat", "slept"]], [[(1, 0), (2, 1)]])
    >>> [(link.source.start, link.targets[0].start) for link in next(iter(corpus)).links]
    [(1, 0), (2, 1)]
    >>> grey = np.full((60, 80, 3), 128, np.uint8)
    >>> corpus = hs.corpora.linked(["A red ball."], [[((2, 10), hs.Region((30, 20, 50, 40)))]], images=[grey])
    >>> next(iter(corpus)).links[0].targets
    (Region(box=(30.0, 20.0, 50.0, 40.0)),)
    """
    if not len(items):
        raise InputError("items: expected at least one, found an empty list")
    if len(links) != len(items):
        raise InputError(f"links: expected {len(items):,} lists, one an item, found {len(links):,}")
    pictures = [None] * len(items) if images is None else images
    if len(pictures) != len(items):
        raise InputError(f"images: expected {len(items):,} pictures, one an item, found {len(pictures):,}")
    numbers = range(len(items)) if documents is None else numbers_of(documents, len(items))
    examples: list[Example] = []
    for index, (item, given, picture, number) in enumerate(zip(items, links, pictures, numbers, strict=True)):
        place = f"items[{index}]"
        if item is None and picture is None:
            raise InputError(f"{place}: expected a text or a picture, found neither")
        texts = {} if item is None else _texts(item, place)
        example = Example(**texts, document=number, source=place)
        try:
            found = as_links(given, unit=unit or ("cells" if item is None else _unit(example)))
            examples.append(_linked(example, found, picture, InputError))
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
    ends = "each item" if documents is None else "items of one name in documents="
    name = "linked texts" if images is None else "linked pictures"
    return Corpus(name, partial(iter, examples), strict=strict, documents=ends)


def links_of(example: Example) -> Sequence[Link]:
    """The links of an example, or those that its tree, its coreference or the times of its words make.

    Of a tree each word but the root is linked with its head, by the name of their relation; of coreference each
    mention with those of its cluster that end before it, as ``antecedent``; of speech each word with the frames in
    which it is heard. Raises `CorpusError` where there is none of these.
    """
    if example.links is not None:
        return example.links
    if example.audio is not None and example.words is not None and example.times is not None:
        return [heard_in(index, begin, end) for index, (begin, end) in enumerate(example.times)]
    if example.heads is not None and example.relations is not None:
        trees = enumerate(zip(example.heads, example.relations, strict=True))
        return [
            Link(Span(word, word + 1), (Span(head, head + 1),), name)
            for word, (head, name) in trees
            if head >= 0
        ]
    if example.mentions is None:
        raise example.error("expected links, a tree or coreference, found none")
    found: list[Link] = []
    for place, (start, end, cluster) in enumerate(example.mentions):
        before = [Span(*other[:2]) for other in example.mentions[:place] if other.cluster == cluster]
        targets = tuple(dict.fromkeys(span for span in before if span.end <= start))
        if targets:
            found.append(Link(Span(start, end), targets, "antecedent"))
    return found


def united(links: Iterable[Link]) -> list[Link]:
    """Links with the same source and label (and unit, and kind of targets) as one, in the order of the first of each.

    >>> [link.targets for link in united(as_links([(5, 1), (5, 2)]))]
    [(Span(start=1, end=2, text='a'), Span(start=2, end=3, text='a'))]
    """
    groups: dict[tuple[End, str, Unit, bool], list[Link]] = {}
    for link in links:
        groups.setdefault((link.source, link.label, link.unit, link.to_picture), []).append(link)
    found: list[Link] = []
    for group in groups.values():
        if len(group) == 1 and not group[0].possible:
            found.append(group[0])
            continue
        targets = _once(link.targets for link in group)
        possible = _once(link.possible for link in group)
        listed = [link.candidates for link in group if link.candidates is not None]
        found.append(
            replace(
                group[0],
                targets=tuple(targets),
                possible=tuple(span for span in possible if span not in targets),
                candidates=tuple(_once(listed)) if listed else None,
            )
        )
    return found


def _once(spans: Iterable[Sequence[Span | Region]]) -> dict[Span | Region, None]:
    return dict.fromkeys(span for each in spans for span in each)


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
    whole = united(made)
    for link in whole:
        if link.candidates is None:
            continue
        listed = set(link.candidates)
        for span in (*link.targets, *link.possible):
            if span not in listed:
                found = f"{span.start} to {span.end}" if isinstance(span, Span) else str(span)
                raise fail(f"{link.place}: expected targets among the candidates, found the target {found}")
    return whole


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


def _unit(example: Example) -> Unit:
    """What links count where nothing is said."""
    if example.text is not None:
        return "characters"
    return "words" if example.words is not None else "tokens"


def _texts(item: Any, place: str) -> dict[str, Any]:
    """The fields of an example, from a text, some words, or a pair of either."""
    parts: list[Any] = [item]
    if isinstance(item, tuple) and len(cast("tuple[Any, ...]", item)) == 2:
        parts = list(cast("tuple[Any, ...]", item))
    if all(isinstance(part, str) for part in parts):
        names, read = ("text", "pair"), string
    else:
        names, read = ("words", "pair_words"), strings
    return {
        name: read(part if isinstance(part, str) else list(part), place, InputError)
        for name, part in zip(names, parts, strict=False)
    }


def _examples(document: str | None, lines: Iterable[Line]) -> Iterator[Callable[[], Example]]:
    numbers = Documents(document or "document")
    return (partial(_read, line, document, numbers) for line in lines if line.text.strip())


def _read(line: Line, document: str | None, numbers: Documents) -> Example:
    row = json_object(line)
    if "audio" in row:
        return of_object(row, line, numbers)
    name = named(row, document, line.error)
    picture = None
    if "image" in row:
        picture = Path(line.path).parent / string(row["image"], "'image'", line.error)
        if not picture.is_file():
            raise line.error(f"'image': expected a picture, found nothing at {picture}")
    alone = (
        picture is not None and not {"text", "words", "tokens", "messages", "prompt_token_ids"} & row.keys()
    )
    texts: dict[str, Any] = (
        {"label": scalar(row, "label", line.error)} if alone else fields(row, None, line.error)
    )
    example = Example(**texts, source=line.source)
    if example.messages is not None or example.ids is not None:
        raise line.error("expected links beside 'text', 'words' or 'tokens', found a conversation or ids")
    given: Any = row.get("links")
    if not isinstance(given, list):
        kind = KINDS[type(given)] if "links" in row else "none"
        raise line.error(f"'links': expected a list of objects, found {kind}")
    unit: Unit = "cells" if alone else _unit(example)
    made = [_link(item, f"links[{index}]", unit, line) for index, item in enumerate(cast("list[Any]", given))]
    return replace(
        _linked(example, made, picture, line.error),
        document=numbers.number(line, name),
        document_known=name is not None,
    )


def _linked(example: Example, links: Sequence[Link], image: Any, fail: Fail) -> Example:
    """An example with its links, and a picture that stands beside its text, or alone."""
    if image is None:
        return replace(example, links=checked(links, example, fail))
    for key in ("pair", "pair_words", "pieces"):
        if getattr(example, key) is not None:
            found = key.replace("pieces", "tokens")
            raise fail(f"expected a text or words beside an image, found {found!r}")
    whole = replace(example, links=checked(links, replace(example, image=image), fail), image=image)
    if example.words is None:
        return whole
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
        for link in whole.links or ()
    ]
    return replace(whole, words=None, text=" ".join(example.words), links=links)


def _link(item: Any, place: str, unit: Unit, line: Line) -> Link:
    """A link of a line."""

    def fail(message: str) -> InputError:
        return line.error(f"{place}: {message}")

    if not isinstance(item, dict):
        raise fail(f"expected an object, found {KINDS[type(item)]}")
    keys = cast("dict[str, Any]", item)
    for key in keys:
        if key not in _KEYS:
            raise fail(f"expected the keys {', '.join(_KEYS)}, found {key!r}")
    said = {key: value for key, value in keys.items() if value is not None}
    ends = [key for key in ("to", *_REGIONS) if key in keys]
    if "from" not in keys or not ends:
        key = "to" if "from" in keys else "from"
        raise fail(f"expected a key {key!r}, found {', '.join(map(repr, keys)) or 'none'}")
    if len(ends) > 1:
        raise fail(f"expected one target, found {' and '.join(map(repr, ends))}")
    texts: list[Side] = [said.get(key, "a") for key in ("from_text", "to_text")]
    for key, text in zip(("from_text", "to_text"), texts, strict=True):
        if text not in get_args(Side):
            raise fail(f"{key!r}: expected 'a' or 'b', found {_shown(text)}")
    possible, candidates = said.get("possible", False), said.get("candidates")
    if not isinstance(possible, bool):
        raise fail(f"'possible': expected true or false, found {_shown(possible)}")
    if candidates is not None and not isinstance(candidates, list):
        raise fail(f"'candidates': expected a list of spans, found {_shown(candidates)}")
    source = _end(keys["from"], texts[0], "'from'", fail, line)
    (to,) = ends
    target = _target(keys[to] if to == "to" else {to: keys[to]}, texts[1], f"{to!r}", fail, line)
    return Link(
        source,
        () if possible else (target,),
        string(said.get("label", "link"), "'label'", fail),
        candidates=None
        if candidates is None
        else tuple(
            _target(each, texts[1], f"'candidates'[{index}]", fail, line)
            for index, each in enumerate(cast("list[Any]", candidates))
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
    if not isinstance(value, dict):
        return _span(value, text, name, fail)
    given = cast("dict[str, Any]", value)
    if len(given) != 1 or not given.keys() <= {*_REGIONS}:
        raise fail(f"{name}: expected a key 'box' or 'mask', found {', '.join(map(repr, given)) or 'none'}")
    try:
        if "box" in given:
            return Region([] if given["box"] is None else given["box"])
        mask = given["mask"]
        if isinstance(mask, list):
            return Region(polygons=mask)
        return Region(
            mask=Path(line.path).parent / mask if isinstance(mask, str) else {} if mask is None else mask
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
