"""What heads would score that look at places alone: the null of roles that name tokens.

A head that looks at the previous token gives much to the pieces of its word, without knowing words. So beside each
score stands that of the head's own offsets: a row gives to the key at offset o what the head gives there on average
over all rows that see a key at o, in proportion, so that rows keep their sums. Nothing of the tokens is in it but
their number; a score above it says that the head looks at what stands there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice

import torch
from torch import Tensor

from headscope.attention.record import AttentionRecord
from headscope.corpora import Corpus, Example
from headscope.measures.choose import choose
from headscope.measures.measure import Measure
from headscope.measures.sums import Documents, Floats
from headscope.models import Model
from headscope.stream.batches import examples, over_blocks, tokens_of
from headscope.stream.forward import self_attention
from headscope.stream.rows import Found, Rows

INPUTS = 500
"""From so many inputs, at most, offsets are taken: where a head looks settles soon."""


def offset_scores(
    model: Model,
    corpus: Corpus | Iterable[Example],
    measures: Sequence[str],
    *,
    batch_size: int = 32,
    limit: int | None = None,
    change: Callable[[AttentionRecord], AttentionRecord] | None = None,
) -> dict[str, Floats]:
    """What each head's own offsets score, ``[layer head]`` by measure; NaN where no row counts.

    Args:
        model: from `headscope.load`.
        corpus: as in `headscope.measure`; its first `INPUTS` inputs are read.
        measures: names.
        batch_size, limit: as in `headscope.measure`.
        change: makes of each call of attention the one that is looked at in its place.
    """
    look = partial(_look, model, change)
    inputs = list(islice(examples(model, corpus, limit), INPUTS))
    run = partial(over_blocks, model, inputs, inputs=inputs, batch_size=batch_size)
    profiles = Profiles()
    for block in run(work=look):
        for batch, records in block:
            for record in records:
                profiles.add(record, [len(tokens_of(example)) for example in batch])
    chosen = choose(measures)
    documents = Documents([measure.name for measure in chosen])
    for block in run(work=partial(_reduced, model, look, chosen, profiles)):
        for batch, found in block:
            for place, example in enumerate(batch):
                of = (array[place] for array in (found.sums, found.chance, found.divisors))
                documents.add(example.document, found.tokens[place], found.layers, *of)
    return dict(zip(documents.labels["measures"], documents.close().value(), strict=True))


class Profiles:
    """How much each head gives to each offset, over the rows that see a key there."""

    def __init__(self) -> None:
        self._given: dict[int, Tensor] = {}  # [head offset], from −(width − 1) to width − 1
        self._seen: dict[int, Tensor] = {}

    def add(self, record: AttentionRecord, lengths: Sequence[int]) -> None:
        """Take in one layer's weights over inputs of these lengths."""
        seen = _seen(record, lengths)
        weights = (record.weights().double() * seen).sum(0)
        for kept, pairs in ((self._given, weights), (self._seen, seen.double().sum(0).expand_as(weights))):
            added = _by_offset(pairs)
            before = kept.get(record.layer)
            kept[record.layer] = added if before is None else _sum(before, added)

    def matrix(self, record: AttentionRecord, lengths: Sequence[int]) -> Tensor:
        """What the heads of a layer would give by their offsets alone, ``[input head query key]``."""
        seen, width = _seen(record, lengths), record.shape[-1]
        profile = self._given[record.layer] / self._seen[record.layer].clamp(min=1)
        middle = (profile.shape[-1] - 1) // 2
        given = profile[:, middle - width + 1 : middle + width][:, _offsets(width)] * seen
        total = (record.weights().double() * seen).sum(-1, keepdim=True)
        sums = given.sum(-1, keepdim=True)
        return given / torch.where(sums > 0, sums, 1.0) * total


def _look(
    model: Model, change: Callable[[AttentionRecord], AttentionRecord] | None, batch: Sequence[Example]
) -> list[AttentionRecord]:
    records = self_attention(model, [tokens_of(example) for example in batch])
    return records if change is None else [change(record) for record in records]


def _reduced(
    model: Model,
    look: Callable[[Sequence[Example]], list[AttentionRecord]],
    measures: Sequence[Measure],
    profiles: Profiles,
    batch: Sequence[Example],
) -> Found:
    tokens = [tokens_of(example) for example in batch]
    rows = Rows(model, measures, tokens, 0.0, Counter())
    for record in look(batch):
        rows.reduce_matrix(record, profiles.matrix(record, list(map(len, tokens))), "own offsets")
    return rows.close()


def _seen(record: AttentionRecord, lengths: Sequence[int]) -> Tensor:
    """Which keys each query sees, padding left out, ``[input head|1 query key]``."""
    device = record.q.device
    inside = torch.arange(record.shape[-1], device=device) < torch.tensor(lengths, device=device)[:, None]
    pairs = (inside[:, :, None] & inside[:, None])[:, None]
    seen = record.visible()
    return pairs if seen is None else pairs & seen


def _offsets(width: int) -> Tensor:
    """The place of each pair's offset among those from −(width − 1), ``[query key]``."""
    place = torch.arange(width)
    return place - place[:, None] + width - 1


def _by_offset(pairs: Tensor) -> Tensor:
    """Sums over the pairs of each offset, ``[head query key] -> [head offset]``."""
    heads, width, _ = pairs.shape
    sums = pairs.new_zeros(heads, 2 * width - 1)
    return sums.index_add_(1, _offsets(width).flatten().to(pairs.device), pairs.reshape(heads, -1))


def _sum(a: Tensor, b: Tensor) -> Tensor:
    """The sum of two arrays by offset; offset 0 stands in the middle of each."""
    short, long = sorted((a, b), key=lambda each: each.shape[1])
    room = (long.shape[1] - short.shape[1]) // 2
    return long + torch.nn.functional.pad(short, (room, room))
