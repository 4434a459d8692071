"""Frames that know the words that are said in them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import headscope as hs
from headscope.core import words as _words
from headscope.errors import InputError


def test_a_frame_is_of_the_word_that_is_said_at_its_middle() -> None:
    axis = hs.Frames(6, 0.1, words=[("so", 0.04, 0.16), ("it", 0.16, 0.4), ("tick", 0.51, 0.52)])
    # The middles are .05, .15, …; a word between two middles has the frame that holds it.
    assert axis.word_ids.tolist() == [0, 0, 1, 1, -1, 2]
    joined = _words.words(axis)
    assert [text.strip() for text in joined.texts or ()] == ["so", "it", "", "tick"]
    assert joined.times is not None
    np.testing.assert_allclose(joined.times, [[0, 0.2], [0.2, 0.4], [0.4, 0.5], [0.5, 0.6]])


def test_words_that_overlap_or_have_no_time_take_what_is_left() -> None:
    axis = hs.Frames(
        4, 0.1, words=[("a", 0.0, 0.3), ("b", 0.1, 0.4), ("c", math.nan, math.nan), ("d", 0.02, 0.03)]
    )
    assert axis.word_ids.tolist() == [0, 0, 0, 1]


def test_attention_to_a_spoken_word_is_the_sum_over_its_frames() -> None:
    axis = hs.Frames(3, 0.1, words=[("so", 0.0, 0.2)])
    weights = np.array([[0.5, 0.25, 0.25], [0.1, 0.3, 0.6], [0.2, 0.2, 0.6]])
    merged = hs.wrap(weights[None, None], axis).words()
    np.testing.assert_allclose(merged.weights[0, 0], [[0.575, 0.425], [0.4, 0.6]])


def test_a_word_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"words\[1\]: expected a begin from 0 and an end not before it, in seconds"
    ):
        hs.Frames(3, 0.1, words=[("a", 0.0, 0.1), ("b", 0.2, 0.1)])
