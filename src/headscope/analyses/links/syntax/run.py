"""Dependency syntax of a treebank in every head of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Unpack

import numpy as np
import xarray as xr

from headscope.analyses.links.engine import Answered, LinkEngine
from headscope.analyses.links.questions import AskedExample, Way
from headscope.analyses.links.sums import LinkSums
from headscope.analyses.links.syntax import statistics as spanning
from headscope.analyses.links.syntax.statistics import DIRECTIONS, by_offsets, dataset
from headscope.analyses.long_runs import long_run
from headscope.analyses.options import BlockOptions
from headscope.core.arrays import Bools, Ints
from headscope.core.failures import warn
from headscope.core.link import Link, Span
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, Offset, Seed
from headscope.core.words import Rows
from headscope.corpora import Example
from headscope.corpora.given import AnnotatedCorpus
from headscope.errors import InputError
from headscope.measures.surface import Preset
from headscope.models import Model
from headscope.runs.estimate import CLUSTERS
from headscope.runs.forward import gold
from headscope.runs.long import Kind, Run
from headscope.runs.options import RunOptions
from headscope.statistics.jackknife import false_discovery

OFFSETS = tuple(offset for offset in range(-5, 6) if offset)
"""The baselines: the word at each of these distances."""

_CODE_OFFSETS = tuple(range(-3, 3))


_TREES = "trees"


def _figures(sums: LinkSums, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    options = {"seed": about["seed"], "least": about["least"]}
    result = dataset(sums, **options, meta=meta)
    if _TREES not in sums.others:
        return result
    if not len(sums.others[_TREES]):
        warn("trees: no sentence has two words, so no tree has an edge", 3)
        return result
    more = dataset(sums.other(_TREES, spanning.CHAINS), **options)
    joined = xr.concat([result, more.sel(relation=[spanning.UAS, spanning.UUAS])], "relation", join="outer")
    return joined.assign(q=(("relation",), false_discovery(joined["p"].values)))


KIND = Kind("syntax", LinkSums.from_arrays, _figures, noun="sentence", grows=CLUSTERS)


@long_run(KIND)
def syntax(
    model: Model,
    treebank: AnnotatedCorpus | Iterable[Example],
    *,
    rows: Rows | None = None,
    preset: Preset | None = None,
    offsets: Sequence[Offset] | None = None,
    least: Count = 100,
    trees: bool = False,
    seed: Seed = 0,
    **options: Unpack[BlockOptions],
) -> Run[LinkSums]:
    """Accuracy of every head, in both directions, at every dependency relation (Clark et al. 2019, table 1).

    A head's prediction of a word's head is the word that it looks at most (``dep->head``), or that looks at it
    most (``head->dep``), among the other words of the sentence.

    Args:
        model: from `headscope.load`. Of an encoder-decoder, the encoder is measured.
        treebank: `headscope.corpora.conllu`, or examples with words, heads, relations and tokens.
        rows: attention from a word is the ``mean`` over its pieces (the paper), or that of its ``first`` piece
            (the released code, and the preset's default).
        preset: ``clark2019`` does what the released code does: first pieces, token types all 0, offsets of −3 to
            2 that are cut off at the sentence's ends, and a ``poss`` before ``'s`` that counts as right where the
            prediction of ``'s`` is its head.
        offsets: of the baselines.
        least: instances that a relation needs for a best head to be named.
        trees: also the maximum spanning tree of each head: UAS and UUAS. It has the gold root (Htut et al. 2019), in
            rows ``tree UAS`` and ``tree UUAS`` (edges without their direction); baselines are chains of neighbours.
            Takes longer.
        seed: of the divisions into parts, to choose heads on some and to score them on others.
        batch_size: sentences in a batch, at most; long ones come in fewer.
        limit: use at most this many sentences.

    Returns:
        See `headscope.analyses.links.syntax.statistics.dataset`; `headscope.table` makes a table of it.

    Raises:
        CorpusError: a broken treebank, with file and line; a sentence that is longer than the model takes.

    >>> accuracies = hs.syntax(model, hs.corpora.builtin_trees(), limit=40, least=10)
    >>> float(accuracies["accuracy"].sel(relation="det").max()) > 0.8
    True
    """
    code = preset is not None
    rows = rows or ("first" if code else "mean")
    if offsets is not None and not len(offsets):
        raise InputError("offsets: expected at least one, found none")
    by = tuple(offsets) if offsets is not None else _CODE_OFFSETS if code else OFFSETS
    if trees:
        spanning.maker()
    return Dependencies(model, by, rows, code=code, trees=trees).over(
        KIND,
        treebank,
        RunOptions(**options),
        decides={"rows": rows, "preset": preset},
        identity={"offsets": list(by), "trees": trees},
        about={"seed": seed, "least": least},
    )


def relations_of(example: Example) -> list[Link]:
    """The links from each word to its head, by their relations; the root has none."""
    _, heads, relations = gold(example)
    return [
        Link(Span(word, word + 1), (Span(head, head + 1),) if head >= 0 else (), relation)
        for word, (head, relation) in enumerate(zip(heads.tolist(), relations, strict=True))
    ]


class Dependencies(LinkEngine):
    """The head of each word, by its row and by its column."""

    def __init__(
        self,
        model: Model,
        offsets: Sequence[int] = OFFSETS,
        rows: Rows = "mean",
        *,
        code: bool = False,
        trees: bool = False,
    ) -> None:
        ways = [
            Way(name, direction, "any") for name, direction in zip(DIRECTIONS, ("row", "column"), strict=True)
        ]
        super().__init__(model, ways, offsets, rows=rows, token_types=not code)
        self.settle = self._possessive if code else None
        self.look = self._edges if trees else None

    def links(self, example: Example) -> Sequence[Link]:
        """The links from each word to its head; the root has none."""
        return relations_of(example)

    def guesses(self, asked: AskedExample) -> Bools:
        """Whether the words at the offsets are the heads."""
        _, heads, relations = gold(asked)
        return by_offsets(len(relations), self.baselines, clip=self.settle is not None) == heads

    def _possessive(self, asked: AskedExample, right: Bools, chosen: Ints) -> Bools:
        """The released code: a ``poss`` before ``'s`` is right as well where the head of it is chosen for ``'s``."""
        words, heads, relations = gold(asked)
        before = [
            name == "poss" and form in ("'s", "s'") for name, form in zip(relations, words[1:], strict=False)
        ]
        right[..., :-1] |= (chosen[..., 1:] == heads[:-1]) & np.array(before, np.bool_)
        return right

    def _edges(self, asked: AskedExample, _: int, maps: np.ndarray) -> Bools:
        """The edges of a layer's spanning trees that are right."""
        return spanning.edges(maps, gold(asked)[1])

    def begin(self, sums: LinkSums) -> None:
        """Beside the words, the edges of whole trees."""
        if self.look is not None:
            sums.others[_TREES] = sums.empty(len(spanning.CHAINS))

    def add(self, sums: LinkSums, answered: Answered, cluster: int) -> None:
        """The words of a sentence, and the edges of its trees."""
        super().add(sums, answered, cluster)
        if self.look is not None:
            edges = spanning.instances(sums, answered.looked, gold(answered.asked)[1])
            sums.add(*edges, cluster, other=_TREES)
