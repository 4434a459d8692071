"""Measures of pairs and of whole rows, for the blocks of `headscope.attention.rows`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from headscope.attention.rows import Extra
from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.tokens import Tokens
from headscope.measures.measure import Measure

_KEPT = 1 << 24
"""Pairs of a batch up to which what they are worth is kept for all layers; beyond, it is asked for again."""


def extras(
    measures: Sequence[Measure], tokens: Sequence[Tokens], width: int, device: torch.device
) -> tuple[Extra, ...]:
    """What computes the measures of pairs and rows among these, in their order, of one batch of inputs.

    Args:
        measures: the definitions.
        tokens: the inputs.
        width: tokens of the longest, padding included.
        device: where the weights are.
    """
    made: list[Extra] = []
    for measure in measures:
        if measure.statistic == "pairs":
            worth = _Pairs(measure.worth, tokens, width, device)
            made.append(
                worth
                if measure.among is None
                else _Mean(worth, _Pairs(measure.counted, tokens, width, device))
            )
        elif measure.statistic == "rows":
            made.append(_ExtraRows(measure, tokens))
    return tuple(made)


class _Pairs:
    """Sums of weights by what pairs are worth."""

    def __init__(
        self,
        worth: Callable[[Tokens, Ints], Floats],
        tokens: Sequence[Tokens],
        width: int,
        device: torch.device,
    ) -> None:
        self._of, self._tokens, self._width, self._device = worth, tokens, width, device
        small = len(tokens) * width * width <= _KEPT
        self._kept = self._worth(slice(0, len(tokens)), slice(0, width)) if small else None
        self._some = None if self._kept is None else np.asarray((self._kept != 0).any(0).cpu())

    def __call__(self, weights: Tensor, items: slice, rows: slice, seen: Tensor) -> Tensor:
        if self._kept is None or self._some is None:
            worth, some = self._worth(items, rows), None
        else:
            worth, some = self._kept[items, rows], self._some[rows]
        keys = _span(some, weights.shape[-1])
        worth = worth[..., keys].to(weights.dtype)
        return (weights[..., keys] * worth[:, None]).sum(-1)

    def _worth(self, items: slice, rows: slice) -> Tensor:
        """What these pairs are worth, ``[item row key]``; nothing in padding."""
        inputs = self._tokens[items]
        worth = np.zeros((len(inputs), rows.stop - rows.start, self._width), np.float32)
        for pairs, tokens in zip(worth, inputs, strict=True):
            queries = _queries(rows, tokens)
            pairs[: len(queries), : len(tokens)] = self._of(tokens, queries)
        return torch.as_tensor(worth, device=self._device)


class _Mean:
    """Sums of weights by what pairs are worth, over those of the keys that are counted."""

    def __init__(self, worth: _Pairs, counted: _Pairs) -> None:
        self._worth, self._counted = worth, counted

    def __call__(self, weights: Tensor, items: slice, rows: slice, seen: Tensor) -> Tensor:
        given = self._counted(weights, items, rows, seen)
        return self._worth(weights, items, rows, seen) / torch.where(given > 0, given, 1.0)


def _span(some: Bools | None, width: int) -> slice:
    """The keys from the first to the last that is worth anything to any row ``[row key]``, within a width."""
    if some is None:
        return slice(0, width)
    keys = np.flatnonzero(some[:, :width].any(0))
    return slice(int(keys[0]), int(keys[-1]) + 1) if len(keys) else slice(0, 0)


class _ExtraRows:
    def __init__(self, measure: Measure, tokens: Sequence[Tokens]) -> None:
        self._measure, self._tokens = measure, tokens

    def __call__(self, weights: Tensor, items: slice, rows: slice, seen: Tensor) -> Tensor:
        figures = np.zeros(weights.shape[:3])
        array, sight = weights.double().cpu().numpy(), seen.cpu().numpy()
        sight = np.broadcast_to(sight, (len(array), sight.shape[1], *array.shape[2:]))
        for result, given, visible, tokens in zip(figures, array, sight, self._tokens[items], strict=True):
            queries = _queries(rows, tokens)
            if not len(queries):
                continue
            ready = _all_keys(given, len(queries), len(tokens))
            shown = _all_keys(visible, len(queries), len(tokens)) if self._measure.looks else None
            result[:, : len(queries)] = self._measure.of_rows(ready, tokens, queries, shown)
        return torch.as_tensor(figures, dtype=weights.dtype, device=weights.device)


def _all_keys(block: np.ndarray, queries: int, keys: int) -> np.ndarray:
    """An input's own rows of a block, with all of its keys: 0 for those beyond the block's."""
    full = np.zeros((len(block), queries, keys), block.dtype)
    there = min(block.shape[-1], keys)
    full[..., :there] = block[:, :queries, :there]
    return full


def _queries(rows: slice, tokens: Tokens) -> Ints:
    """Which of these rows an input has."""
    return np.arange(int(rows.start), min(int(rows.stop), len(tokens)), dtype=np.int64)
