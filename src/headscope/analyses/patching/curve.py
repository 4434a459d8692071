"""How faithful circuits are by their size: edges in order of three scores, and what a model does by these alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.patching import statistics
from headscope.attention.edges import Graph
from headscope.attention.recording import recording
from headscope.core.arrays import Bools, Floats
from headscope.core.types import AnyDict, AnyMapping
from headscope.models import Model
from headscope.models.model import uncached
from headscope.statistics.overlap import halvings, overlaps, resamplings, stays

STEPS = 5
"""At how many places between the embeddings of two prompts gradients are taken."""

OTHER_STEPS = (2, 10)
"""At how many others, to see what hangs on that."""

DRAWS = 200
"""Of pairs, and halvings, in which edges are ranked again."""

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Of all edges, how many a circuit has. None gives nothing of the gap, and all of them all of it."""

RANDOM = 3
"""Random orders; what they give is a mean of so many circuits."""

ORDERS = ("integrated gradients", "attention", "random")


class EdgeSets(NamedTuple):
    """Circuits to run: how many edges they have, by order, and the edges of each, bool ``[writer reader]``.

    Attributes:
        sizes: how many edges, ``[size]``.
        keep: of each order and size, the random orders last, ``[order · size]``.
    """

    sizes: Sequence[int]
    keep: Sequence[Tensor]


def looks(model: Model, clean: Mapping[str, Tensor], corrupted: Mapping[str, Tensor]) -> Floats:
    """How much each head looks at the tokens at which two prompts differ ``[batch head]``, heads by layer."""
    differ = (clean["input_ids"] != corrupted["input_ids"]).to(torch.float32)
    looked: dict[int, Tensor] = {}

    def keep(record: Any) -> None:
        looked[record.layer] = torch.einsum("bhqk,bk->bh", record.weights().float(), differ) / record.shape[2]

    with torch.no_grad(), recording(model.module, keep):
        model.module(**clean, **uncached(model.module))
    return torch.cat([looked[layer] for layer in sorted(looked)], 1).double().cpu().numpy()


def circuits(graph: Graph, scores: Floats, looked: Floats) -> EdgeSets:
    """The circuits of each order.

    Args:
        graph: whose edges they are.
        scores: of the edges, ``[writer reader]``.
        looked: of the heads: an edge is as likely by attention alone as its ends look at the tokens that differ; parts
            that are no heads count as the mean head.
    """
    heads = np.array([name.startswith("L") for name in graph.writers])
    likely = np.full(len(graph.writers) + 1, looked.mean())
    likely[:-1][heads] = looked
    edges = graph.edges.cpu().numpy()
    draws = [np.random.default_rng(seed).random(edges.shape) for seed in range(RANDOM)]
    orders = [np.abs(scores), likely[:-1, None] * likely[None, 1:], *draws]
    sizes = sorted({max(1, round(share * edges.sum())) for share in SHARES})
    keep: list[Tensor] = []
    for order in orders:
        ranked = np.argsort(-np.where(edges, order, -np.inf), axis=None, kind="stable")
        for size in sizes:
            chosen = np.zeros(edges.size, np.bool_)
            chosen[ranked[:size]] = True
            keep.append(torch.as_tensor(chosen.reshape(edges.shape)))
    return EdgeSets(sizes, keep)


def dataset(given: Mapping[str, Floats], about: AnyMapping) -> xr.Dataset:
    """Label scores of edges and the faithfulness of circuits.

    Args:
        given: of each pair the change by each edge, ``handed``, the same at `OTHER_STEPS`, the logit differences by
            circuits, ``given``, that after the ``clean`` prompt, and the ``gap``.
        about: names by `writer` and `reader`, where there are `edges`, the `size` of circuits, and `groups` of pairs.
    """
    gaps, sizes, there = given["gap"], about["size"], np.array(about["edges"], np.bool_)
    steady = _stable(given, sizes, there, about["groups"])
    edges = statistics.effects(given["handed"], gaps)
    changes = (given["given"] - (given["clean"] - gaps)[:, None]).reshape(len(gaps), -1, len(sizes))
    changes = np.concatenate([changes[:, :2], changes[:, 2:].mean(1, keepdims=True)], 1)
    circuits = statistics.effects(changes.reshape(len(gaps), -1), gaps)
    variables: AnyDict = {
        name: (("writer", "reader"), np.where(there, values.reshape(there.shape), np.nan))
        for name, values in edges.named("integrated").items()
    }
    variables |= {
        name: (("order", "size"), values.reshape(len(ORDERS), -1))
        for name, values in circuits.named("faithfulness").items()
    }
    names = {name: about[name] for name in ("writer", "reader", "size")}
    return xr.Dataset(variables, coords={**names, "order": list(ORDERS)}).assign(steady)


def _stable(
    given: Mapping[str, Floats], sizes: Sequence[int], there: Bools, groups: Sequence[str] | None
) -> xr.Dataset:
    """In which share of draws each edge stays in the circuit of a size, and how far circuits of two halves agree."""
    s, ones = given["handed"][:, there.ravel()], np.ones((len(given["gap"]), 1))
    drawn = {"pairs": resamplings(len(s), draws=DRAWS), "halves": halvings(len(s), DRAWS)}
    if groups is not None:
        drawn["groups"] = resamplings(len(s), groups, DRAWS)
    shares = {name: stays(s, ones, times, sizes, signed=False) for name, times in drawn.items()}
    tried = [s, *(given[f"handed {steps}"][:, there.ravel()] for steps in OTHER_STEPS)]
    all_pairs = np.ones((1, len(s)), np.bool_)
    shares["steps"] = np.mean([stays(one, ones, all_pairs, sizes, signed=False) for one in tried], 0)
    every = np.zeros((len(shares), len(sizes), *there.shape), np.float32)
    every[:, :, there] = np.stack([*shares.values()])
    shared = overlaps((s, ones), sizes, signed=False, draws=DRAWS)
    jaccard = np.array([[np.nan] * 4 if one is None else one.jaccard() for one in shared]).T
    names = [f"jaccard{end}" for end in ("", "_low", "_high", "_chance")]
    variables: AnyDict = {name: ("size", values) for name, values in zip(names, jaccard, strict=True)}
    variables["stays"] = ("draw", "size", "writer", "reader"), every
    return xr.Dataset(variables, coords={"draw": [*shares]})
