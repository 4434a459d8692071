"""The table of probes: table 3 of Clark et al. 2019 with intervals and selectivity."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.probes.fit import Fitted
from headscope.analyses.probes.score import Bootstrap, Edges, Floats, Mean
from headscope.analyses.probes.trees import Trees
from headscope.tokens import BoolArray, IntArray

COLUMNS = (
    "probe",
    "uas",
    "uuas",
    "spearman",
    "selectivity",
    "n",
    "seed",
    "uas_low",
    "uas_high",
    "uas_punct",
    "uuas_low",
    "uuas_high",
    "spearman_low",
    "spearman_high",
    "depth_spearman",
    "root_accuracy",
    "control",
    "selectivity_low",
    "selectivity_high",
    "edges",
    "sentences",
    "layer",
    "vectors",
    "epochs",
    "loss",
    "held_out",
    "parameters",
)
"""Columns of the table."""


@dataclass(frozen=True, eq=False)
class Heads:
    """Predicted heads of all words, their place in the sentence, and the right ones where they are not the trees'."""

    predicted: IntArray
    gold: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Structure:
    """What a structural probe's distances and depths give.

    Attributes:
        edges: which gold edges are in the spanning tree, in the order of `Edges`.
        spearman, depth_spearman: of each sentence.
        root: whether each sentence's root is found.
    """

    edges: BoolArray
    spearman: Floats
    depth_spearman: Floats
    root: BoolArray


@dataclass(frozen=True, eq=False)
class Row:
    """One probe.

    Attributes:
        name: of it.
        scored: what it predicts.
        control: what it predicts in the control task, trained on that.
        layer: of hidden states, 0 for the embeddings.
        vectors: where its vectors of words are from.
        fitted: how it was trained.
        parameters: how many numbers were.
    """

    name: str
    scored: Heads | Structure
    control: Heads | None = None
    layer: int | None = None
    vectors: str = ""
    fitted: Fitted | None = None
    parameters: int = 0


def dataset(
    rows: Sequence[Row], trees: Trees, *, seed: int, replicates: int = 1000, meta: Mapping[str, Any]
) -> xr.Dataset:
    """Figures over ``probe`` as `headscope.analyses.probes.score` defines them, with 95 % intervals of a bootstrap.

    Args:
        rows: the probes.
        trees: of the treebank on which they are scored.
        seed, replicates: of the bootstrap.
        meta: what made the figures.

    Returns:
        The variables are `COLUMNS`; what a probe does not have is NaN, layer −1 or an empty text. ``uas`` and
        ``selectivity`` (that less the accuracy in the control task, ``control``) leave out words of the relation
        ``punct``, ``uas_punct`` does not; ``n`` words, ``edges`` and ``sentences`` were scored; ``epochs`` were
        trained, to the mean ``loss`` on what was trained on and on what was ``held_out``: nats a word, for
        structural probes edges.
    """
    draw, edges = Bootstrap(trees.lengths, seed=seed, replicates=replicates), Edges.of(trees)
    lines: list[dict[str, Any]] = []
    for row in rows:
        known = (
            _heads(row, trees, draw, edges) if isinstance(row.scored, Heads) else _structure(row, draw, edges)
        )
        line: dict[str, Any] = {name: mean.value for name, mean in known.items()}
        for name in ("uas", "uuas", "spearman", "selectivity"):
            if name in known:
                line |= {f"{name}_low": known[name].low, f"{name}_high": known[name].high}
        line |= {
            "probe": row.name,
            "seed": seed,
            "n": int((~trees.punct).sum()),
            "edges": len(edges.sentences),
        }
        line |= {"sentences": len(trees), "vectors": row.vectors, "parameters": row.parameters}
        line["layer"] = -1 if row.layer is None else row.layer
        line["epochs"] = 0
        if row.fitted is not None:
            line["epochs"] = len(row.fitted.losses)
            line["held_out"] = row.fitted.held_out
            if row.fitted.best:
                line["loss"] = row.fitted.losses[row.fitted.best - 1][0]
        lines.append(line)
    variables = {
        name: (("probe",), np.array([line.get(name, np.nan) for line in lines])) for name in COLUMNS[1:]
    }
    attrs = {"meta": json.dumps({**meta, "seed": seed, "replicates": replicates}, ensure_ascii=False)}
    return xr.Dataset(variables, coords={"probe": [row.name for row in rows]}, attrs=attrs)


def _heads(row: Row, trees: Trees, draw: Bootstrap, edges: Edges) -> dict[str, Mean]:
    assert isinstance(row.scored, Heads)
    sentences = np.repeat(np.arange(len(trees)), trees.lengths)
    counted = ~trees.punct
    right = row.scored.predicted == trees.heads
    found = {
        "uas": draw.share(right[counted], sentences[counted]),
        "uas_punct": draw.share(right, sentences),
        "uuas": draw.share(edges.predicted(trees, row.scored.predicted), edges.sentences),
    }
    if row.control is not None:
        assert row.control.gold is not None
        right = row.control.predicted == row.control.gold
        found["control"] = draw.share(right[counted], sentences[counted])
        found["selectivity"] = found["uas"].minus(found["control"])
    return found


def _structure(row: Row, draw: Bootstrap, edges: Edges) -> dict[str, Mean]:
    assert isinstance(row.scored, Structure)
    return {
        "uuas": draw.share(row.scored.edges, edges.sentences),
        "spearman": draw.by_length(row.scored.spearman),
        "depth_spearman": draw.by_length(row.scored.depth_spearman),
        "root_accuracy": draw.share(row.scored.root, np.arange(len(row.scored.root))),
    }


def table(found: xr.Dataset) -> pd.DataFrame:
    """A row a probe, with `COLUMNS`."""
    made: Any = pd.DataFrame({name: found[name].values for name in COLUMNS})
    made["layer"] = made["layer"].astype("Int64").where(made["layer"] >= 0)
    return made
