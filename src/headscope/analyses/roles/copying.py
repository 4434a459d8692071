"""Heads that copy, and heads that write against copies: what they write, beside what they would by chance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import xarray as xr
from scipy.stats import rankdata  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

from headscope.attention.residual import at_the_end, attending, effects, followed, unembedding, written
from headscope.core.arrays import Bools, Floats, of_layers, quiet
from headscope.corpora import Example
from headscope.errors import RefusedError
from headscope.models import Model
from headscope.runs.batches import tokens_of
from headscope.statistics.jackknife import effective, error, skewness

SEQUENCES = 16
"""How many sequences are looked at."""


def copying(model: Model, repeated: Sequence[Example]) -> xr.Dataset | str:
    """How surely each head raises the logit of the token to be copied, or why that cannot be told of this model.

    In the second copy, token *a* is to be followed by what followed the first *a*. ``copying`` is, of the other tokens
    of the sequence, the share whose logit the head raises less (or lowers more) than the logit of that one, over the
    tokens of the second copy: 1 where the head raises it most, 0 where it lowers it most, a half by chance. Ties count
    half. It is the head's direct effect, with norms frozen (`headscope.attribute`). ``suppressing`` is 1 less that.

    Args:
        model: from `headscope.load`.
        repeated: from `headscope.analyses.roles.run.repeated_tokens`; the first `SEQUENCES` are read.

    Returns:
        Figures over ``(layer, head)`` as `headscope.measure` gives them.
    """
    sums: list[np.ndarray] = []
    counts: list[int] = []
    layers: Sequence[int] = ()
    for example in repeated[:SEQUENCES]:
        tokens = tokens_of(example)
        ready = model.inputs([tokens])
        assert tokens.ids is not None
        text = np.flatnonzero(~tokens.mask("special"))
        first, second = np.split(text, 2)
        try:
            if not sums:
                layers = written(model, ready, int(text[-1]), None).layers  # that its parts add up
            added = effects(model, ready, slice(int(second[0]), int(second[-1])), tokens.ids[first].tolist())
        except RefusedError as error_:
            return str(error_)
        share: list[Floats] = []
        for layer in added:
            raised = layer.numpy()  # [head row token]; row i is to be followed by token i + 1
            rows = np.arange(len(second) - 1)
            target = raised[:, rows, rows + 1][..., None]
            below = (target > raised).sum(-1) + ((target == raised).sum(-1) - 1) / 2
            share.append((below / (len(first) - 1)).sum(-1))
        sums.append(of_layers(share))
        counts.append(len(second) - 1)
    every, n = np.stack(sums), np.array(counts, np.float64)[:, None, None]
    return figures({"copying": (every, 0.5), "suppressing": (n - every, 0.5)}, n, layers)


def figures(
    sums: Mapping[str, tuple[np.ndarray, np.ndarray | float]], n: np.ndarray, layers: Sequence[int]
) -> xr.Dataset:
    """Figures over ``(layer, head)``, as `headscope.measure` gives them, of sums ``[document layer head]`` and counts.

    Args:
        sums: of each figure, and its chance.
        n: the counts, of a shape that broadcasts.
        layers: the layers' indices.
    """
    values: dict[str, np.ndarray] = {}
    for name, (s, chance) in sums.items():
        shape, counts = s.shape[1:], np.broadcast_to(n, s.shape)
        with quiet():
            values |= {name: s.sum(0) / counts.sum(0), f"{name}_se": error(s, counts)}
            values |= {f"{name}_skewness": skewness(s, counts), f"{name}_n": counts.sum(0)}
        values |= {f"{name}_documents": effective(counts), f"{name}_chance": np.broadcast_to(chance, shape)}
    heads = next(iter(values.values())).shape[1]
    return xr.Dataset(
        {name: (("layer", "head"), array) for name, array in values.items()},
        coords={"layer": list(layers), "head": np.arange(heads)},
    )


Indices = npt.NDArray[np.intp]

TEXTS, TOKENS = 12, 128
"""How many texts are looked at, one a document, and how many tokens of each."""
LIKELY = 10
"""A token counts as predicted where it is among so many of the vocabulary."""
_LEAST = 8
"""Fewer other tokens of the context tell little."""


def suppression(model: Model, examples: Iterable[Example]) -> xr.Dataset | str:
    """How surely each head lowers what earlier layers predict from the context, or why that cannot be told.

    At each token of a text, take the token of the context (the first and the present one aside) that the stream before
    the head's layer predicts most, through the final norm and the unembedding, where it is among the `LIKELY` first
    of the vocabulary. ``copy_suppression`` is, of the other tokens of the context, the share that the head lowers less
    by looking at them than it lowers that one by looking at it: its weight on all of a token's places, times what the
    value there adds to that token's logit above the mean of all tokens of the text. 1 where no token is lowered more,
    a half for a head that writes nothing. Ties count half. Chance is the same of what is predicted at the other places
    of the text: what a head scores that lowers some tokens whatever is predicted.

    The paper asks what is lost when all else that the head does is taken out; this asks for the order only.

    Args:
        model: from `headscope.load`.
        examples: texts; the first of each document are read, at most `TEXTS`.

    Returns:
        Figures over ``(layer, head)`` as `headscope.measure` gives them.
    """
    sums: list[Floats] = []
    documents: set[object] = set()
    layers: list[int] = []
    for example in examples:
        if example.document in documents:
            continue
        tokens = tokens_of(example)
        assert tokens.ids is not None
        ids = np.array(tokens.ids[:TOKENS])
        special = tokens.special[:TOKENS]
        if len(set(ids.tolist())) < _LEAST + 2:
            continue
        try:
            scores, layers = _of_text(model, ids, special)
        except RefusedError as error:
            return str(error)
        documents.add(example.document)
        sums.append(scores)
        if len(sums) == TEXTS:
            break
    if not sums:
        return f"no text of {_LEAST + 2} different tokens"
    every = np.stack(sums)  # [document 3 layer head]
    score, chance, counts = every[:, 0], every[:, 1], every[:, 2]
    with quiet():
        return figures({"copy_suppression": (score, chance.sum(0) / counts.sum(0))}, counts, layers)


@dataclass(frozen=True)
class _Context:
    """The different tokens of a text, and which of them each token of it has before it.

    Attributes:
        ids: of the different tokens.
        places: ``[token type]``, 1 where a token is of a type, but for the first and special ones.
        seen: ``[token type]``, the types that stand before a token, its own aside.
    """

    ids: list[int]
    places: Floats
    seen: Bools

    @classmethod
    def of(cls, ids: npt.NDArray[np.integer], special: Bools) -> _Context:
        types, of = np.unique(ids, return_inverse=True)
        places = np.eye(len(types))[of]
        places[special | (np.arange(len(ids)) == 0)] = 0
        seen = np.cumsum(places, 0) > 0
        seen[np.arange(len(ids)), of] = False
        return cls([int(kind) for kind in types], places, seen)


def _of_text(model: Model, ids: npt.NDArray[np.integer], special: Bools) -> tuple[Floats, list[int]]:
    """Sum each head's score, chance and what counts, ``[3 layer head]``; and give the layers."""
    context = _Context.of(ids, special)
    batch = torch.as_tensor(ids, device=model.device)[None]
    ready = {"input_ids": batch, "attention_mask": torch.ones_like(batch)}
    read = followed(model, ready)
    norm, _, _ = at_the_end(read)
    head = unembedding(model)
    before = {block.layer: block.before for block in read.run.blocks}
    # Within a row a norm's divisor is one number for all tokens: it does not change their order.
    logits = read.logits[0, context.ids]
    heads = attending(read, logits - logits.mean())
    places = torch.as_tensor(context.places, device=logits.device)
    sums = np.full((3, len(heads), max(call.record.shape[1] for call, _, _ in heads)), np.nan)
    for place, (call, writer, slopes) in enumerate(heads):
        with torch.no_grad():
            lens = head(norm(before[writer.layer]))[0]
            record, matrix = call.record, writer.matrix.double()
            predicted = _predicted(lens, context)
            sent = torch.einsum("hdm,tm->htd", matrix, slopes[:, 0].double())
            raised = torch.einsum("hkd,htd,kt->hk", record.values[0].double(), sent, places)
            lowered = (record.weights()[0].double() * raised[:, None]) @ places  # [head row type]
        sums[:, place, : record.shape[1]] = _scores(lowered.cpu().numpy(), predicted, context.seen)
    return sums, [writer.layer for _, writer, _ in heads]


