"""Dimensions that carry a pattern: planted queries and keys, and a plain implementation of the sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from headscope.analyses.neuron_patterns.run import carrying, patterns, sums_of, table
from headscope.core.maps import AttentionMaps, wrap
from headscope.core.neurons import Neurons
from headscope.core.tokens import Tokens

COUNT, SIZE = 12, 16


def pair() -> Tokens:
    sep = np.zeros(COUNT, bool)
    sep[[5, 11]] = True
    ids = np.array([-1, 0, 0, 0, 0, -1, 1, 1, 1, 1, 1, -1])
    return Tokens(["x"] * COUNT, sequence_ids=ids, classes={"sep": sep}, special_mask=ids < 0)


def captured(q: np.ndarray, k: np.ndarray, scaling: float = 1.0) -> tuple[AttentionMaps, Neurons]:
    """Maps and neurons of one layer with heads ``q [head query dim]``."""
    keys = np.repeat(k, len(q) // len(k), 0)
    weights = softmax(scaling * q @ keys.swapaxes(1, 2), -1)
    return wrap(weights[None], pair(), causal=False), Neurons([q], [k], [scaling], [None], [None], [None])


def rows(q: np.ndarray, k: np.ndarray, pattern: str):
    found = table(sums_of([captured(q, k)]))
    return found[found.pattern == pattern].iloc[0]


def test_a_planted_delimiter_is_found_in_its_one_dimension() -> None:
    draw = np.random.default_rng(0)
    q, k = 0.1 * draw.normal(size=(1, COUNT, SIZE)), 0.1 * draw.normal(size=(1, COUNT, SIZE))
    q[..., 7] = 3.0
    k[0, pair().classes["sep"], 7] = 4.0
    found = rows(q, k, "delimiter")
    assert (found.dimensions, found.which, found["of"], found.n) == (1, "7", SIZE, 10)
    assert found.weight > 0.99
    assert found.score == pytest.approx(12, abs=0.5)
    assert found.key_dimensions == pytest.approx(1)  # few strongly active dimensions in a delimiter's key
    assert found.key_dimensions_outside > 4


def test_a_planted_bag_of_words_is_positive_inside_and_negative_across() -> None:
    side = np.where(pair().sequence_ids == 1, -1.0, 1.0)  # pyright: ignore[reportOptionalOperand]
    draw = np.random.default_rng(1)
    scale = 1.0 + draw.random(SIZE)
    q = k = (side[:, None] * scale)[None]
    found = rows(q, k, "bag_of_words")
    assert (found.positive_inside, found.positive_outside) == pytest.approx((1.0, 0.0))
    each = scale**2 * 2  # inside s², outside −s²
    assert found.score == pytest.approx(each.sum())
    assert [int(one) for one in found.which.split()] == carrying(each)
    assert found.dimensions > SIZE / 2


def test_a_bag_of_words_is_broad() -> None:
    """A head that looks at one token of its sentence keeps within it, too; the one that looks at all of it leads."""
    side = np.where(pair().sequence_ids == 1, -1.0, 1.0)  # pyright: ignore[reportOptionalOperand]
    broad = np.repeat(3.0 * side[:, None], SIZE, 1)
    narrow = 9.0 * np.eye(COUNT, SIZE)  # a query holds the key of the token before it
    q, k = np.stack([broad, np.roll(narrow, 1, 0)]), np.stack([broad, narrow])
    found = table(sums_of([captured(q, k)]))
    bag = found[found.pattern == "bag_of_words"].set_index("head")
    assert (bag.weight > 0.6).all()
    assert bag.breadth[0] == pytest.approx(1.0)
    assert bag.breadth[1] < 0.45
    assert bag["rank"].tolist() == [1, 2]
    previous = found[found.pattern == "previous_token"].set_index("head")
    assert previous["rank"].tolist() == [2, 1]
    assert np.allclose(previous.breadth, 1.0)


def test_a_planted_next_token_breaks_at_the_delimiters() -> None:
    """Keys are random signs; a query holds its next token's, but that of a delimiter holds the first token's."""
    draw = np.random.default_rng(2)
    k = draw.choice([-1.0, 1.0], (1, COUNT, SIZE))
    q = np.roll(k, -1, 1)
    q[0, pair().classes["sep"]] = k[0, 0]
    found = rows(q, k, "next_token")
    assert found.positive_inside == pytest.approx(1.0)  # at the next word in all dimensions
    assert 0.35 < found.positive_outside < 0.65  # mixed elsewhere
    assert found.weight > 0.9
    assert found.weight_at_delimiter < 0.1
    assert found.score_at_delimiter < found.score / 2
    assert found.dimensions > SIZE / 2
    assert found.n == 10


def test_a_head_without_a_pattern_has_no_dimensions() -> None:
    q, k = np.ones((1, COUNT, SIZE)), np.ones((1, COUNT, SIZE))
    k[0, pair().classes["sep"]] = 0.5  # away from separators
    found = rows(q, k, "delimiter")
    assert found.score < 0
    assert np.isnan(found.dimensions)
    assert found.which == ""


def test_sums_equal_loops_over_pairs_with_grouped_keys_and_several_inputs() -> None:
    draw = np.random.default_rng(3)
    inputs = [
        captured(draw.normal(size=(4, COUNT, SIZE)), draw.normal(size=(2, COUNT, SIZE)), 0.25)
        for _ in range(2)
    ]
    found = table(sums_of(inputs))
    tokens = pair()
    for pattern, pairs in patterns(tokens, np.ones((len(tokens),) * 2, np.bool_)).items():
        each, positive, number = np.zeros((4, SIZE)), np.zeros((2, 4)), 0
        for maps, neurons in inputs:
            for i in range(COUNT):
                inside, outside = (np.flatnonzero(part[i]) for part in pairs)
                if not len(inside) or not len(outside) or tokens.classes["sep"][i]:
                    continue
                number += 1
                for head in range(4):
                    products = neurons.q[0][head, i] * neurons.k[0][head // 2]
                    each[head] += 0.25 * (products[inside].mean(0) - products[outside].mean(0))
                    positive[0, head] += (products[inside] > 0).mean()
                    positive[1, head] += (products[outside] > 0).mean()
            assert len(maps.layers[0]) == 4
        own = found[found.pattern == pattern].sort_values("head")
        np.testing.assert_allclose(own.score, each.sum(1) / number, atol=1e-10)
        np.testing.assert_allclose(own.positive_inside, positive[0] / number, atol=1e-10)
        np.testing.assert_allclose(own.positive_outside, positive[1] / number, atol=1e-10)
        assert (own.n == number).all()
        for head, which in enumerate(own.which):
            assert [int(one) for one in which.split()] == carrying(each[head] / number)


def test_patterns_of_a_causal_model() -> None:
    found = patterns(pair(), np.tri(len(pair()), dtype=np.bool_))
    assert "next_token" not in found
    assert not np.triu(found["delimiter"].inside | found["delimiter"].outside, 1).any()
    assert found["previous_token"].inside[3, 2]
    assert "bag_of_words" not in patterns(Tokens(["a", "b", "c"]), np.ones((3, 3), np.bool_))


def test_the_fewest_dimensions() -> None:
    assert carrying(np.array([1.0, 8.0, -1.0, 2.0])) == [1, 3]
    assert carrying(np.array([-1.0, 1.0])) == []
