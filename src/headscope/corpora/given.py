"""What stands where a corpus is expected: texts, pairs, conversations, tables, rows, pictures, and what gives them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Annotated, Any, cast

import numpy as np

from headscope.core.kinds import is_mapping, is_object, is_tuple
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyPath
from headscope.core.validation import Expected, InPlace, taken_as
from headscope.corpora.clusters import clusters, sentences_of
from headscope.corpora.conll2012 import conll2012
from headscope.corpora.corpus import Corpus, Read
from headscope.corpora.datasets import dataset
from headscope.corpora.example import Example, Unmatched
from headscope.corpora.files import Files, Line
from headscope.corpora.formats import converted, known_format, record_format
from headscope.corpora.held import kind_of
from headscope.corpora.jsonlines import DocumentNumbers, each_of, json_object, strings
from headscope.corpora.links import linked_of, links, negation_of
from headscope.corpora.perceived import images
from headscope.corpora.prompts import asked_of, prompts
from headscope.corpora.readers import examples_of, jsonl, of_text, text, text_of
from headscope.corpora.rows import MemoryRow, Replayed, columns_of, plain, values_of
from headscope.corpora.shapes.rows import Kind
from headscope.corpora.tables import table
from headscope.corpora.treebank import conllu, tree_of
from headscope.errors import InputError

AnnotatedCorpus = Annotated[Corpus, Expected(rows="annotations")]
"""A corpus with links, trees, coreference or negations."""

PromptCorpus = Annotated[Corpus, Expected(rows="prompts")]
"""A corpus of prompts."""

_NONE = object()


@taken_as(Corpus)
def corpus_of(value: Any, place: InPlace) -> Any:
    """What stands in the place of a corpus, as one; or as it is, where it is one already, or none can be made of it.

    Its first item tells what it is. What can be read only once is held as it is read, but for examples with tokens.

    Raises `InputError` for what could mean several things, and for rows without a text.
    """
    if _is(value, os.PathLike):
        return _of_file(os.fspath(cast("AnyPath", value)), place.rows)
    if _is(value, Corpus, str, bytes, Tokens) or hasattr(value, "read"):
        return value
    if _is(value, Example):
        value = [value]
    if _is_pair(value) and not place.fits:
        raise InputError(
            f"{place.name}: expected texts, or pairs of texts, found a tuple of two strings; "
            '["a", "b"] are two texts, [("a", "b")] is a pair'
        )
    if (columns := columns_of(value)) is not None:
        return _of_rows(columns, columns.column_names, place.rows)
    if _is(value, Mapping):
        return dataset(value) if value else value  # which says what it expects
    if not _is(value, Iterable) or _is_pair(value) or getattr(value, "ndim", 1) == 0:
        return value
    listed = place.fits and _is(value, Sequence)
    if hasattr(value, "to_pylist"):
        value = values_of(value)
    elif _is(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "OTU":
        value = [(*row,) for row in value.tolist()]
    once = _is(value, Iterator)
    first: Any = next(iter(value), _NONE)
    items: Any = chain([first], value) if once and first is not _NONE else value
    if _is(first, Example):
        raw = first.tokens is None
        return Corpus("examples", partial(iter, _kept(items)), strict=True) if raw else items
    if listed:
        return items
    if _is(first, Mapping) and {"role", "content"} <= first.keys():
        return dataset([{"messages": list(items)}])
    if _is(first, list) and first and all(_is(word, str) for word in first):
        raise InputError(
            f'{place.name}[0]: expected a text, found a list of strings; ("a", "b") is a pair of texts, '
            '{"words": ["a", "b"]} a text in words'
        )
    if _is(first, list) and first and all(_is(turn, Mapping) for turn in first):
        return dataset(Replayed[Any]({"messages": turns} for turns in items))
    if _is(first, Mapping) and "image" not in first:
        return _of_rows(_kept(items), [*first], place.rows)
    if _is(first, Mapping) or _is_picture(first):
        return images(_kept(items))
    if _is(first, str, tuple):
        return _of_texts(_kept(items), place.name)
    return items


def _of_file(path: str, rows: str) -> Corpus:
    """What a file holds, told from its name, or else from how it begins."""
    if rows == "prompts":
        return prompts(path)
    known, held = known_format(path), kind_of(path)
    if rows == "annotations" and held == "jsonl":
        first = (
            next((json_object(line) for line in Files(path, records=True)), AnyDict())
            if known is None
            else {}
        )
        chains = "sentences" in first or (known is not None and "links" not in known.reads)
        return clusters(path) if chains else links(path)
    return _READERS[held](path)


_READERS: Mapping[str, Callable[[str], Corpus]] = {
    "text": text, "jsonl": jsonl, "csv": table, "tsv": table, "conllu": conllu, "conll2012": conll2012,
    "parquet": dataset, "arrow": dataset,
}  # fmt: skip


def _is(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds)


def _kept(items: Any) -> Any:
    """Items that can be read again and again."""
    return Replayed[Any](items) if _is(items, Iterator) else items


def _of_texts(items: Any, name: str) -> Corpus:
    """Texts and pairs of texts. Raises `InputError` where all of them are names of files."""

    def read() -> Iterator[Example]:
        return (text_of(item, index, index) for index, item in enumerate(items))

    if not _is(items, Replayed):
        items = values_of(items) if hasattr(items, "tolist") or hasattr(items, "to_list") else list(items)
        if items and all(_is(item, str) and _is_file(item) for item in items):
            raise InputError(
                f"{name}: expected texts, found names of files; headscope.corpora.text({items[0]!r}) reads one, "
                "headscope.corpora.texts([...]) takes the names as texts"
            )
        items = [*read()]
        return Corpus("texts", partial(iter, items), documents="each text")
    return Corpus("texts", read, documents="each text")


def _is_file(name: str) -> bool:
    return len(name) < 4096 and "\0" not in name and os.path.isfile(name)


def _of_rows(rows: Any, names: Sequence[str], hold: str) -> Corpus:
    """Rows of texts, or of what else they hold in the place of a corpus of such (`AnnotatedCorpus`, `PromptCorpus`)."""
    first, remarks = plain(next(iter(rows), None)), list[str]()
    known = record_format([first]) if is_object(first) else None
    kind: Kind = "prompts" if hold == "prompts" else "links" if hold else "texts"
    if known is None and not hold:
        return dataset(rows)
    if hold == "annotations" and "sentences" in names:
        read = partial(sentences_of, Unmatched(), False)
    else:
        one = {"prompts": asked_of, "": partial(of_text, None)}.get(hold) or _reader(names)
        read = partial(examples_of, one, None)

    def lines() -> Iterator[Line]:
        return _lines(rows) if known is None else converted("rows", known, kind, _lines(rows), remarks)

    return Corpus(
        "rows", lambda: cast("Read", read(lines())), documents=each_of(None, "row"), remarks=remarks
    )


def _reader(names: Sequence[str]) -> Callable[[Line, DocumentNumbers], Example]:
    if "cue" in names:
        return negation_of
    return _tree if {"heads", "head"} & {*names} else linked_of


def _lines(rows: Iterable[Any]) -> Iterator[Line]:
    """Rows as lines of JSON, without what is missing in them."""
    for index, row in enumerate(rows):
        held: Any = plain(row)
        if is_mapping(held):
            held = {str(name): value for name, value in held.items() if value is not None}
        yield MemoryRow("rows", index, json.dumps(held, default=str))


def _tree(line: Line, numbers: DocumentNumbers) -> Example:
    """A sentence: ``words heads relations``, from 0, the root's head -1; or ``tokens head deprel``, as in CoNLL-U."""
    row = json_object(line)
    counted = "heads" in row
    keys = ("words", "heads", "relations") if counted else ("tokens", "head", "deprel")
    words, relations = (strings(row.get(key), repr(key), line.error) for key in (keys[0], keys[2]))
    try:
        heads = [int(head) + counted for head in row[keys[1]]]
    except (TypeError, ValueError):
        raise line.error(
            f"{keys[1]!r}: expected a list of whole numbers, found {row[keys[1]]!r:.60}"
        ) from None
    for key, values in ((keys[1], heads), (keys[2], relations)):
        if len(values) != len(words):
            raise line.error(f"{key!r}: expected {len(words)}, one a word, found {len(values)}")
    tags = row.get("tags") if counted else row.get("upos")
    return Example(
        **tree_of(words, heads, relations, line.error),
        tags=strings(tags, "'tags'", line.error)
        if tags is not None and all(isinstance(tag, str) for tag in tags)
        else None,
        **numbers.of_row(line, row),
    )


def _is_pair(value: object) -> bool:
    return is_tuple(value) and len(value) == 2 and all(isinstance(part, str) for part in value)


def _is_picture(value: Any) -> bool:
    """Whether something is a picture: of Pillow, or numbers ``[row column channel]``."""
    return hasattr(value, "getexif") or (getattr(value, "ndim", 0) == 3 and value.shape[-1] in (1, 3, 4))
