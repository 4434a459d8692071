"""Dependency syntax of a treebank in every head of a model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from headscope.analyses.syntax import trees as spanning
from headscope.analyses.syntax.statistics import Words, by_offsets, dataset, predictions
from headscope.corpora import Corpus, Example, blocks
from headscope.errors import InputError
from headscope.measures.significance import false_discovery
from headscope.measures.surface import PRESETS, Preset
from headscope.models import Model
from headscope.stream.estimate import BOOTSTRAP, ahead, line
from headscope.stream.long import described, examples
from headscope.stream.progress import bar
from headscope.stream.provenance import COMMAND
from headscope.stream.task import TOKENS_PER_INPUT
from headscope.stream.words import gold, word_maps
from headscope.words import Rows

OFFSETS = tuple(offset for offset in range(-5, 6) if offset)
"""The baselines: the word at each of these distances."""

_CODE_OFFSETS = tuple(range(-3, 3))


def syntax(
    model: Model,
    treebank: Corpus | Iterable[Example],
    *,
    rows: Rows | None = None,
    preset: Preset | None = None,
    offsets: Sequence[int] | None = None,
    least: int = 100,
    trees: bool = False,
    seed: int = 0,
    replicates: int = 1000,
    limit: int | None = None,
    batch_size: int = 32,
    progress: bool = False,
) -> xr.Dataset:
    """Accuracy of every head, in both directions, at every dependency relation (Clark et al. 2019, table 1).

    A head's prediction of a word's head is the word that it looks at most (``dep->head``), or that looks at it
    most (``head->dep``), among the other words of the sentence.

    Args:
        model: from `headscope.load`. Of an encoder-decoder the encoder is asked.
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
        seed, replicates: of the bootstrap.
        limit: at most so many sentences.
        batch_size: sentences in a batch, at most.
        progress: show progress on stderr.

    Returns:
        See `headscope.analyses.syntax.statistics.dataset`; `headscope.table` makes a table of it.

    Raises:
        CorpusError: a broken treebank, with file and line; a sentence that is longer than the model takes.
    """
    if rows not in (None, "mean", "first"):
        raise InputError(f"rows: expected mean or first, found {rows!r}")
    if preset is not None and preset not in PRESETS:
        raise InputError(f"preset: expected {', '.join(PRESETS)}, found {preset!r}")
    code = preset is not None
    rows = rows or ("first" if code else "mean")
    by = tuple(offsets) if offsets is not None else _CODE_OFFSETS if code else OFFSETS
    started, words, whole = time.monotonic(), None, None
    with bar(treebank, limit, progress) as done:
        stream = examples(model, treebank, limit)
        for block in blocks(stream, batch_size=batch_size, tokens_per_batch=batch_size * TOKENS_PER_INPUT):
            for batch in block:
                found: dict[int, npt.NDArray[Any]] = {}
                kept: dict[int, npt.NDArray[Any]] = {}

                def look(layer: int, maps: npt.NDArray[Any], found: Any = found, kept: Any = kept) -> None:
                    found[layer] = np.stack(predictions(maps)).swapaxes(1, 2)
                    if trees:
                        kept[layer] = maps

                word_maps(model, batch, look, rows=rows, token_types=not code)
                heads = max(each.shape[1] for each in found.values())
                words = words or Words(sorted(found), heads, by)
                whole = whole or Words(sorted(found), heads, (-1, 1))
                for place, example in enumerate(batch):
                    _add(words, example, [found[layer][:, :, place] for layer in words.layers], code)
                    if trees:
                        count = len(example.words or ())
                        own = [kept[layer][place, :, :count, :count] for layer in words.layers]
                        spanning.add(whole, own, gold(example)[1])
                done(len(batch))
    if words is None:
        raise InputError("treebank: expected at least one sentence, found none")
    meta = described(model, treebank)
    options = {"rows": rows, "preset": preset, "limit": limit, "batch_size": batch_size}
    meta["options"] = {name: value for name, value in options.items() if value is not None}
    meta |= {"command": COMMAND.get(), "seconds": round(time.monotonic() - started, 3)}
    if isinstance(treebank, Corpus):
        meta["broken"] = [str(error) for error in treebank.broken]
    made = dataset(words, seed=seed, replicates=replicates, least=least, meta=meta)
    if not trees or whole is None:
        return made
    return _with_trees(made, dataset(whole, seed=seed, replicates=replicates, least=least))


def _with_trees(found: xr.Dataset, more: xr.Dataset) -> xr.Dataset:
    """Both kinds of rows in one table, false discoveries counted over both."""
    more = more.sel(relation=[spanning.UAS, spanning.UUAS])
    joined = xr.concat([found, more], "relation", join="outer")
    return joined.assign(q=(("relation",), false_discovery(joined["p"].values)))


def _add(words: Words, example: Example, predicted: Sequence[npt.NDArray[Any]], code: bool) -> None:
    forms, heads, relations = gold(example)
    count = len(forms)
    right = np.zeros((2, len(predicted), words.heads, count), np.bool_)
    for layer, each in enumerate(predicted):
        right[:, layer, : each.shape[1]] = each[..., :count] == heads
        if code:
            for word in range(count - 1):
                if relations[word] == "poss" and forms[word + 1] in ("'s", "s'"):
                    right[:, layer, : each.shape[1], word] |= each[..., word + 1] == heads[word]
    baselines = by_offsets(count, words.offsets, clip=code) == heads
    words.add(relations, right, baselines)


def estimate(
    model: Model, treebank: Corpus, *, limit: int | None = None, batch_size: int = 32, **options: Any
) -> str:
    """One line that says what `headscope.syntax` will take with these options."""

    def work(sample: Sequence[Example]) -> object:
        return syntax(model, sample, batch_size=batch_size, **options)

    return line(model, ahead(treebank, treebank.encoded(model), limit), work, "sentence", *BOOTSTRAP)
