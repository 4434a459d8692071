"""The roles of two models."""

from __future__ import annotations

import pytest

import headscope as hs
from headscope.errors import InputError
from headscope.models import Model
from tests.helpers.compared_models import lines


@pytest.mark.slow
def test_untrained_heads_lose_their_roles(demo: Model, stories: Model) -> None:
    """L0H2 of the demo model looks at the previous token, and so does a head of the stories' model."""
    for model, head in ((demo, (0, 2)), (stories, None)):
        blank = hs.load((model.module, model.tokenizer), untrained=0)
        found = hs.compare.roles(model, blank, hs.corpora.builtin(), limit=40)
        changes = found.changes
        lost = changes[(changes["role"] == "previous token") & (changes["change"] == "lost")]
        assert len(lost)
        assert head is None or list(zip(lost["layer"], lost["head"], strict=True)) == [head]
        assert not (found.b["role"] == "previous token").any()
        moved = hs.compare.models(model, blank, lines(), measures=["previous"], limit=6)
        first = lost.iloc[0]
        own = moved.figures.sel(measure="previous", layer=first["layer"], head=first["head"])
        assert float(own["difference"]) > 10 * float(own["se"])


@pytest.mark.slow
def test_models_of_other_shapes_are_compared_by_role(demo: Model, stories: Model) -> None:
    found = hs.compare.roles(demo, stories, hs.corpora.builtin(), limit=40)
    by = found.by_role.set_index("role")
    assert by.loc["previous token", "heads_a"] == 1
    assert by.loc["previous token", "share_b"] == by.loc["previous token", "heads_b"] / 40
    with pytest.raises(InputError, match="heads have no counterparts"):
        _ = found.changes
