"""Dynamic time warping and what goes into it, beside brute force, scipy and transformers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from transformers.models.whisper.generation_whisper import _dynamic_time_warping, _median_filter

from headscope.analyses.align.statistics import entered, frames_of, smoothed, word_rows

Way = tuple[tuple[int, int], ...]


def ways(tokens: int, frames: int) -> Iterator[Way]:
    """All ways from the first token and frame to the last."""
    if tokens < 1 or frames < 1:
        return
    if (tokens, frames) == (1, 1):
        yield ((0, 0),)
        return
    for token, frame in ((tokens - 1, frames), (tokens, frames - 1), (tokens - 1, frames - 1)):
        for way in ways(token, frame):
            yield (*way, (tokens - 1, frames - 1))


def best_entries(scores: np.ndarray) -> set[tuple[int, ...]]:
    """Where each of the ways with the largest sum enters each token."""
    sums = {way: sum(scores[cell] for cell in way) for way in ways(*scores.shape)}
    most = max(sums.values())
    best = [way for way, total in sums.items() if total == most]
    return {
        tuple(min(frame for one, frame in way if one == token) for token in range(len(scores)))
        for way in best
    }


sizes = st.tuples(st.integers(1, 4), st.integers(1, 5))
numbers = st.integers(-3, 3).map(float)


@given(sizes.flatmap(lambda size: arrays(np.float64, size, elements=numbers)))
def test_the_way_is_one_of_the_best(scores: np.ndarray) -> None:
    assert tuple(entered(scores).tolist()) in best_entries(scores)


@given(
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 5)).flatmap(
        lambda size: arrays(np.float64, size, elements=numbers)
    )
)
def test_many_at_once_are_each_alone(scores: np.ndarray) -> None:
    np.testing.assert_array_equal(entered(scores), [entered(one) for one in scores])


def test_the_way_is_that_of_transformers() -> None:
    scores = np.random.default_rng(0).normal(size=(12, 90))
    tokens, frames = _dynamic_time_warping(-scores)
    jumps = np.concatenate([[True], np.diff(tokens) > 0])
    np.testing.assert_array_equal(entered(scores), frames[jumps])


@pytest.mark.parametrize(("frames", "width"), [(40, 7), (40, 3), (40, 1), (4, 7), (3, 7), (1, 7)])
def test_smoothed_is_standardised_and_filtered_as_by_transformers(frames: int, width: int) -> None:
    weights = np.random.default_rng(1).random((3, 5, frames))
    standard = (weights - weights.mean(-2, keepdims=True)) / weights.std(-2, keepdims=True)
    theirs = _median_filter(torch.as_tensor(standard)[None], width)[0].numpy()
    np.testing.assert_allclose(smoothed(weights, width), theirs, atol=1e-12)


def test_frames_that_tell_tokens_not_apart_are_0() -> None:
    weights = np.ones((1, 3, 9))
    weights[0, 1, :4] = 2.0
    scores = smoothed(weights, 1)
    assert (scores[..., 4:] == 0).all()
    np.testing.assert_allclose(scores[0, :, 0], [-(0.5**0.5), 2**0.5, -(0.5**0.5)])


def test_words_have_rows_and_frames() -> None:
    rows = word_rows(np.array([-1, 0, 0, 2, -1]), 3)
    assert rows.tolist() == [[1, 3], [-1, -1], [3, 4]]
    assert frames_of([(0.0, 0.06), (0.05, 0.07), (0.4, 0.401)], 0.02).tolist() == [[0, 3], [2, 4], [20, 21]]
