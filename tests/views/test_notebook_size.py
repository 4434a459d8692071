"""What views leave in a notebook: small pictures, and the program once."""

from __future__ import annotations

import json
from typing import Any

import pytest

import headscope as hs
from headscope.models import Model

ipywidgets = pytest.importorskip("ipywidgets")
pytestmark = pytest.mark.slow
TEXT = "The cat sat on the mat because it was tired.", "She sold the old house because it was too small."


def test_ten_views_stay_under_three_megabytes(demo: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display")
    outputs: list[Any] = []
    monkeypatch.setattr(display, "display", lambda data, raw: outputs.append(data))
    shown = [
        hs.model_view(demo, TEXT, draw="lines"),
        hs.head_view(demo, TEXT, layer=2, heads=list(range(12))),
        hs.neuron_view(demo, TEXT),
        hs.explore(demo, TEXT[0], pair=TEXT[1]),
    ]
    for view in shown:
        view._ipython_display_()
    sizes = [len(json.dumps(outputs[at : at + 2])) for at in range(0, len(outputs), 2)]
    assert len(sizes) == 4
    # The state of widgets is there, too, where a notebook keeps it.
    state = ipywidgets.Widget.get_manager_state()["state"]
    own = [state[view.widget().model_id]["state"] for view in shown]
    (holder,) = {each["program"]["holder"] for each in own}
    program = state[holder]["state"]
    kept = [len(json.dumps(state[view.widget().model_id])) for view in shown]
    assert 10 * (sum(sizes) + sum(kept)) / 4 + len(json.dumps(program)) < 3_000_000
    assert min(len(program["script"]), len(program["style"])) > 50_000
    for each in own:
        assert program["script"] not in each["_esm"]
        assert program["style"] != each.get("_css")
        assert len(each["_esm"]) < 3000
