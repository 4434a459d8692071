"""Which head feeds which: what heads write that others read in their keys, queries and values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Unpack

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.composition import statistics
from headscope.analyses.long_runs import long_run
from headscope.analyses.options import BlockOptions
from headscope.analyses.reads import corpus as reads
from headscope.analyses.reads.corpus import Shares, Summed
from headscope.attention.reading import compared, placed_scores, visible
from headscope.attention.record import AttentionRecord
from headscope.core.heads import Head
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora import Corpus, Example
from headscope.errors import RefusedError
from headscope.models import Model
from headscope.runs.batches import tokens_of
from headscope.runs.long import Kind, Run
from headscope.runs.options import RunOptions

BLOCK, SPAN = 64, 64
"""Inputs of a block and blocks that are kept as one: a document's sums have a number for every pair of heads."""


class CompositionWork(reads.ReadsWork):
    """What is composed, in the inputs of a corpus."""

    def summed(self, example: Example) -> Summed:
        """Of one input the heads, the terms and what random turns give ``[kind reader writer 2]``, and the contrasts
        ``[kind reader]``."""
        tokens = tokens_of(example)
        ready = self.model.inputs([tokens])
        read = self.reader(ready).read(ready)
        heads = [
            Head(writer.layer, head) for writer, written, _ in read.heads for head in range(len(written))
        ]
        place = {head: at for at, head in enumerate(heads)}
        read_by = [
            Head(call.record.layer, head) for call in read.calls for head in range(call.record.shape[1])
        ]
        if len(place) < len(heads) or sorted(read_by) != sorted(heads):
            raise RefusedError(
                f"{self.model.name}: expected one stack of layers whose heads can be told apart, found several, or none"
            )
        s = np.zeros((len(statistics.KINDS), len(heads), len(heads), 2))
        n = np.zeros(s.shape[:2])
        for call in read.calls:
            record = call.record
            readers = [place[Head(record.layer, head)] for head in range(record.shape[1])]
            numbers = contrasts(record, tokens, causal=self.model.causal)
            n[:, readers] = numbers.detach().double().cpu().numpy().reshape(len(s), -1)
            if call is read.calls[-1] or not numbers.requires_grad:
                read.terms(numbers[:1])  # refuses what is no sum of what was written
            for at, values in enumerate(read.composed(numbers)):
                s[..., at][:, readers] = values.reshape(len(s), len(readers), -1)
        return tuple(map(str, heads)), s, n, Counter(inputs=1)


def contrasts(record: AttentionRecord, tokens: Tokens, *, causal: bool) -> Tensor:
    """What heads attend to less the mean key, ``[kind · head]``: scores, linear in keys, then in queries; the size of
    their values."""
    weights = record.weights()[0].detach()
    among = np.stack(
        [compared(tokens, visible(record, head), causal=causal) for head in range(record.shape[1])]
    )
    there = torch.as_tensor(among).to(weights)
    attended = weights * there
    contrast = attended - attended.sum(-1, keepdim=True) * there / there.sum(-1, keepdim=True).clamp(min=1)
    query, keys, values = record.q[0], *(contrast.to(x) @ x[0] for x in (record.keys, record.values))
    pairs = ((query.detach(), keys), (query, keys.detach()), (values, values.detach()))
    scales = (record.scaling, record.scaling, 1.0)
    numbers = [(a * b).sum((1, 2)) * scale for (a, b), scale in zip(pairs, scales, strict=True)]
    for at, side in enumerate(("key", "query")):
        numbers[at] = numbers[at] + placed_scores(record, contrast, side)
    return torch.cat(numbers)


def _figures(sums: Shares, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    total = sums.closed()
    value, se, skew = total.value(), total.error(), total.skewness()
    value[total.n <= 0] = np.nan  # what a head attends to is not what it scores highest: nothing to share out
    heads = [Head.parse(name) for name in sums.writers]
    documents = {"documents": total.counts["documents"]}
    return statistics.dataset(heads, value, se, skew, total.effective(), {**meta, **about, **documents})


KIND = Kind("composition", Shares.from_arrays, _figures, SPAN, "composing")


@long_run(KIND, batch_size=8)
def composition(
    model: Model, corpus: Corpus | Iterable[Example], **options: Unpack[BlockOptions]
) -> Run[Shares]:
    """Which head feeds which: of all pairs of heads, how much of what one reads the other wrote.

    What a head reads is told in three **kinds**. **K**: of the score of what it attends to, less the mean score of the
    keys that it sees, the share that a writer has by its part of the keys. **Q**: the share that it has by its part of
    the queries. **V**: of the size of the values that it takes there, less their mean, a writer's share. Special
    tokens, and the first of a causal model, are left out, and queries count by the attention that they give to the
    others. Norms keep their divisors, as in `headscope.reads`; so shares are exact, and those of all writers sum to 1.

    An **edge** is a writer that surely has more than a quarter of what a head reads (the whole interval, by a jackknife
    over documents), and more than it would were what it writes turned at random (q ≤ .05, over all pairs of heads and
    kinds): ``z`` is its share by what such rotations give, the root of their mean square, as if all documents told the
    same, and p is of that.

    Source: K-, Q- and V-composition, Elhage et al. 2021, there of weights alone.

    Args:
        model: from `headscope.load`, in float32 or float64, of one stack of layers.
        corpus: from `headscope.corpora`, or examples that have their tokens.

    Returns:
        A dataset over ``(kind, reader, writer)``: ``share``, ``share_se``, ``share_low``, ``share_high``, ``z``, ``p``
        and ``q``; missing where the writer comes later. Its table has the edges, the surest first.

    Raises:
        InputError: an option that makes no sense, or a corpus without inputs.
        RefusedError: a model whose heads do not read one stream, or weights of half precision.
        RunError: the model failed on an input, which the message names.

    >>> import transformers
    >>> config = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=2, n_head=2, n_positions=8)
    >>> small = headscope.load(transformers.GPT2LMHeadModel(config))
    >>> ids = headscope.Tokens(["a", "b", "c", "d"], ids=[3, 4, 5, 6])
    >>> found = composition(small, [headscope.corpora.Example(tokens=ids)])
    >>> found["share"].dims, found["share"].shape
    (('kind', 'reader', 'writer'), (3, 4, 4))
    """
    return Run(KIND, model, corpus, CompositionWork(model).block, RunOptions(**options), size=BLOCK)
