"""Texts and pictures with links: what belongs to what, in JSON lines or given in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from headscope.core.kinds import is_list, is_tuple
from headscope.core.link import AnyLinks, Link, Named, Span, Unit, as_links
from headscope.core.types import AnyDict
from headscope.core.validation import validated
from headscope.corpora.corpus import Corpus
from headscope.corpora.example import Example
from headscope.corpora.files import Line, Paths
from headscope.corpora.jsonlines import (
    MAIN,
    DocumentNumbers,
    fields,
    json_object,
    label_of,
    string,
    strings,
)
from headscope.corpora.linking import checked, read_links, unit_of, with_links
from headscope.corpora.readers import heard_in, json_lines, numbers_of, of_object
from headscope.errors import InputError


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
    (which are joined by spaces). Where no document is named, lines of one picture that follow one another are one. Its
    links have regions as well:

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
    return json_lines(paths, linked_of, document, strict=strict, kind="links")


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
    numbers = numbers_of(documents, len(items))
    examples: list[Example] = []
    for index, (item, given, picture, number) in enumerate(zip(items, links, pictures, numbers, strict=True)):
        place = f"items[{index}]"
        if item is None and picture is None:
            raise InputError(f"{place}: expected a text or a picture, found neither")
        texts = {} if item is None else _texts(item, place)
        example = Example(**texts, document=number, source=place)
        try:
            made = as_links(given, unit=unit or ("cells" if item is None else unit_of(example)))
            examples.append(with_links(example, made, picture, InputError))
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
    ends = "each item" if documents is None else "items of one name in documents="
    name = "linked texts" if images is None else "linked pictures"
    return Corpus(name, partial(iter, examples), strict=strict, documents=ends)


@validated
def from_class(corpus: Corpus | Iterable[Example], name: str = "cls") -> Corpus:
    """The pictures of a corpus alone, with links from a class of tokens to the regions that its links go to.

    So a model that reads no text can be asked of links from words: does [CLS] look at what the words name?

    Args:
        corpus: with links to regions of pictures. It is read at once, without the pictures that it has as paths.
        name: the class (`headscope.Tokens.named`).

    Raises `CorpusError` for an example without a picture, and `InputError` where no link goes to a region.

    >>> corpus = hs.corpora.from_class(hs.corpora.builtin_images())
    >>> example = next(iter(corpus))
    >>> example.text, example.links[0].source
    (None, Named(name='cls', text='a'))
    """
    examples: list[Example] = []
    for example in corpus:
        if example.image is None:
            raise example.error("expected a picture, found none")
        to_regions = [
            replace(link, source=Named(name), targets=link.targets, unit="cells")
            for link in links_of(example)
            if link.to_picture
        ]
        examples.append(
            replace(
                example,
                text=None,
                words=None,
                links=checked(to_regions, replace(example, text=None), example.error),
            )
        )
    if not any(example.links for example in examples):
        raise InputError("corpus: expected links to regions of pictures, found none")
    title = corpus.name if isinstance(corpus, Corpus) else "pictures"
    return Corpus(f"{title}, from {name}", partial(iter, examples))


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
    made: list[Link] = []
    for place, (start, end, cluster) in enumerate(example.mentions):
        before = [Span(*other[:2]) for other in example.mentions[:place] if other.cluster == cluster]
        targets = tuple(dict.fromkeys(span for span in before if span.end <= start))
        if targets:
            made.append(Link(Span(start, end), targets, "antecedent"))
    return made


def _texts(item: Any, place: str) -> AnyDict:
    """The fields of an example, from a text, some words, or a pair of either."""
    parts: list[Any] = [item]
    if is_tuple(item) and len(item) == 2:
        parts = list(item)
    if all(isinstance(part, str) for part in parts):
        names, read = ("text", "pair"), string
    else:
        names, read = ("words", "pair_words"), strings
    return {
        name: read(part if isinstance(part, str) else list(part), place, InputError)
        for name, part in zip(names, parts, strict=False)
    }


def linked_of(line: Line, numbers: DocumentNumbers) -> Example:
    """The example of a line with links. Raises `CorpusError` where it is none."""
    row = json_object(line)
    if "audio" in row:
        return of_object(row, line, numbers)
    name = numbers.named(line, row)
    picture = None
    if "image" in row:
        picture = Path(line.path).parent / string(row["image"], "'image'", line.error)
        if not os.path.isfile(picture):
            raise line.error(f"'image': expected a picture, found nothing at {picture}")
    if picture is None or not row.keys().isdisjoint(MAIN):
        given: AnyDict = fields(row, None, line.error)
    else:  # it stands alone
        given = {"label": label_of(row, "label", line.error)}
    example = Example(**given, source=line.source)
    if example.messages is not None or example.ids is not None:
        raise line.error("expected links beside 'text', 'words' or 'tokens', found a conversation or ids")
    known = name if name is not None or picture is None else str(picture)
    return replace(
        read_links(row, example, picture, line),
        **numbers.of(line, known, repeat=name is None),
    )


@validated
def negations(paths: Paths, *, strict: bool = False) -> Corpus:
    """JSON lines, one negation each: ``{"words": […], "cue": [2], "scope": [0, 1, 3]}``, places counted from 0.

    A sentence with several negations has a line for each. The cue may be in its scope or not: it is never scored. A
    line may have a `document` (string or number) as in `headscope.corpora.jsonl`; one without is a document of its own.
    Lines that are anything else are left out and listed (`Corpus`), or, where it is `strict`, refused with a
    `CorpusError` that names file and line.

    >>> negation = next(iter(hs.corpora.negations("scopes.jsonl")))
    >>> negation.words, negation.cue, negation.scope
    (['He', 'did', 'not', 'see'], [2], [0, 1, 3])
    """
    return json_lines(paths, negation_of, strict=strict)


def negation_of(line: Line, documents: DocumentNumbers) -> Example:
    """The example of a line with a negation. Raises `CorpusError` where it is none."""
    fields = json_object(line)
    words = strings(fields.get("words"), "'words'", line.error)
    places: AnyDict = {}
    for key in ("cue", "scope"):
        value = fields.get(key)
        if not is_list(value) or (key == "cue" and not value):
            kind = "an empty list" if value == [] else "none"
            raise line.error(f"{key!r}: expected a list of places, found {kind}")
        for index in value:
            if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(words):
                raise line.error(f"{key!r}: expected places from 0 to {len(words) - 1}, found {index!r}")
        places[key] = value
    return Example(words=words, **places, **documents.of_row(line, fields))
