"""Two inputs of one model."""

from __future__ import annotations

import pytest

import headscope as hs
from headscope.models import Model


@pytest.mark.slow
def test_the_difference_of_two_inputs_is_shown(demo: Model) -> None:
    found = hs.compare.inputs(demo, "The cat sat.", "The dog sat.", measures=["previous"])
    view = found.view()
    assert view.state["side"] == "difference"
    top = found.table.loc[found.table["js"].idxmax()]
    assert (view.state["layer"], view.state["heads"]) == (top["layer"], [top["head"]])
    words = hs.compare.inputs(
        demo, ("The cat sat.", "It ran."), ("The small cat sat.", "It ran."), align="word"
    )
    assert words.view().state["side"] == "difference"
    assert len(words.a.query) == len(words.b.query) == 10
    assert (hs.compare.inputs(demo, "The cat.", "The cat.").figures["js"] == 0).all()
