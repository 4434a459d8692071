"""A small report's data: figures and maps with known values, and tokens that try to break a page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from headscope.analyses.measure.section import by_layer, every_head
from headscope.core.maps import AttentionMaps, wrap
from headscope.reports import page
from headscope.views.explorer import Input
from headscope.views.section import Section

NASTY = [
    "[CLS]",
    "</script><script>document.title='broken'</script>",
    "\x00",
    "שלום",
    "👩‍👩‍👧",
    "x" * 60,
    "<img src=x onerror=document.title='broken'>",
    "\u2028",
    "\u202eevil",
    "\ud800",
    "",
    "&amp;",
    "Ġthe",
    "##ing",
    "[SEP]",
]

TITLES = {
    "previous": ("previous token", "share"),
    "next": ("next token", "share"),
    "first": ("first token", "share"),
    "sep": ("separators", "share"),
    "entropy": ("entropy", "nats"),
    "entropy_first": ("entropy of the first token", "nats"),
}


def dataset(
    layers: int = 3, heads: int = 4, *, seed: int = 0, name: str = "a-model", **meta: Any
) -> xr.Dataset:
    """Random figures, with L1H2 at .8 on the previous token and L0H1 at .6 on separators."""
    random = np.random.default_rng(seed)
    variables: dict[str, Any] = {}
    for measure, (title, units) in TITLES.items():
        most = 0.45 if units == "share" else 4.0
        values = random.uniform(0, most, (layers, heads))
        if measure == "previous" and layers > 1 and heads > 2:
            values[1, 2] = 0.8
        if measure == "sep" and heads > 1:
            values[0, 1] = 0.6
        attrs = {
            "title": title,
            "description": f"What {title} means.",
            "units": units,
            "by": "token",
            "over": "pieces",
            "source": "Clark et al. 2019, §3.1",
        }
        variables[measure] = (("layer", "head"), values, attrs)
        variables[f"{measure}_se"] = (("layer", "head"), values / 50)
        variables[f"{measure}_n"] = (("layer", "head"), np.full((layers, heads), 12345))
        variables[f"{measure}_documents"] = (("layer", "head"), np.full((layers, heads), 60.0))
        chance = 0.01 if units == "share" else 4.5
        variables[f"{measure}_chance"] = (("layer",), np.full(layers, chance))
    described = {
        "model": {"name": name, "layers": layers, "heads": heads, "parameters": 22_713_216, "causal": False},
        "corpus": {
            "name": "text.txt",
            "documents": 60,
            "examples": 413,
            "tokens": 52341,
            "split_words": 0.11,
        },
        "options": {"by": "token", "seed": 0},
        "versions": {"headscope": "0.1.0"},
        "command": "headscope report --text text.txt",
        "created": "2026-01-02T03:04:05",
        "seconds": 12.5,
        "route": "blocks of rows",
        "absent": {"offset+9": "no input is that long"},
        **meta,
    }
    return xr.Dataset(
        variables,
        coords={"layer": np.arange(layers), "head": np.arange(heads)},
        attrs={"meta": json.dumps(described)},
    )


def maps(layers: int = 3, heads: int = 4, pieces: list[str] | None = None, *, seed: int = 0) -> AttentionMaps:
    """Random maps; L1H2 looks at the previous token only."""
    pieces = NASTY if pieces is None else pieces
    size = len(pieces)
    scores = np.random.default_rng(seed).normal(0, 2, (layers, heads, size, size)).astype(np.float32)
    weights = np.exp(scores)
    weights /= weights.sum(-1, keepdims=True)
    if layers > 1 and heads > 2:
        weights[1, 2] = np.eye(size, k=-1)
        weights[1, 2, 0, 0] = 1
    return wrap(weights, pieces)


def example(layers: int = 3, heads: int = 4, pieces: list[str] | None = None, *, seed: int = 0) -> Input:
    """The same as an example of a report."""
    return Input({"self": maps(layers, heads, pieces, seed=seed)})


def report_payload(dataset: xr.Dataset, examples: Any = (), *, sections: Any = (), **options: Any) -> Any:
    """The payload of a report with the figures by layer, these sections and the table."""
    return page.report_payload(dataset, examples, sections=_with_figures(dataset, sections), **options)


def report_page(dataset: xr.Dataset, examples: Any = (), *, sections: Any = (), **options: Any) -> str:
    """The page of the same report."""
    return page.report_page(dataset, examples, sections=_with_figures(dataset, sections), **options)


def _with_figures(dataset: xr.Dataset, sections: list[Section]) -> list[Section]:
    return [*by_layer(dataset), *sections, every_head()]