def _predicted(lens: torch.Tensor, context: _Context) -> Indices:
    """Find the type predicted most after each token, of those before it; -1 where none is likely."""
    least = lens.topk(min(LIKELY, lens.shape[-1]), -1).values[:, -1].cpu().numpy()
    logits = np.where(context.seen, lens[:, context.ids].cpu().numpy(), -np.inf)
    best = logits.argmax(1)
    enough = (context.seen.sum(1) > _LEAST) & (logits.max(1) >= least)
    return np.where(enough, best, -1)


def _scores(lowered: Floats, predicted: Indices, seen: Bools) -> Floats:
    """The sums of one layer ``[3 head]``, of what each head adds to each type at each token, ``[head token type]``."""
    rows = np.flatnonzero(predicted >= 0)
    if not len(rows):
        return np.zeros((3, len(lowered)))
    seen, predicted = seen[rows], predicted[rows]
    among = np.where(seen, lowered[:, rows], np.inf)
    others = seen.sum(1)[:, None] - 1
    share = 1 - (rankdata(among, axis=-1) - 1) / others  # [head row type]
    # Types that a token has not before it count for nothing.
    weights = np.bincount(predicted, minlength=seen.shape[1]) * seen
    chance = (share * np.where(seen, weights, 0)).sum(-1) / weights.sum(-1)
    score = share[:, np.arange(len(rows)), predicted]
    return np.stack([score.sum(1), chance.sum(1), np.full(len(lowered), float(len(rows)))])
