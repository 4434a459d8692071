"""How much a model heeds words of each class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.similar.reader import TextReader
from headscope.corpora import Corpus, Example
from headscope.errors import InputError

NOT = ("not", "n't", "no", "never", "nothing", "nobody", "none", "neither", "nor", "cannot")
"""Words of negation."""

CLASSES = {
    "NOUN": "noun",
    "PROPN": "name",
    "VERB": "verb",
    "ADJ": "adjective",
    "ADV": "adverb",
    "NUM": "number",
    "PUNCT": "punctuation",
    **dict.fromkeys(("ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "SCONJ"), "function word"),
}
"""Classes of words, by their universal part of speech; the others have none."""


def heeded(readers: Sequence[TextReader], trees: Corpus | Iterable[Example]) -> pd.DataFrame:
    """What each word's absence does to how near its text is to itself, as a multiple of a word's of that text.

    One row a word: ``label`` (its class), ``document``, and of each reader its number. A text is left out in which a
    word has no token of its own.
    """
    rows: list[Any] = []
    for example in trees:
        if example.words is None or example.tags is None:
            raise example.error("expected words with their parts of speech, found none")
        try:
            read = [reader.words(example.words, example.source, example.spaces) for reader in readers]
        except InputError:
            continue
        lost: list[Any] = []
        for reader, one in zip(readers, read, strict=True):
            near = reader.near(one.vectors, one.vectors[:1])[:, 0]
            sizes = (near[0] - near[1:]).abs().numpy()
            lost.append(sizes / max(float(sizes.mean()), np.finfo(float).tiny))
        for word, tag, *figures in zip(example.words, example.tags, *lost, strict=True):
            label = "negation" if word.lower() in NOT else CLASSES.get(tag)
            if label:
                rows.append((label, example.document, *figures))
    return pd.DataFrame(rows, columns=["label", "document", *range(len(readers))])
