"""Attention between sentences as a map, and what each receives."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import xarray as xr

from headscope.analyses.sentences.statistics import receivers
from headscope.core.heads import AnyHead, Head
from headscope.errors import InputError
from headscope.views import charts
from headscope.views.charts import Figure, Look

_ROW = 11.0  # of a sentence, in points
_MOST = 46
"""The most sentences that are written out; of more there are only the numbers."""
_LETTERS = 44


def figure(
    dataset: xr.Dataset, *, head: AnyHead | None = None, level: float = 0.05, **look: Unpack[Look]
) -> Figure:
    """Where sentences look back, as a map of later against earlier sentences.

    Args:
        dataset: from `headscope.sentences`, of one text.
        head: whose; by default the mean of the receiver heads, at most eight.
        level: receiver heads are those whose q is at most this.
        theme, width, title, ax: as in `headscope.figure`.

    Raises `InputError` for figures of several texts, or for a head that the model has not.
    """
    if "attention" not in dataset:
        raise InputError("figure: expected figures of one text, found those of several, which have no map")
    meta = charts.meta_of(dataset)
    layers: list[int] = dataset["layer"].values.tolist()
    if head is None:
        spots = receivers(dataset, level)
        names = [str(Head(layers[layer], number)) for layer, number in spots]
        whose = f"mean of {len(spots)} heads: {', '.join(names)}" if len(spots) > 1 else names[0]
    else:
        one = Head.of(head)
        if one.layer not in layers or not 0 <= one.head < dataset.sizes["head"]:
            raise InputError(
                f"head: expected one of {len(layers)} layers of {dataset.sizes['head']}, found {one}"
            )
        spots, whose = [(layers.index(one.layer), one.head)], str(one)
    values = np.mean([dataset["attention"].values[spot] for spot in spots], 0).astype(np.float64)
    count = len(values)
    texts = [str(text) for text in dataset["text"].values]
    written = count <= _MOST
    with charts.chart(
        panels=1,
        high=count * (_ROW if written else max(2.0, _MOST * _ROW / count)),
        across=1,
        pad=(222.0 if written else 26.0, 38.0, 16.0, 24.0),
        caption=" · ".join([charts.model_name(meta["model"]), whose, f"{meta['tokens']:,} tokens"]),
        meta=meta,
        about="Sentences",
        **look,
    ) as chart:
        axes = chart.axes[0]
        place = np.arange(count)
        far = place[:, None] - place[None] >= max(int(meta["apart"]), 1)
        high = float(np.nanmax(np.where(far, values, 0.0))) or float(np.nanmax(values))
        axis = xr.Dataset(coords={"sentence": place, "layer": place})
        mesh = charts.grid_of_heads(
            axes, np.minimum(values, high), axis, (0.0, high), chart.colours, root=True, across="sentence"
        )
        axes.set(xlabel="sentence looked at", ylabel="" if written else "sentence")
        if written:
            short = [text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1].rstrip()}…" for text in texts]
            axes.set_yticks(place, [f"{text}  {number}" for number, text in enumerate(short)])
        charts.heading(axes, "attention between sentences")
        charts.colour_bar(axes, mesh, "mean weight of two tokens")
    return chart
