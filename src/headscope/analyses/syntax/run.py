"""Dependency syntax of a treebank in every head of a model."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from headscope.analyses.over_words import description, over_word_maps
from headscope.analyses.result import returns_result
from headscope.analyses.syntax import trees as spanning
from headscope.analyses.syntax.statistics import Words, by_offsets, dataset, predictions
from headscope.corpora import Corpus, Example
from headscope.deprecated import unused
from headscope.doors import Count, Offset, Seed, validated
from headscope.errors import HeadscopeWarning, InputError
from headscope.measures.resample import Clusters
from headscope.measures.significance import false_discovery
from headscope.measures.surface import Preset
from headscope.models import Model
from headscope.stream.batches import examples
from headscope.stream.estimate import CLUSTERS, ahead, line
from headscope.stream.words import gold
from headscope.tokens import BoolArray, IntArray
from headscope.words import Rows

Gold = tuple[Sequence[str], IntArray, Sequence[str]]
"""Words, heads and relations of a sentence."""

Annotated = tuple[Gold, Example]
"""They, and the sentence."""

OFFSETS = tuple(offset for offset in range(-5, 6) if offset)
"""The baselines: the word at each of these distances."""

_CODE_OFFSETS = tuple(range(-3, 3))


@unused("replicates")
@returns_result
@validated
def syntax(
    model: Model,
    treebank: Corpus | Iterable[Example],
    *,
    rows: Rows | None = None,
    preset: Preset | None = None,
    offsets: Sequence[Offset] | None = None,
    least: Count = 100,
    trees: bool = False,
    seed: Seed = 0,
    limit: Count | None = None,
    batch_size: Count = 32,
    progress: bool = False,
) -> xr.Dataset:
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
        trees: also the maximum spanning tree of each head, with the gold root (Htut et al. 2019): rows ``tree UAS`` and
            ``tree UUAS`` (edges without their direction); baselines are chains of neighbours. Takes longer.
        seed: of the divisions into parts, to choose heads on some and to score them on others.
        limit: use at most this many sentences.
        batch_size: sentences in a batch, at most.
        progress: show progress on stderr.

    Returns:
        See `headscope.analyses.syntax.statistics.dataset`; `headscope.table` makes a table of it.

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
        spanning.library()
    started, words, whole, clusters = time.monotonic(), None, None, Clusters()

    def measure(annotated: Annotated, maps: npt.NDArray[Any]) -> list[BoolArray]:
        tree, _ = annotated
        return [_right(tree, maps, code), *([spanning.edges(maps, tree[1])] if trees else [])]

    inputs = examples(model, treebank, limit)
    for block in over_word_maps(
        model,
        treebank,
        _annotated,
        measure,
        rows=rows,
        token_types=not code,
        inputs=inputs,
        batch_size=batch_size,
        limit=limit,
        progress=progress,
    ):
        for _, ((forms, heads, relations), example), layers in sorted(block, key=lambda each: each.number):
            cluster = clusters.number(example.document, example.document_known)
            right, *edges = zip(*layers.values(), strict=True)
            if words is None or whole is None:
                most = max(each.shape[1] for each in right)
                words, whole = (Words(list(layers), most, each) for each in (by, (-1, 1)))
            baselines = by_offsets(len(forms), by, clip=code) == heads
            words.add(relations, words.padded(right), baselines, cluster)
            if trees:
                spanning.add(whole, edges[0], heads, cluster)
    assert words is not None
    assert whole is not None
    options = {"rows": rows, "preset": preset, "limit": limit, "batch_size": batch_size}
    options = {name: value for name, value in options.items() if value is not None}
    meta = description(model, treebank, inputs, options, started)
    result = dataset(words, clusters=clusters.kind, seed=seed, least=least, meta=meta)
    if not trees:
        return result
    if not len(whole.answers):
        warnings.warn(
            "trees: no sentence has two words, so no tree has an edge", HeadscopeWarning, stacklevel=3
        )
        return result
    more = dataset(whole, clusters=clusters.kind, seed=seed, least=least)
    joined = xr.concat([result, more.sel(relation=[spanning.UAS, spanning.UUAS])], "relation", join="outer")
    return joined.assign(q=(("relation",), false_discovery(joined["p"].values)))


def _annotated(example: Example) -> Annotated:
    return gold(example), example


def _right(tree: Gold, maps: npt.NDArray[Any], code: bool) -> BoolArray:
    """Whether each word's prediction is its head, ``[head word word] -> [direction head word]``."""
    forms, heads, relations = tree
    predicted = np.stack(predictions(maps))
    right = predicted == heads
    if code:
        before = [
            name == "poss" and form in ("'s", "s'") for name, form in zip(relations, forms[1:], strict=False)
        ]
        right[..., :-1] |= (predicted[..., 1:] == heads[:-1]) & np.array(before, np.bool_)
    return right


def estimate(
    model: Model, treebank: Corpus, *, limit: int | None = None, batch_size: int = 32, **options: Any
) -> str:
    """One line that says what `headscope.syntax` will take with these options."""

    def work(sample: Sequence[Example]) -> object:
        return syntax(model, sample, batch_size=batch_size, **options)

    return line(model, ahead(treebank, treebank.encoded(model), limit), work, "sentence", *CLUSTERS)
