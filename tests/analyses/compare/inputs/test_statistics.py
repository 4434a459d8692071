"""Two inputs, aligned by position and by word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headscope as hs
from headscope.analyses.compare.inputs import run as two_inputs
from headscope.analyses.compare.models import statistics as two_models
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.models import Model


@settings(deadline=None)  # the first run loads scipy
@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_words_that_stand_for_each_other_are_the_same_and_in_order(a: list[str], b: list[str]) -> None:
    first, second = two_inputs.matched(a, b)
    assert [a[place] for place in first] == [b[place] for place in second]
    assert (np.diff(first) > 0).all()
    assert (np.diff(second) > 0).all()
    assert bool(set(a) & set(b)) == bool(len(first))
    np.testing.assert_array_equal(two_inputs.matched(a, a), [np.arange(len(a))] * 2)


def maps(pieces: list[str], seed: int) -> hs.AttentionMaps:
    draw = np.random.default_rng(seed)
    tokens = Tokens(pieces, word_ids=np.arange(len(pieces)), sequence_ids=np.zeros(len(pieces), int))
    return hs.wrap(draw.dirichlet(np.ones(len(pieces)), (2, 3, len(pieces))), tokens, causal=False)


def test_inputs_by_position_and_by_word() -> None:
    a, b = maps(["the", "cat", "sat"], 0), maps(["The", "black", "cat", "sat"], 1)
    with pytest.raises(InputError, match="expected as many tokens in both, found 3 and 4; align them by"):
        two_inputs.compare(a, b)
    one, other = two_inputs.aligned(a, b, "word")
    assert other.query.pieces == ("The", "cat", "sat")
    found = two_inputs.compare(a, b, align="word", measures=["previous", "entropy"])
    part = b.weights[:, :, [0, 2, 3]]
    first = np.concatenate([a.weights, np.zeros((2, 3, 3, 1))], -1)
    second = part[..., [0, 2, 3, 1]]  # the word that A lacks is the outcome beside the others
    expected = np.stack([two_models.drift(p, q) for p, q in zip(first, second, strict=True)], 1) / 3
    np.testing.assert_allclose(np.stack([found["js"], found["cosine"]]), expected, atol=1e-9)
    gap = one.weights - other.weights
    np.testing.assert_allclose(np.abs(found["change"]), np.abs(gap).max((2, 3)))
    assert float(found["difference"].sel(measure="previous")[0, 0]) == pytest.approx(
        a.weights[0, 0, [1, 2], [0, 1]].mean() - b.weights[0, 0, [1, 2, 3], [0, 1, 2]].mean()
    )
    table = two_inputs.table(found)
    assert tuple(table.columns) == two_inputs.COLUMNS
    assert "the / The" in {*table["from"], *table["to"]}
    same = two_inputs.compare(a, a)
    assert (same["difference"] == 0).all()
    assert (same["js"] == 0).all()
    assert (same["cosine"] == 1).all()
    with pytest.raises(InputError, match="no word is in both; align them by position"):
        two_inputs.aligned(a, maps(["x", "y"], 2), "word")
    with pytest.raises(InputError, match="expected 'position' or 'word', found 'meaning'"):
        two_inputs.aligned(a, b, "meaning")  # type: ignore[arg-type]


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
