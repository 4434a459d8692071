from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope.analyses.compare.models.statistics import figure

T = 2.0452296421327  # of 29 degrees of freedom, at 97.5 %


def drift(**meta: Any) -> xr.Dataset:
    """Two layers of three heads."""
    js = np.array([[0.01, 0.02, 0.03], [0.1, 0.2, 0.37]])
    described = {
        "a": {"name": "org/bert", "notes": []},
        "b": {"name": "org/bert", "notes": ["re-initialised with seed 0"]},
        "corpus": {"examples": 1200, "documents": 30},
        "over": "pieces",
        **meta,
    }
    return xr.Dataset(
        {
            "js": (("layer", "head"), js),
            "js_layer": ("layer", js.mean(1)),
            "js_layer_se": ("layer", [0.005, 0.02]),
            "cosine_layer": ("layer", [0.9, 0.8]),
            "cosine_layer_se": ("layer", [0.01, 0.01]),
            "js_excess": ("layer", [-0.1, 0.1]),
            "js_excess_se": ("layer", [0.01, 0.01]),
            "js_documents": ((), 30.0),
        },
        {"layer": [0, 1], "head": [0, 1, 2]},
        {"meta": json.dumps(described)},
    )


def test_drift_of_heads_and_means_of_layers() -> None:
    heads, layers = hs.figure(drift()).charts
    assert (heads["title"], layers["title"]) == ("drift of each head", "mean of each layer")
    js = drift()["js"].values.ravel().tolist()
    assert heads["rows"]["colour"] == layers["rows"]["y"] == js
    assert (heads["colour"]["high"], heads["colour"]["root"]) == (0.5, True)
    (line,) = layers["lines"]
    np.testing.assert_allclose(line["y"], drift()["js_layer"])
    np.testing.assert_allclose([line["low"][0], line["high"][0]], [0.02 - T * 0.005, 0.02 + T * 0.005])
    assert layers["y"]["title"] == "Jensen–Shannon divergence, nats"


@pytest.mark.slow
def test_the_caption_says_what_b_is() -> None:
    caption = figure(drift()).caption
    assert "nats a piece" in caption
    assert "A is bert, B is bert, re-initialised with seed 0" in caption
    assert "1,200 inputs of 30 documents" in caption
    assert "bars: 95 %, by document" in caption
    single = drift(b={"name": "org/other", "notes": []})
    single["js_layer_se"][:] = np.nan
    assert "B is other · " in figure(single).caption
    assert "no bars: an interval needs 5 effective documents" in figure(single).caption


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_model_that_did_not_move(theme: Any) -> None:
    still = drift()
    for name in still.data_vars:
        still[name][...] = 0.0
    assert hs.figure(still, theme=theme, width="column")._repr_png_()[1:4] == b"PNG"
