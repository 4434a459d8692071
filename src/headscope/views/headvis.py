"""The folder that HeadVis reads, and Neuronpedia's loaders: all heads on some inputs, sparse, with their metrics.

As HeadVis's ``data_pipeline.py`` says, a pair of tokens is the number ``query · length + key``, figures have four
decimals, and the largest weight leaves out the first row and the first column. All inputs are in one interval.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headscope.core.arrays import Ints, quiet
from headscope.core.kinds import json_value
from headscope.core.saving import made_folder, replacing
from headscope.core.store import open_maps
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict
from headscope.errors import InputError
from headscope.measures.choose import choose, surface
from headscope.measures.dataset import count_of, figures_of
from headscope.measures.measure import pair_measure

LEAST = 0.005
"""Smaller weights are left out."""


@pair_measure(
    "squared_distance",
    "Variance of the distance, in tokens, between a token and what it looks at, weighted by attention.",
    rows="all",
)
def squared_distance(tokens: Tokens, queries: Ints) -> np.ndarray:
    """(i − j)², of whose mean the variance is made."""
    return (queries[:, None] - np.arange(len(tokens))) ** 2


@pair_measure(
    "after_earlier",
    "Mean share of a token's attention that goes to what followed earlier occurrences of the same token, over the "
    "tokens that have one.",
)
def after_earlier(tokens: Tokens, queries: Ints) -> np.ndarray:
    """What follows each earlier occurrence of the query's piece, which may be the query itself."""
    pieces = np.array(tokens.pieces, object)
    earlier = (pieces[queries, None] == pieces) & (np.arange(len(pieces)) < queries[:, None])
    return np.roll(earlier, 1, -1)


NAMES = (
    "self_attention_score prev_token_score pattern_entropy qk_distance qk_distance_variance induction_score"
)
"""What Neuronpedia's loaders call the measures."""


def write_headvis(files: Sequence[Path], folder: Path) -> int:
    """Write the folder of maps of one model, a file an input, and return how many heads there are.

    Raises `InputError` for a folder that has files, and for maps that are cut, ragged, of cross-attention or of
    another model than the first.
    """
    if folder.is_file() or any(folder.glob("*")):
        raise InputError(f"{folder}: expected a new or an empty folder, found one that is neither")
    chosen = choose(["current", "previous", "entropy", "distance", squared_distance, after_earlier])
    metrics = dict(zip(NAMES.split(), chosen, strict=True))
    sums, rows = np.zeros((2, 1, 1, 1))
    contents: AnyDict = {"server_config": {}, "attributions/manifest": {}}
    config: AnyDict = {}
    run: AnyDict = {}
    longest = 0
    for number, file in enumerate(files):
        maps = open_maps(file)
        size, many = len(maps.query), len(maps.layers[0])
        if maps.kind == "cross" or maps.partial or {one.shape for one in maps} != {(many, size, size)}:
            raise InputError(
                f"{file}: expected self-attention that is not cut, with as many heads in each layer, found {maps!r}"
            )
        run = {"model": "unknown", "dtype": "unknown", **maps.meta}
        model = {"model_name": run["model"], "heads": maps.heads, "n_layers": len(maps), "n_heads": many}
        if model != (config := config or model):
            raise InputError(f"{file}: expected the model and the heads of {files[0]}, found others")
        longest = max(longest, size)
        data = surface(maps, chosen)
        count, mean = np.nan_to_num([[of(data, one.name) for one in chosen] for of in (count_of, figures_of)])
        sums, rows = sums + count * mean, rows + count
        texts = zip(maps.query.texts or maps.query.pieces, maps.query.pieces, strict=True)
        tokens = [text or piece for text, piece in texts]
        for head in maps.heads:
            weights = maps[head].astype(np.float64)
            kept = np.flatnonzero(weights >= LEAST)
            sequence = {
                "sequence_id": number,
                "interval": 1,
                "tokens": tokens,
                "attention_indices": kept,
                "attention_values": weights.flat[kept].round(4),
                "seq_len": size,
                "max_activation": weights[1:, 1:].max(initial=0).round(4),
            }
            contents.setdefault(f"heads/{head}", {"sequences": []})["sequences"].append(sequence)
    with quiet():
        figures = sums / rows
    figures[4] -= figures[3] ** 2
    contents["scatter_data"] = [
        {**head._asdict(), **dict(zip(metrics, row, strict=True))}
        for head, row in zip(config["heads"], figures.reshape(len(chosen), -1).T.round(4), strict=True)
    ]
    contents["config"] = config | {
        "dataset_name": folder.resolve().name,
        "n_intervals": 1,
        "metrics": list(metrics),
        "metric_descriptions": {name: one.description for name, one in metrics.items()},
        "head_data_pattern": "L{layer}H{head}.json",
        "has_umap": False,
        "umap_heads": [],
        "pipeline_config": {
            **run,
            "n_sequences": len(files),
            "seq_len": longest,
            "attn_implementation": "unknown",
            "sparse_threshold": LEAST,
        },
    }
    for name, content in contents.items():
        path = folder / f"{name}.json"
        made_folder(path.parent)
        with replacing(path) as place:
            place.write_text(json.dumps(json_value(content)) + "\n", encoding="utf-8")
    return len(config["heads"])
