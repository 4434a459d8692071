from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope.analyses.measure.figure import figure
from headscope.errors import InputError
from tests.helpers.report_sample import dataset

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("options", "noun"),
    [({"preset": "clark2019"}, "inputs"), ({"by": "document"}, "documents"), ({}, "tokens")],
)
def test_the_noun_of_what_a_figure_is_a_mean_over_comes_with_its_number(
    demo: Any, options: dict[str, Any], noun: str
) -> None:
    found = hs.measure(demo, hs.corpora.builtin(), limit=4, measures=["previous"], **options)
    assert found["previous_n"].attrs["units"] == noun
    assert f"means over up to {int(found['previous_n'].max()):,} {noun} " in figure(found, "previous").caption


def test_a_variability_is_a_mean_over_inputs(demo: Any) -> None:
    found = hs.contribution.variability(demo, hs.corpora.builtin(), limit=4)
    assert "means over up to 4 inputs " in figure(found, "variability").caption


def test_every_head_is_a_point_at_its_value_and_a_cell_of_the_map() -> None:
    data = dataset()
    curves, cells = figure(data, "previous").charts
    values = data["previous"].values
    assert curves["rows"]["y"] == cells["rows"]["colour"] == values.ravel().tolist()
    assert curves["rows"]["x"] == cells["rows"]["y"] == [0] * 4 + [1] * 4 + [2] * 4
    assert cells["rows"]["x"] == [0, 1, 2, 3] * 3
    assert curves["rows"]["link"][5] == f"L{data['layer'].values[1]}H1"
    mean, chance = curves["lines"]
    np.testing.assert_allclose(mean["y"], values.mean(1))
    assert (chance["y"], chance["steps"]) == ([0.01] * 3, True)
    assert (curves["y"]["low"], curves["y"]["high"], cells["colour"]["high"]) == (0.0, 1.0, 1.0)
    marked = curves["rows"]["marked"]  # the highest first
    assert marked == sorted(np.flatnonzero(values > 0.5).tolist(), key=lambda row: -values.ravel()[row])


def test_shares_go_from_0_to_1_and_nats_as_far_as_chance() -> None:
    drawn = figure(dataset(), ["previous", "entropy"])
    said = re.findall(r">([^<>]+)</text>", drawn.picture("svg").decode())
    assert {
        "previous token",
        "entropy (nats)",
        ".5",
        "1",
        "4",
        "share of attention",
        "nats",
        "head",
        "layer",
    } <= set(said)
    assert ".80" in said  # L1H2 in the map
    for words in ("12,345 tokens", "a-model", "§3.1"):
        assert words in drawn.caption


def test_a_head_without_a_figure_has_no_point_and_no_cell() -> None:
    data = dataset()
    data["previous"].values[2, 3] = np.nan
    curves, cells = figure(data, "previous").charts
    assert curves["rows"]["y"][11] is cells["rows"]["colour"][11] is None
    svg = figure(data, "previous").picture("svg").decode()
    assert (svg.count('data-row="10"'), svg.count('data-row="11"')) == (2, 0)


def test_together_they_share_one_scale() -> None:
    data = dataset()
    (chart,) = figure(data, ["previous", "sep"], together=True).charts
    assert chart["rows"]["y"] == [*data["previous"].values.ravel(), *data["sep"].values.ravel()]
    assert chart["rows"]["colour"] == [0] * 12 + [1] * 12
    assert chart["colour"]["names"] == ["previous token", "separators"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_files_by_suffix(tmp_path: Path, theme: Any):
    drawn = hs.figure(dataset(), "sep", theme=theme)
    svg = drawn.save(tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "separators" in svg
    assert "headscope report --text text.txt" in svg  # what made it
    assert re.search("#0f1214" if theme == "dark" else "#ffffff", svg)
    assert drawn.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert drawn.save(tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")


def test_distances_are_drawn_as_a_map_of_heads_and_other_figures_are_refused() -> None:
    coords = {
        f"{name}_{side}": ("head_" + side, values)
        for side in "ab"
        for name, values in (("layer", [0, 0, 1]), ("index", [0, 1, 0]))
    }
    far = np.array([[0.0, 0.1, 0.5], [0.1, 0.0, 0.6], [0.5, 0.6, 0.0]])
    names = ["L0H0", "L0H1", "L1H0"]
    found = xr.Dataset(
        {"distance": (("head_a", "head_b"), far, {"units": "nats a token"})},
        coords={**coords, "head_a": names, "head_b": names},
        attrs={"n": 5, "meta": json.dumps({"corpus": {"tokens": 5}})},
    )
    assert (
        "Heads that attend alike" in hs.figure(found, title="Heads that attend alike").picture("svg").decode()
    )
    with pytest.raises(InputError, match=r"expected measures over \(layer, head\), found distance"):
        figure(found, "entropy")


@pytest.mark.parametrize(("width", "pixels"), [("column", 317), ("page", 662), (5, 480)])
def test_the_width_is_that_of_a_paper(width: Any, pixels: int) -> None:
    assert (
        hs.figure(dataset(), "previous", width=width)
        .picture("svg")
        .startswith(f'<svg xmlns="http://www.w3.org/2000/svg" width="{pixels}"'.encode())
    )
