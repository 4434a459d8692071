"""Blocks of batches: fixed by the corpus alone, so that runs can be resumed, sharded and merged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice

import numpy as np

from headscope.core.tokens import Tokens
from headscope.core.validation import Count, Number, validated
from headscope.corpora.example import Example
from headscope.errors import InputError


class Block:
    """A numbered run of documents, in batches. Its batches are read once, before the next block.

    Attributes:
        number: from 0, in the order of the corpus.
        open: the documents that have examples in other blocks as well; known when the batches have been read.
    """

    def __init__(self, number: int, batches: Iterator[list[Example]]) -> None:
        self.number = number
        self.open: set[int] = set()
        self._batches: Iterator[list[Example]] | None = batches

    def __repr__(self) -> str:
        return f"Block({self.number})"

    def __iter__(self) -> Iterator[list[Example]]:
        """The batches: lists of examples of similar length."""
        if self._batches is None:
            raise InputError(
                f"block {self.number}: expected to be read once and before the next block is asked for"
            )
        batches, self._batches = self._batches, None
        return batches


@validated
def blocks(
    examples: Iterable[Example],
    *,
    size: Count = 256,
    windows: Count | None = None,
    batch_size: Count = 32,
    tokens_per_batch: Count | None = None,
    same_length: bool | Number = False,
) -> Iterator[Block]:
    """Cut a stream of encoded examples into blocks, of whole documents where `windows` does not say otherwise.

    A block ends with the first document that ends at or after its `size`-th example. In it, each window of
    `size` examples is sorted by length, longest first, and cut into batches; so memory holds one window,
    whatever the length of a document, and batches depend on nothing but the corpus and these numbers.

    Args:
        examples: examples with tokens; those of a document follow one another.
        size: examples of a block, and of a window.
        windows: a block ends after so many windows at the latest, though that may be in the midst of a document,
            which is then among its `open` ones.
        batch_size: most examples of a batch.
        tokens_per_batch: most tokens of a batch, padding included (but a batch has at least one example).
        same_length: all examples of a batch have as many tokens where one has more than this (True: where there are
            several), for models that padding moves.

    Yields blocks in order; what was left unread of a block is passed over when the next one is asked for.

    >>> examples = hs.corpora.builtin().encoded(model)
    >>> [len(batch) for block in hs.corpora.blocks(examples, batch_size=8) for batch in block]
    [8, 8, 8, 2]
    """
    longest = None if windows is None else windows * size
    limits = Limits(batch_size, tokens_per_batch, int(same_length))
    return _blocks(runs(checked(examples), size, longest), size, limits)


def _blocks(given: Iterator[Run], size: int, limits: Limits) -> Iterator[Block]:
    for number, examples, open_ in given:
        block = Block(number, batches(examples, size, limits))
        block.open = open_
        yield block
        block._batches = None  # pyright: ignore[reportPrivateUsage]


def checked(examples: Iterable[object]) -> Iterator[Example]:
    """The examples. A file's name and a list of strings are what is most often given in their place."""
    for example in examples:
        if not isinstance(example, Example):
            is_text = isinstance(examples, str)
            raise InputError(
                f"corpus: expected a corpus or examples, found {'a string' if is_text else type(example).__name__}; "
                'headscope.corpora.text("wiki.txt") reads a file, headscope.corpora.texts([...]) takes strings'
            )
        yield example


@dataclass(frozen=True)
class Limits:
    """What a batch may hold: most examples, most tokens, and above how many these must be as many in each."""

    examples: int
    tokens: int | None
    same_length: int

    def full(self, batch: list[Example], example: Example) -> bool:
        """Whether the next example is no more of this batch, which begins with its longest."""
        if not batch:
            return False
        longest, length = _length(batch[0]), _length(example)
        if batch_key(_tokens(batch[0])) != batch_key(_tokens(example)):
            return True
        crowded = self.tokens is not None and (len(batch) + 1) * longest > self.tokens
        moved = 0 < self.same_length < longest and length != longest
        return crowded or len(batch) == self.examples or moved


Run = tuple[int, Iterator[Example], set[int]]
"""Examples that follow one another, of whole documents where these are not too long: their number from 0; themselves,
to be read once, before the next run is asked for; and the documents that have examples in other runs as well, known
when they have been read."""


def runs(
    stream: Iterator[Example], size: int, longest: int | None, weight: Callable[[Example], int] = lambda _: 1
) -> Iterator[Run]:
    """Cut examples into runs, as `blocks` does, by the sum of their weights."""
    ahead = next(stream, None)
    cut: int | None = None  # the document in the midst of which the last run ended

    def taken(open_: set[int]) -> Iterator[Example]:
        nonlocal ahead, cut
        held, cut = 0, None
        while ahead is not None:
            example, ahead = ahead, next(stream, None)
            held += weight(example)
            goes_on = ahead is not None and ahead.document == example.document
            full = longest is not None and held >= longest
            if full and goes_on:
                cut = example.document
                open_.add(cut)
            yield example
            if full or (held >= size and not goes_on):
                return

    for number in count():
        if ahead is None:
            return
        open_: set[int] = set() if cut is None else {cut}
        examples = taken(open_)
        yield number, examples, open_
        for _ in examples:
            pass


def batches(examples: Iterator[Example], size: int, limits: Limits) -> Iterator[list[Example]]:
    """Each window of `size` examples, sorted by length, longest first, and cut into batches."""
    while window := list(islice(examples, size)):
        window.sort(key=lambda example: -_length(example))
        batch: list[Example] = []
        for example in window:
            if limits.full(batch, example):
                yield batch
                batch = []
            batch.append(example)
        yield batch


def batch_key(tokens: Tokens) -> Hashable:
    """What inputs of one batch agree in: of pictures the grids of patches, of sounds the length; of texts nothing."""
    if tokens.picture is not None and tokens.boxes is not None:
        there = tokens.boxes[~np.isnan(tokens.boxes[:, 0])]
        counts = np.bincount(tokens.medium + 1)[1:].tolist()
        return len(tokens.classes), *counts, len(np.unique(there[:, 0])), len(np.unique(there[:, 1]))
    if tokens.sound is not None and tokens.ids is None:
        return len(tokens), len(tokens.sound.samples)
    return None


def _length(example: Example) -> int:
    return len(_tokens(example))


def _tokens(example: Example) -> Tokens:
    if example.tokens is None:
        raise example.error("expected an example with tokens: give blocks(corpus.encoded(model))")
    return example.tokens
