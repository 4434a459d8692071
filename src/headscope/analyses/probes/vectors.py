"""Vectors of words: from a text file of GloVe or word2vec, of which only the words that are needed are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headscope.core.arrays import Bools, Singles
from headscope.corpora.files import Files
from headscope.errors import CorpusError


@dataclass(frozen=True, eq=False)
class Vectors:
    """A vector for each form of a vocabulary.

    Attributes:
        name: where they are from, for tables.
        values: ``[form size]``; zeros for a form that has none.
        known: which forms have one.
    """

    name: str
    values: Singles
    known: Bools

    def standardised(self, forms: int) -> Singles:
        """The vectors less the mean of the first `forms` known ones, over their standard deviation (one number).

        Probes are linear in them or begin with a linear layer, so it changes nothing that they could express; they
        train alike on vectors of any scale. Unknown forms stay zero: an average word.
        """
        counted = self.known & (np.arange(len(self.known)) < forms)
        if not counted.any():
            return self.values
        mean = self.values[counted].mean(0, dtype=np.float64)
        spread = float((self.values[counted] - mean).std()) or 1.0
        return np.where(self.known[:, None], (self.values - mean) / spread, 0.0).astype(np.float32)


def read_vectors(path: str | Path, vocabulary: Mapping[str, int]) -> Vectors:
    """Vectors of the forms of a vocabulary: one line a word, the word and its numbers parted by blanks.

    A first line of two whole numbers (word2vec's count and size) is passed over. A form that the file does not have
    as it is spelled gets the vector of its lower case. Of a word that comes twice the first one counts.

    Raises `CorpusError` with file and line for a line with another number of numbers, for one that is not finite, and
    where the file has none of the words.
    """
    lower: dict[str, list[int]] = {}
    for form, number in vocabulary.items():
        lower.setdefault(form.lower(), []).append(number)
    size, values = 0, np.zeros((len(vocabulary), 0), np.float32)
    exact, any_case = np.zeros(len(vocabulary), np.bool_), np.zeros(len(vocabulary), np.bool_)
    files = Files(path)
    for line in files:
        parts = line.text.rstrip(" \t").replace("\t", " ").split(" ")
        if line.number == 1 and len(parts) == 2 and all(map(str.isdigit, parts)):
            continue
        if not size:
            size = len(parts) - 1
            if size < 1:
                raise line.error(f"expected a word and its numbers, found {parts[0][:40]!r}")
            values = np.zeros((len(vocabulary), size), np.float32)
        if len(parts) <= size:
            raise line.error(f"expected a word and {size} numbers, found {len(parts) - 1} numbers")
        word = " ".join(parts[:-size])  # some words of GloVe's largest file hold blanks
        form = vocabulary.get(word)
        as_spelled = form is not None and not exact[form]
        forms = [number for number in lower.get(word, ()) if not exact[number] and not any_case[number]]
        if not as_spelled and not forms:
            continue
        try:
            vector = np.array(parts[-size:], np.float32)
        except ValueError:
            raise line.error(
                f"{word!r}: expected {size} numbers, found {_not_a_number(parts[-size:])!r}"
            ) from None
        if not np.isfinite(vector).all():
            raise line.error(f"{word!r}: expected finite numbers, found inf or nan")
        values[forms] = vector
        any_case[forms] = True
        if as_spelled:
            values[form] = vector
            exact[form] = True
    known: Bools = exact | any_case
    if not known.any():
        raise CorpusError(
            files.paths[0], None, "expected vectors of the treebank's words, found none of them"
        )
    return Vectors(files.name, values, known)


def _not_a_number(parts: list[str]) -> str:
    for part in parts:
        try:
            float(part)
        except ValueError:
            return part
    return ""
