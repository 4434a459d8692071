"""What a head's own offsets score, on maps that follow places and on maps that follow words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.roles.offsets import Look, Profiles, look, offset_scores
from headscope.attention.record import AttentionRecord
from headscope.measures.choose import choose
from headscope.runs.options import RunOptions


def record(weights: np.ndarray, *, causal: bool = False, layer: int = 0) -> AttentionRecord:
    """A call whose weights are given, ``[input head query key]``."""
    inputs, heads, width, _ = weights.shape
    zeros = torch.zeros(inputs, heads, width, 1)
    return AttentionRecord(
        "m", "", layer, "self", zeros, zeros, None, 1.0, is_causal=causal, given=torch.tensor(weights)
    )


def rows(weights: np.ndarray, causal: bool) -> np.ndarray:
    seen = np.tril(np.ones(weights.shape[-2:])) if causal else np.ones(weights.shape[-2:])
    weights = weights * seen
    return weights / weights.sum(-1, keepdims=True)


@pytest.mark.parametrize("causal", [False, True])
def test_a_head_that_looks_at_places_is_what_its_offsets_give(causal: bool) -> None:
    """Rows keep their sums, what is hidden stays 0, and a head of one place is its own profile."""
    width, lengths = 9, [9, 6]
    offsets = np.arange(width) - np.arange(width)[:, None]
    place = rows(np.exp(-np.abs(offsets + 1.0)), causal)[None, None]
    inside = rows(np.exp(-np.abs(offsets[:6, :6] + 1.0)), causal)
    weights = np.concatenate([place, np.zeros_like(place)])
    weights[1, 0, :6, :6] = inside
    profiles = Profiles()
    call = record(weights, causal=causal)
    found = profiles.matrix(profiles.add(call, lengths)).numpy()
    np.testing.assert_allclose(found.sum(-1), weights.sum(-1), atol=1e-12)
    assert (found[1, 0, 6:] == 0).all()
    assert (found[1, 0, :, 6:] == 0).all()
    if causal:
        assert (np.triu(found[0, 0], 1) == 0).all()
    exact = np.zeros((1, 1, width, width))
    exact[0, 0, np.arange(1, width), np.arange(width - 1)] = 1.0
    exact[0, 0, 0, 0] = 1.0
    profiles = Profiles()
    null = profiles.matrix(profiles.add(record(exact, causal=causal), [width])).numpy()
    assert null[0, 0, 1:].diagonal().min() > 0.85  # all but what the first row does


def test_a_head_that_looks_at_words_scores_less_by_its_offsets() -> None:
    """Targets at random places: what stands where has no part in the null, and it is worked out by hand."""
    draw = np.random.default_rng(0)
    targets = draw.integers(0, 12, (20, 12))
    weights = np.eye(12)[targets][:, None]
    profiles = Profiles()
    call = record(weights)
    null = profiles.matrix(profiles.add(call, [12] * 20)).numpy()[:, 0]
    offset = np.arange(12) - np.arange(12)[:, None]
    given = np.array(
        [weights[:, 0][:, offset == o].sum() / (20 * (offset == o).sum()) for o in range(-11, 12)]
    )
    by_hand = given[offset + 11]
    by_hand /= by_hand.sum(-1, keepdims=True)
    np.testing.assert_allclose(null, np.broadcast_to(by_hand, null.shape), atol=1e-12)
    assert (null * weights[:, 0]).sum(-1).mean() < 0.2


def test_inputs_of_other_lengths_share_a_profile() -> None:
    profiles = Profiles()
    for width in (4, 7, 5):
        profiles.add(record(np.eye(width, k=-1)[None, None] + np.eye(width)[None, None]), [width])
    call = record(np.full((1, 1, 6, 6), 1 / 6))
    null = profiles.matrix(Profiles().add(call, [6])).numpy()[0, 0]
    np.testing.assert_allclose(null[1:, :-1].diagonal(), 0.5)
    np.testing.assert_allclose(null.diagonal()[1:], 0.5)


@pytest.mark.slow
def test_the_model_runs_once_a_batch(demo: Any) -> None:
    ran: list[int] = []
    corpus = hs.corpora.texts(["The cat sat.", "She left the house at two, and it was late."] * 3)
    one = Look(demo, ["same_word"], measures=choose(["previous"]))
    handle = demo.backbone.register_forward_pre_hook(lambda *_: ran.append(1))
    try:
        look(demo, corpus, [one], RunOptions(batch_size=2))
    finally:
        handle.remove()
    assert len(ran) == 3
    expected = offset_scores(demo, corpus, ["same_word"], batch_size=2)["same_word"]
    np.testing.assert_array_equal(one.scores()["same_word"], expected)
    measured = hs.measure(demo, corpus, measures=["previous"], batch_size=2)["previous"]
    np.testing.assert_allclose(one.sums().value()[0], measured, atol=1e-6)


@pytest.mark.slow
def test_the_previous_token_passes_for_no_lexical_head(demo: Any) -> None:
    """L0H2 gives 60 % of the attention of pieces to their word, as it would without knowing words."""
    corpus = hs.corpora.builtin()
    score = float(hs.measure(demo, corpus, measures=["word_pieces"])["word_pieces"].sel(layer=0, head=2))
    own = offset_scores(demo, corpus, ["word_pieces", "same_word"])
    assert score > 0.55
    assert (
        abs(own["word_pieces"][0, 2] - score) < 0.03
    )  # `test_the_demo_models_known_heads` says what it is named
