from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import xarray as xr
from report_sample import dataset

import headscope as hs
from headscope.analyses.measure.figure import figure
from headscope.errors import InputError


def points(drawn: Any) -> list[Any]:
    """The places of the points of each scatter of a figure, `[point 2]`."""
    axes = drawn.canvas.figure.axes[0]
    found = [one.get_offsets() for one in axes.collections]
    return [np.asarray(one) for one in found if len(one) > 1]


def test_every_head_is_a_point_at_its_value():
    data = dataset()
    (places,) = points(figure(data, "previous"))
    assert len(places) == 12
    values = data["previous"].values.ravel()
    # One scale from value to height, the same for all points; larger is higher up.
    slope, start = np.polyfit(values, places[:, 1], 1)
    assert slope < 0
    assert np.allclose(start + slope * values, places[:, 1], atol=1e-6)
    # Layers from left to right, heads within them.
    assert (np.diff(places[:, 0]) > 0).all()


def test_shares_go_from_0_to_1_and_nats_as_far_as_chance():
    data = dataset()
    text = figure(data, ["previous", "entropy"]).canvas
    said = [one.get_text() for one in text.figure.axes[0].texts]
    assert {"previous token", "entropy (nats)", "0.5", "1", "4"} <= set(said)
    assert ".80" in said  # L1H2 in the map
    caption = " ".join(said[-3:])
    assert "12,345 tokens" in caption
    assert "a-model" in caption
    assert "§3.1" in caption


def test_a_head_without_a_figure_has_no_point_and_no_cell():
    data = dataset()
    data["previous"].values[2, 3] = np.nan
    (places,) = points(figure(data, "previous", width="column"))
    assert len(places) == 11


def test_together_they_share_one_scale():
    data = dataset()
    first, second = points(figure(data, ["previous", "sep"], together=True))
    for name, places in (("previous", first), ("sep", second)):
        assert len(places) == 12
        slope, start = np.polyfit(data[name].values.ravel(), places[:, 1], 1)
        assert np.isclose(
            start + slope * 0.5, np.polyval(np.polyfit(data["previous"].values.ravel(), first[:, 1], 1), 0.5)
        )
    with pytest.raises(InputError, match="expected 1 to 12 measures together, found 0"):
        figure(data, [], together=True)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_files_by_suffix(tmp_path: Path, theme: Any):
    drawn = hs.figure(dataset(), "sep", theme=theme)
    svg = drawn.save(tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "separators" in svg
    assert "headscope report --text text.txt" in svg  # what made it
    assert re.search("#0f1214" if theme == "dark" else "#ffffff", svg)
    assert drawn.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert drawn.save(tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match=r"expected a name that ends in .svg, .pdf, .png, found .gif"):
        drawn.save(tmp_path / "a.gif")
    with pytest.raises(InputError, match=r"a\.svg: cannot be written \(no such folder\)"):
        drawn.save(tmp_path / "none" / "a.svg")


def test_messages():
    with pytest.raises(InputError, match=r"figure: expected previous, .*entropy_first, found 'nonsense'"):
        figure(dataset(), "nonsense")
    with pytest.raises(InputError, match=r"figure: expected what headscope.measure gave, found str"):
        figure(cast(Any, "stats"))
    with pytest.raises(InputError, match="width: expected 'column'"):
        figure(dataset(), width=0.1)


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
    drawn = figure(found, title="Heads that attend alike")
    assert b"Heads that attend alike" in drawn.canvas.save("svg", drawn.about)
    with pytest.raises(InputError, match=r"expected measures over \(layer, head\), found distance"):
        figure(found, "entropy")
