"""The definitions of surface measures, by hand and by what must hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headscope as hs
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.measures.choose import choose, surface
from headscope.measures.dataset import names
from headscope.measures.measure import selection, without
from headscope.measures.surface import MEASURES

PIECES = ["[CLS]", "cats", ".", "[SEP]"]
MAP = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.3, 0.1, 0.1], [0.0, 0.6, 0.2, 0.2], [0.2, 0.1, 0.1, 0.6]])
CODE = {
    "previous": (0.5 + 0.6 + 0.1) / 4,
    "current": (0.1 + 0.3 + 0.2 + 0.6) / 4,
    "next": (0.2 + 0.1 + 0.2) / 4,
    "sep_sep": 0.6 / 2,
    "rest_sep": (0.4 + 0.1 + 0.2) / 2,
    "sep": (0.4 + 0.1 + 0.2 + 0.6) / 4,
}


@pytest.mark.parametrize("name", CODE)
def test_the_released_code_by_hand(name: str) -> None:
    found = surface(hs.wrap(MAP[None, None], PIECES), [name], preset="clark2019")
    assert found[name].item() == pytest.approx(CODE[name])
    assert found[name].attrs["by"] == "segment"


def test_the_released_code_smooths_entropies_and_knows_two_marks() -> None:
    found = surface(hs.wrap(MAP[None, None], ["[CLS]", ";", ".", "[SEP]"]), preset="clark2019")
    mixed = 0.9999 * MAP + 0.0001 / 4
    assert found["entropy"].item() == pytest.approx(-(mixed * np.log(mixed)).sum(-1).mean(), rel=1e-12)
    assert found["punctuation"].item() == pytest.approx((0.3 + 0.1 + 0.2 + 0.1) / 4)
    exact = surface(hs.wrap(MAP[None, None], ["[CLS]", ";", ".", "[SEP]"]))
    assert exact["punctuation"].item() == pytest.approx((0.5 + 0.4 + 0.8 + 0.2) / 4)


@settings(max_examples=40, deadline=None)
@given(count=st.integers(1, 9), causal=st.booleans(), seed=st.integers(0, 99))
def test_uniform_attention_is_chance(count: int, causal: bool, seed: int) -> None:
    draw = np.random.default_rng(seed)
    pieces = list(draw.choice(["a", ".", "[SEP]", "[CLS]"], count))
    sight = np.tril(np.ones((count, count))) if causal else np.ones((count, count))
    uniform = sight / sight.sum(-1, keepdims=True)
    found = surface(hs.wrap(uniform[None, None], pieces, causal=causal), [*MEASURES, "offset-2", "offset+0"])
    for name in names(found):
        np.testing.assert_allclose(found[name].item(), found[f"{name}_chance"].item(), rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(count=st.integers(1, 9), seed=st.integers(0, 99))
def test_classes_that_part_the_tokens_part_the_attention(count: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    weights = draw.dirichlet(np.ones(count), (2, 3, count))
    user = draw.random(count) < 0.5
    tokens = Tokens(["x"] * count, classes={"user": user, "rest": ~user, "all": np.ones(count, bool)})
    found = surface(hs.wrap(weights, tokens), ["to_user", "to_rest", "to_all"])
    total = sum(found[name] for name in ("to_user", "to_rest") if name in found)
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)
    np.testing.assert_allclose(found["to_all"], 1.0, rtol=1e-12)


def test_offsets_of_all_distances_add_up_to_all_attention() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(5), (1, 2, 5))
    found = surface(hs.wrap(weights, list("abcde")), [f"offset{by:+d}" for by in range(-4, 5)])
    total = sum(found[f"offset{by:+d}"] * found[f"offset{by:+d}_n"] for by in range(-4, 5))
    np.testing.assert_allclose(total, 5.0)


def test_named_offsets_are_offsets() -> None:
    found = surface(hs.wrap(MAP[None, None], PIECES), ["previous", "offset-1", "next", "offset+1"])
    assert found["previous"].item() == found["offset-1"].item()
    assert found["next"].item() == found["offset+1"].item()


def test_reasons() -> None:
    measures = choose([*MEASURES, "to_user", "offset+4", "offset-4"])
    causal = without(measures, True, {"punctuation": 3}, [True] * len(measures))
    assert causal == {
        "next": "a causal model does not see later tokens",
        "offset+4": "a causal model does not see later tokens",
        "entropy_first": "the first token of a causal model sees only itself",
        "sep": "the inputs have no separators",
        "sep_sep": "the inputs have no separators",
        "rest_sep": "the inputs have no separators",
        "cls": "the inputs have no [CLS]",
        "to_user": "the inputs have no tokens of the class user",
    }
    assert not without(choose(), False, {"sep": 2, "cls": 1, "punctuation": 1}, [True] * len(choose()))


def test_divisors_count_the_rows_that_are_selected() -> None:
    tokens = Tokens.of(PIECES)
    for causal in (False, True):
        rows, divisors = selection(choose([*MEASURES, "offset-9"]), tokens, causal)
        np.testing.assert_array_equal(rows.sum(-1), divisors)
        assert set(np.unique(rows)) <= {0.0, 1.0}
    assert divisors[-1] == 0


def test_every_measure_says_what_it_is() -> None:
    for measure in choose(["surface", "offset-2", "offset+17", "to_user", "noun_to_sep", "not_noun_to_sep"]):
        assert measure.title
        assert measure.description.endswith(".")
        assert measure.units in ("share", "nats")
        of_clark = (measure.source or "").startswith("Clark et al. 2019, §3.")
        assert of_clark == ("clark2019" in measure.keys)


@pytest.mark.parametrize("how", ["cross", "partial"])
def test_only_whole_self_attention(how: str) -> None:
    maps = hs.wrap(MAP[None, None], PIECES)
    cut = hs.wrap(MAP[None, None], PIECES, kind="cross") if how == "cross" else maps.take(key=slice(1, 3))
    with pytest.raises(InputError, match="expected whole self-attention maps, found"):
        surface(cut)


def test_words() -> None:
    """The same on maps between words: to a word is the sum over its pieces, from it the mean."""
    weights = np.array([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [0.2, 0.2, 0.6]])
    tokens = Tokens(["the", "un", "##do"], word_ids=np.array([0, 1, 1]))
    found = surface(hs.wrap(weights[None, None], tokens).words(), ["current", "previous"], over="words")
    assert found["current"].item() == pytest.approx((0.5 + (1.0 + 0.8) / 2) / 2)
    assert found["previous"].item() == pytest.approx((0.0 + 0.2) / 2)
    assert found["current"].attrs["over"] == "words"
