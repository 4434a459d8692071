"""A corpus with each of its documents once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from hashlib import blake2b

from headscope.core.failures import Bounded
from headscope.core.validation import validated
from headscope.corpora.content import spelled_out
from headscope.corpora.corpus import Corpus, Read
from headscope.corpora.example import Example
from headscope.errors import CorpusError


@validated
def distinct(corpus: Corpus) -> Corpus:
    """A corpus without the documents that are the same as one before.

    Documents are the same where all that is read and annotated is; a document is held in memory as it is read, and a
    hash of each thereafter. Without it a document that is there twice is two, so that errors by document are too small
    (a run says how many there are).

    >>> corpus = hs.corpora.texts(["The cat sat.", "A dog barked.", "The cat sat."])
    >>> [example.text for example in hs.corpora.distinct(corpus)]
    ['The cat sat.', 'A dog barked.']
    """
    filtered = copy(corpus)
    filtered.__dict__.update(
        _read=partial(_once, corpus._read),  # pyright: ignore[reportPrivateUsage]
        broken=Bounded[CorpusError](),
        _warned=set[str](),
    )
    return filtered


def _once(read: Callable[[], Read]) -> Iterator[Example | Callable[[], Example]]:
    seen: set[bytes] = set()
    document: list[Example] = []

    def new() -> bool:
        digest = blake2b(digest_size=16)
        for part in (part for example in document for part in spelled_out(example)):
            digest.update(len(part).to_bytes(8, "little") + part)
        known = digest.digest() in seen
        seen.add(digest.digest())
        return not known

    for item in read():
        try:
            example = item() if callable(item) else item
        except CorpusError as error:
            yield partial(_raise, error)
            continue
        if document and example.document != document[0].document:
            if new():
                yield from document
            document = []
        document.append(example)
    if document and new():
        yield from document


def _raise(error: CorpusError) -> Example:
    raise error
