"""Whether heads copy: what each writes about the token that an induction head would copy, on repeated random tokens.

An induction head looks where the present token stood before, at the token after it, and raises that token's logit
(Olsson et al. 2022: prefix matching and copying). One that lowers it is an anti-induction head (Olsson et al. 2022;
McDougall et al. 2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from headscope.attention.residual import effects, written
from headscope.core.arrays import quiet
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
        repeated: from `headscope.analyses.roles.synthetic.repeated_tokens`; the first `SEQUENCES` are read.

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
        heads = max(len(layer) for layer in added)
        share = np.full((len(added), heads), np.nan)
        for place, layer in enumerate(added):
            raised = layer.numpy()  # [head row token]; row i is to be followed by token i + 1
            rows = np.arange(len(second) - 1)
            target = raised[:, rows, rows + 1][..., None]
            below = (target > raised).sum(-1) + ((target == raised).sum(-1) - 1) / 2
            share[place, : len(layer)] = (below / (len(first) - 1)).sum(-1)
        sums.append(share)
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
