"""Who wrote what a head reads, as datasets and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.core.arrays import Floats
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.core.terms import REST, SIDES, split
from headscope.core.types import AnyDict, AnyMapping
from headscope.measures.dataset import describe, description
from headscope.statistics.jackknife import needs
from headscope.views.blocks import Block, matrix, rows_of

EXACT = 1e-5
"""Shares are exact to this in float32; a smaller one is rounding, of which nothing is claimed."""

COLUMNS = ("side", "writer", "layer", "head", "paper", "term", "share", "content", "position", "looks_at")
"""Columns of the table of one input."""

CORPUS = ("side", "writer", "layer", "head", "paper", "share", "se", "ci_low", "ci_high", "chance", "p", "q")
CORPUS_ABLATED = ("contrast_left", "left_se", "attention_left", "attention_se")
"""Columns of the table of a corpus, and those of writers that were ablated."""

UNTRAINED = "share_untrained"
"""The column of the same model with its weights re-initialised."""


def dataset(
    writers: Sequence[tuple[str, str, int, int]],
    values: AnyMapping,
    pairs: tuple[Sequence[str], Floats] | None,
    meta: AnyMapping,
) -> xr.Dataset:
    """The terms of one contrast.

    Args:
        writers: of each its name, its kind, its layer and head; -1 for none.
        values: ``term`` and others over ``(side, writer)``, and numbers.
        pairs: names of writers of the query, and the terms of each with each writer ``[of writer]``.
        meta: what made them.
    """
    called, kinds, layers, heads = zip(*writers, strict=True)
    axes = ("side", "writer")
    variables: AnyDict = {
        name: (axes, value) if np.ndim(value) == 2 else ((), value) for name, value in values.items()
    }
    coords: AnyDict = {
        "side": list(SIDES),
        "writer": list(called),
        "kind": ("writer", list(kinds)),
        "writer_layer": ("writer", list(layers)),
        "writer_head": ("writer", list(heads)),
    }
    if pairs is not None:
        variables["pair"] = ("of", "writer"), pairs[1]
        coords["of"] = list(pairs[0])
    result = xr.Dataset(variables, coords, attrs=describe(meta))
    for name, about in _ABOUT.items():
        if name in result:
            result[name].attrs |= {"description": about}
    return result


_ABOUT = {
    "term": "What a writer's part of one side adds to the contrast, with the whole other side.",
    "content": "What of a term is left where query and key stand at one position.",
    "position": "What of a term comes from the distance between query and key (RoPE).",
    "looks_at": "The token at which a head that writes looks most from where it wrote.",
    "pair": "What a writer's part of the query adds with another's part of the key.",
    "contrast": "The score of the key less that of the foil, before a softcap: the sum of the terms of either side.",
    "weight": "The attention of the query to the key.",
    "share": "The mean share of a contrast that a writer's part of one side has, over queries.",
    "chance": "The same with the keys of each query shuffled among those that it sees.",
    UNTRAINED: "The same in the model with its weights re-initialised.",
}


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a writer of each side with a term of `SHOWN` of the contrast, the largest first, and the rest as one.

    Of one input with `COLUMNS`: the terms of a side sum to the contrast. Of a corpus with `CORPUS`: shares sum to 1.
    """
    one = "chance" not in result
    contrast = float(result["contrast"]) if one else 1.0
    summed = ("term", "content", "position") if one else ("share",)
    names = {name: name for name in (*summed, "looks_at", "chance", "p", "q", UNTRAINED, *CORPUS_ABLATED)}
    names |= {"se": "share_se", "ci_low": "share_low", "ci_high": "share_high"}
    there = {column: result[name] for column, name in names.items() if name in result}
    rows: list[AnyDict] = []
    for at, side in enumerate(SIDES):
        every = {
            column: array.values[at] if array.ndim == 2 else array.values for column, array in there.items()
        }
        large, small = split(every[summed[0]], contrast)
        for place in large:
            row = {"side": side, **_writer(result, place)}
            rows.append(row | {column: values[place] for column, values in every.items()})
        if len(small):
            rest = {column: every[column][small].sum() for column in summed if column in every}
            rows.append({"side": side, "writer": REST, **rest})
    columns = COLUMNS if one else (*CORPUS, *(name for name in (UNTRAINED, *CORPUS_ABLATED) if name in there))
    frame: Any = pd.DataFrame(rows, columns=list(columns))
    if one:
        frame["share"] = frame["term"] / contrast if contrast else np.nan
    return frame.astype(dict.fromkeys(("layer", "head"), "Int64"))


def _writer(result: xr.Dataset, place: int) -> AnyDict:
    layer, head = (int(result[f"writer_{name}"].values[place]) for name in ("layer", "head"))
    named: AnyDict = {"writer": str(result["writer"].values[place])}
    named |= {"layer": layer} if layer >= 0 else {}
    return named | ({"head": head, "paper": Head(layer, head).paper} if head >= 0 else {})


def findings(result: xr.Dataset) -> list[str | Block]:
    """The contrast, and the writers of either side."""
    rows: Any = table(result)
    about = description(result)
    if "chance" in result:
        return _said_of_corpus(result, rows, about)
    foil = {"mean": " less the mean of the other keys", "none": ""}.get(
        about["foil"], f" less key {about['foil']}"
    )
    capped = f", before the softcap of {about['softcap']:g}" if about["softcap"] else ""
    lines: list[str | Block] = [
        f"{about['head']} gives {float(result['weight']):.3f} from {about['query_token']!r} ({about['query']}) to "
        f"{about['key_token']!r} ({about['key']}); its score{foil}: {float(result['contrast']):.3f}{capped}"
    ]
    sides = {
        "key": "who wrote the key, read with the whole query",
        "query": "who wrote the query, read by the keys",
    }
    for side in SIDES:
        some = rows[rows["side"] == side].dropna(axis="columns", how="all")
        lines += [sides[side], *rows_of(some, dropped=("side", "head", "paper"), most=len(some))]
    if "pair" in result:
        lines += [
            "pairs: writers of the query by writers of the key",
            matrix(result["pair"]),
        ]
    return lines


def _said_of_corpus(result: xr.Dataset, rows: Any, about: Any) -> list[str | Block]:
    few = [] if result["share_low"].notnull().any() else [needs("documents")]
    if result["share"].isnull().all():
        few = ["these keys are not scored above the others, so there is nothing to share out"]
    return [
        f"{about['head']}: contrasts of {float(result['contrast']):.3f} on average, of {int(result['queries']):,} "
        f"queries ({about['of']}) in {plural(int(result['documents']), 'document')}; shares of who wrote the "
        "key and the query",
        *rows_of(rows, dropped=("head", "paper")),
        *few,
    ]
