"""The gold trees of a treebank in flat arrays, and the control task that has nothing to do with them."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from headscope.core.arrays import Bools, Ints
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.statistics.resample import Clusters


@dataclass(frozen=True, eq=False)
class Trees:
    """Sentences, one after another.

    Attributes:
        starts: where each sentence begins among the words, and where the last one ends, ``[sentence + 1]``.
        heads: the place of each word's head in its sentence, −1 for the root, ``[word]``.
        punct: whether a word's relation is ``punct`` (or a subtype of it), ``[word]``.
        forms: the number of each word's form in the vocabulary, ``[word]``.
        clusters: of each sentence (`headscope.statistics.resample.Clusters`), ``[sentence]``; None: each is one.
        kind: what the clusters are, documents or sentences.
    """

    starts: Ints
    heads: Ints
    punct: Bools
    forms: Ints
    clusters: Ints | None = None
    kind: str = "sentences"

    @classmethod
    def read(cls, examples: Iterable[Example], vocabulary: dict[str, int]) -> Trees:
        """Those of a treebank. New forms, as they are spelled, are added to `vocabulary`.

        Raises `CorpusError` for an example without a tree, `InputError` where there is none at all.
        """
        starts, heads, forms, punct = array("q", [0]), array("q"), array("q"), array("b")
        clusters, numbers = Clusters(), array("q")
        for example in examples:
            if example.words is None or example.heads is None or example.relations is None:
                raise example.error("expected a sentence with words, heads and relations, found none")
            heads.extend(example.heads)
            forms.extend(vocabulary.setdefault(word, len(vocabulary)) for word in example.words)
            punct.extend(relation.split(":")[0] == "punct" for relation in example.relations)
            starts.append(len(heads))
            numbers.append(clusters.number(example.document, example.document_known))
        if len(starts) == 1:
            raise InputError("treebank: expected at least one sentence, found none")
        places, above, words, groups = (
            np.array(column, np.int64) for column in (starts, heads, forms, numbers)
        )
        return cls(places, above, np.array(punct, np.bool_), words, groups, clusters.kind)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ints:
        """Words of each sentence."""
        return np.diff(self.starts)

    def words(self, sentence: int) -> slice:
        """The words of a sentence among all words."""
        return slice(int(self.starts[sentence]), int(self.starts[sentence + 1]))

    def control(self, behaviours: Ints) -> Trees:
        """The same sentences with the heads of the control task of Hewitt and Liang 2019 (section 2.2).

        Each form attaches to itself (0), to the first word of the sentence (1) or to the last (2), wherever it
        stands: `behaviours` says so for each form of the vocabulary. Nobody can know these heads but by
        memorising the forms.
        """
        sizes = self.lengths
        itself = np.arange(len(self.heads)) - np.repeat(self.starts[:-1], sizes)
        last = np.repeat(sizes - 1, sizes)
        heads = np.choose(behaviours[self.forms], [itself, np.zeros_like(itself), last])
        return replace(self, heads=heads)

    def right_branching(self) -> Ints:
        """The heads of the right-branching baseline: each word's is the next word, the last word is the root."""
        sizes = self.lengths
        heads = np.arange(1, len(self.heads) + 1) - np.repeat(self.starts[:-1], sizes)
        heads[self.starts[1:] - 1] = -1
        return heads

    def fingerprint(self) -> str:
        """A checksum of the trees and their words."""
        digest = hashlib.sha256()
        for values in (self.starts, self.heads, self.punct, self.forms):
            digest.update(np.ascontiguousarray(values).data)
        return digest.hexdigest()[:16]


def behaviours(forms: int, seed: int) -> Ints:
    """What each form of a vocabulary does in the control task, drawn from `seed`: 0, 1 or 2 (see `Trees.control`)."""
    return np.random.default_rng([seed, 0xC0]).integers(3, size=forms)


def ancestors(heads: Ints) -> Bools:
    """Which words stand above each word of a tree, itself included, ``[word word]``."""
    ancestors = np.eye(len(heads), dtype=np.bool_)
    above = heads.copy()
    while (below := np.flatnonzero(above >= 0)).size:
        ancestors[below, above[below]] = True
        above[below] = heads[above[below]]
    return ancestors


def depths(heads: Ints) -> Ints:
    """Edges between each word and the root, ``[word]``."""
    return ancestors(heads).sum(1) - 1


def distances(heads: Ints) -> Ints:
    """Edges between any two words, ``[word word]``."""
    above = ancestors(heads).astype(np.int64)
    depth = above.sum(1)
    return depth[:, None] + depth - 2 * (above @ above.T)
