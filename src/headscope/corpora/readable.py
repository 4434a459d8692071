"""Inputs to be read on a page: whole sentences, of which something can be seen, and never cut."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from headscope.core.tokens import Tokens
from headscope.corpora.corpus import Corpus
from headscope.corpora.encoder import Counts, Encoder
from headscope.corpora.example import Example
from headscope.corpora.packing import LeaveOut, fitted, measured, packed

LEAST = 3
"""The fewest pieces of an input that are neither special nor punctuation."""

HEADING = re.compile(r"=+ .+ =+")
"""A line that is a heading, as in WikiText."""

_END = re.compile(r"""(\S*?)\s?[.!?…]+["'”’)\]]*\s+(?=["'“‘(\[]*(\w))""")
_TITLES = {
    "Mr",
    "Mrs",
    "Ms",
    "Dr",
    "St",
    "Prof",
    "Jr",
    "Sr",
    "vs",
    "cf",
    "e.g",
    "i.e",
    "etc",
    "No",
    "Fig",
    "Inc",
}


def readable(model: Encoder, corpus: Corpus, pack: int) -> Iterator[Example]:
    """Whole inputs of a corpus with their tokens: lines packed to `pack` tokens, or one of at most twice as many.

    A text that is longer gives its sentences; what is longer still, headings and inputs of fewer than `LEAST` pieces
    are passed over.
    """
    most = 2 * pack if model.max_length is None else min(2 * pack, model.max_length)
    lines = sentences(model, corpus.examples(), most)
    pass_over: LeaveOut = lambda _: None  # noqa: E731 (the run over the corpus has said so)
    if corpus.pack is None:
        inputs = fitted(model, lines, None, Counts(), pass_over)
    else:
        inputs = packed(model, lines, min(corpus.pack, pack), Counts(), pass_over, longest=most)
    return (example for example in inputs if example.tokens is not None and _says(example.tokens))


def sentences(model: Encoder, examples: Iterable[Example], most: int) -> Iterator[Example]:
    """Examples of at most so many tokens, special ones included, and the sentences of texts that are longer."""
    for example, size in measured(model, examples):
        if example.text is not None and _empty(example.text):
            continue
        if size <= most:
            yield example
        elif example.text is not None and example.pair is None:
            parts = [replace(example, text=part) for part in split(example.text)]
            yield from (part for part, length in measured(model, parts) if length <= most)


def split(text: str) -> list[str]:
    """The sentences of a text, told by how they end and begin: not after an initial or a title.

    >>> split("Mr. J. Smith left. He said (in 1990.) He was done! Was he?")
    ['Mr. J. Smith left.', 'He said (in 1990.)', 'He was done!', 'Was he?']
    """
    ends = [match.end() for match in _END.finditer(text) if _ends(match[1].strip("(“\"'["), match[2])]
    parts = (text[start:end].strip() for start, end in zip([0, *ends], [*ends, len(text)], strict=True))
    return [part for part in parts if part]


def _empty(text: str) -> bool:
    """Whether a line is a heading, or has no word."""
    return HEADING.fullmatch(text.strip()) is not None or not any(map(str.isalnum, text))


def _ends(last: str, first: str) -> bool:
    """Whether a sentence ends between a word and the first character of the next."""
    initial = len(last) == 1 and last.isupper()
    return not (initial or last in _TITLES or first.islower())


def _says(tokens: Tokens) -> bool:
    return int((~tokens.mask("special") & ~tokens.mask("punctuation")).sum()) >= LEAST
